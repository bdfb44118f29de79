// What every page about layers shares: labels, the place of a layer in its module, and sums.
import { inOneDirection, isNumber } from './format.js';

export const labelOf = (layer) => inOneDirection(layer.label ?? layer.name ?? '');
export const isBetweenSteps = (layer) => layer.node === null && layer.op === '-';

// The scopes of a layer, outermost first: "features.4.block.0" → features, 4, block, 0.
export function pathOf(layer) {
  const label = labelOf(layer);
  const parts = label.split(/[./]/).filter(Boolean);
  return parts.length > 1 ? parts : [label];
}

export const bytesMoved = (row) => (isNumber(row.bytes_read) ? row.bytes_read + (row.bytes_written ?? 0) : null);

// Exporters name a tensor after the layer that writes it.
export function tensorLabel(name, layers) {
  if (name === null || name === undefined) return '(workspace)';
  return layers.get(String(name).replace(/_output_0$/, '')) ?? inOneDirection(name);
}
export const labelsByName = (layers) => new Map(layers.map((layer) => [layer.name, labelOf(layer)]));

// A tree of modules with sums: {name, value, children} or {name, value, layer}.
export function moduleTree(layers, value) {
  const root = { name: 'all', children: new Map(), value: 0 };
  for (const layer of layers) {
    const amount = value(layer);
    if (!isNumber(amount) || amount <= 0) continue;
    const path = isBetweenSteps(layer) ? [layer.name] : pathOf(layer);
    let at = root;
    path.forEach((part, i) => {
      at.value += amount;
      if (!at.children.has(part)) at.children.set(part, { name: part, children: new Map(), value: 0, layers: [] });
      at = at.children.get(part);
      if (i === path.length - 1) at.layers.push(layer);
    });
    at.value += amount;
  }
  return collapsed(root);
}

// Modules with a single child are one with it.
function collapsed(node) {
  let children = [...node.children.values()].map(collapsed);
  const own = node.layers ?? [];
  if (children.length === 0) return { name: node.name, value: node.value, layers: own };
  if (children.length === 1 && own.length === 0 && node.name !== 'all') {
    return { ...children[0], name: `${node.name}.${children[0].name}` };
  }
  if (own.length > 0) {
    const rest = node.value - children.reduce((sum, child) => sum + child.value, 0);
    children = [...children, { name: node.name, value: rest, layers: own }];
  }
  return { name: node.name, value: node.value, children };
}

export function opTree(layers, value) {
  const ops = new Map();
  for (const layer of layers) {
    const amount = value(layer);
    if (!isNumber(amount) || amount <= 0) continue;
    if (!ops.has(layer.op)) ops.set(layer.op, { name: layer.op, value: 0, children: [] });
    const op = ops.get(layer.op);
    op.value += amount;
    op.children.push({ name: labelOf(layer), value: amount, layers: [layer] });
  }
  return { name: 'all', children: [...ops.values()] };
}
