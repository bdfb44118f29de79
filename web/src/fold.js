// A network folded by module: which groups are open decides what is drawn.
import { bytesMoved, isBetweenSteps, pathOf } from './layers.js';

const MOST_AT_FIRST = 60; // boxes when the page opens
const RUN = 40; // nodes without modules are folded in runs of this length
export const MOST_BOXES = 1500;

const FEW = 4; // constants that are drawn one by one
const CONSTANTS = '(constants)';

// {id, name, parent, children: [ids], layers: [layers]}; leaves have one node.
export function moduleGroups(layers, edges = []) {
  const groups = new Map([['', { id: '', name: '', parent: null, children: [], nodes: [] }]]);
  const leaves = new Map();
  for (const layer of layers) {
    if (layer.node === null || layer.node === undefined || isBetweenSteps(layer)) continue;
    if (leaves.has(layer.node)) {
      leaves.get(layer.node).layers.push(layer);
      continue;
    }
    const path = pathOf(layer);
    let parent = '';
    path.slice(0, -1).forEach((part) => {
      const id = `${parent}/${part}`;
      if (!groups.has(id)) {
        groups.set(id, { id, name: part, parent, children: [], nodes: [] });
        groups.get(parent).children.push(id);
      }
      parent = id;
    });
    const id = `#${layer.node}`;
    leaves.set(layer.node, {
      id,
      name: path[path.length - 1],
      parent,
      node: layer.node,
      layers: [layer],
      children: [],
    });
    groups.set(id, leaves.get(layer.node));
    groups.get(parent).children.push(id);
  }
  const read = new Set(edges.map(([, to]) => to));
  for (const group of [...groups.values()]) {
    foldConstants(group, groups, read);
    foldRuns(group, groups);
  }
  return groups;
}

// Replaces children of a group by one group of them.
function fold(children, group, id, name, groups) {
  groups.set(id, { id, name, parent: group.id, children, nodes: [] });
  for (const child of children) groups.get(child).parent = id;
}

// Nodes that read no other node and do no work: copies of weights, which exporters write in dozens.
function foldConstants(group, groups, read) {
  const isConstant = (id) => {
    const { node, layers = [] } = groups.get(id);
    const isIdle = layers.every((layer) => !layer.flops && !layer.time_ms && !bytesMoved(layer));
    return node !== undefined && !read.has(node) && isIdle;
  };
  const constants = group.children.filter(isConstant);
  if (constants.length <= FEW || constants.length === group.children.length) return;
  const id = `${group.id}/${CONSTANTS}`;
  fold(constants, group, id, CONSTANTS, groups);
  const folded = new Set(constants);
  group.children = [id, ...group.children.filter((child) => !folded.has(child))];
}

// A group with very many children gets runs of them as groups of their own.
function foldRuns(group, groups) {
  if (group.children.length <= 4 * RUN) return;
  const runs = [];
  for (let at = 0; at < group.children.length; at += RUN) {
    const children = group.children.slice(at, at + RUN);
    const id = `${group.id}/run${at}`;
    fold(children, group, id, `${at + 1} to ${at + children.length}`, groups);
    runs.push(id);
  }
  group.children = runs;
}

// Opens whole levels while that leaves few enough boxes.
export function openAtFirst(groups) {
  const open = new Set(['']);
  let level = [...groups.get('').children];
  let boxes = level.length;
  for (;;) {
    const inner = level.filter((id) => groups.get(id).children.length > 0 && groups.get(id).name !== CONSTANTS);
    const more = inner.reduce((sum, id) => sum + groups.get(id).children.length - 1, 0);
    if (inner.length === 0 || boxes + more > MOST_AT_FIRST) return open;
    inner.forEach((id) => open.add(id));
    boxes += more;
    level = inner.flatMap((id) => groups.get(id).children);
  }
}

// What is drawn: leaves and closed groups, with sums, and the edges between them.
export function visible(groups, open, edges) {
  const boxOf = new Map();
  const boxes = [];
  const visit = (id) => {
    const group = groups.get(id);
    if (group.children.length > 0 && open.has(id)) {
      group.children.forEach(visit);
      return;
    }
    const box = {
      id,
      name: group.name,
      group,
      isGroup: group.children.length > 0,
      time: 0,
      bytes: 0,
      flops: 0,
      layers: [],
      bounds: {},
    };
    const collect = (inner) => {
      const one = groups.get(inner);
      one.children.forEach(collect);
      if (one.node === undefined) return;
      boxOf.set(one.node, box);
      for (const layer of one.layers) {
        box.layers.push(layer);
        box.time += layer.time_ms ?? 0;
        box.bytes += bytesMoved(layer) ?? 0;
        box.flops += layer.flops ?? 0;
        if (layer.bound) box.bounds[layer.bound] = (box.bounds[layer.bound] ?? 0) + (layer.time_ms ?? 0);
      }
    };
    collect(id);
    box.bound = Object.entries(box.bounds).sort((a, b) => b[1] - a[1])[0]?.[0];
    if (box.layers.length > 0) boxes.push(box);
  };
  visit('');
  const seen = new Set();
  const links = [];
  for (const [from, to] of edges) {
    const a = boxOf.get(from);
    const b = boxOf.get(to);
    if (!a || !b || a === b || seen.has(`${a.id}>${b.id}`)) continue;
    seen.add(`${a.id}>${b.id}`);
    links.push([a, b]);
  }
  return { boxes, links };
}
