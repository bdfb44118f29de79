// The network as a graph that zooms and folds: layout by dagre, drawn on a canvas so that a thousand boxes stay fluid.
import { Graph, layout } from '@dagrejs/dagre';
import { tip, whenVisible } from './chart.js';
import { choice, h } from './dom.js';
import { moduleGroups, MOST_BOXES, openAtFirst, visible } from './fold.js';
import { bytes, si, time, whole } from './format.js';
import { extentOf, HEIGHT, subtitleOf, TITLE, titleOf, View } from './graph_view.js';
import { labelOf } from './layers.js';
import { dot, section } from './parts.js';
import { BOUND_NAMES, boundColour, boundName, heat, ink, isPrinting, onThemeChange } from './theme.js';

const MEASURES = {
  time: ['Time', (box) => box.time, time],
  bytes: ['Bytes', (box) => box.bytes, bytes],
  flops: ['FLOPs', (box) => box.flops, (v) => si(v)],
  bound: ['What limits it'],
};
function arrange({ boxes, links }, direction) {
  const graph = new Graph();
  graph.setGraph({
    rankdir: direction,
    nodesep: 16,
    ranksep: 30,
    edgesep: 8,
    ranker: boxes.length > 300 ? 'longest-path' : 'tight-tree',
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const box of boxes) {
    const letters = Math.max(titleOf(box).length * 1.08, subtitleOf(box).length);
    box.width = Math.min(230, Math.max(84, Math.min(32, letters) * 6.4 + 20));
    graph.setNode(box.id, { width: box.width, height: HEIGHT });
  }
  for (const [a, b] of links) graph.setEdge(a.id, b.id);
  layout(graph);
  for (const box of boxes) ({ x: box.x, y: box.y } = graph.node(box.id));
  return links.map(([a, b]) => ({ a, b, isAcross: direction === 'LR', points: graph.edge(a.id, b.id).points }));
}

// Frames around the boxes of open modules, unless other boxes are among them. Outer frames are wider.
function framesOf(boxes, groups) {
  const members = new Map();
  for (const box of boxes) {
    let depth = 0;
    for (let id = box.group.parent; id; id = groups.get(id).parent) {
      if (!members.has(id)) members.set(id, { boxes: [], depth: 0 });
      members.get(id).boxes.push(box);
      members.get(id).depth = Math.max(members.get(id).depth, ++depth);
    }
  }
  return [...members].flatMap(([id, { boxes: inside, depth }]) => {
    if (inside.length < 2) return [];
    const within = extentOf(inside);
    const frame = {
      id,
      title: groups.get(id).name,
      left: within.left - 6 - 4 * depth,
      right: within.right + 6 + 4 * depth,
      top: within.top + HEIGHT / 2 - 4 - TITLE * depth,
      bottom: within.bottom - HEIGHT / 2 + 6 + 3 * depth,
    };
    frame.titleWidth = Math.min(frame.right - frame.left, 24 + 7 * frame.title.length);
    const own = new Set(inside);
    const isMixed = boxes.some(
      (box) =>
        !own.has(box) &&
        box.x + box.width / 2 > frame.left &&
        box.x - box.width / 2 < frame.right &&
        box.y + HEIGHT / 2 > frame.top &&
        box.y - HEIGHT / 2 < frame.bottom,
    );
    return isMixed ? [] : [frame];
  });
}

// The same as a sentence, for the line below the graph.
const boxText = (box) =>
  [
    `${titleOf(box)}${box.isGroup ? '' : ` ${labelOf(box.layers[0])}`}:`,
    box.time > 0 ? `${time(box.time)},` : '',
    `${bytes(box.bytes)} moved, ${si(box.flops, 'FLOPs')}`,
    box.bound ? `, limited by ${boundName(box.bound)}` : '',
  ]
    .join(' ')
    .replace(/ ,/g, ',');

function boxTip(box) {
  return tip(box.isGroup ? titleOf(box) : labelOf(box.layers[0]), [
    box.isGroup ? ['layers', String(box.layers.length)] : ['op', box.layers[0].op],
    box.time > 0 && ['time', time(box.time)],
    ['bytes moved', bytes(box.bytes)],
    ['FLOPs', si(box.flops)],
    box.bound && ['limited by', boundName(box.bound)],
  ]);
}

// Dark letters on light boxes and the other way round.
function onFill(fill) {
  const parts = fill.startsWith('#')
    ? [1, 3, 5].map((i) => parseInt(fill.slice(i, i + 2), 16))
    : fill.match(/\d+/g).map(Number);
  return 0.299 * parts[0] + 0.587 * parts[1] + 0.114 * parts[2] > 140 ? '#1a1a1e' : '#ffffff';
}

// A network that is one long chain needs no high frame.
const heightFor = ({ top, bottom }) => Math.max(280, Math.min(560, bottom - top + 170));

export function graphSection(result, select) {
  const edges = result.edges ?? [];
  const layers = result.layers.filter((layer) => typeof layer.node === 'number');
  if (edges.length === 0 || layers.length < 2) return null;
  const hasTime = layers.some((layer) => layer.time_ms > 0);
  const groups = moduleGroups(layers, edges);
  let open = openAtFirst(groups);
  let measure = hasTime ? 'time' : 'flops';
  const canvas = h('canvas', {
    tabindex: 0,
    role: 'img',
    'aria-label':
      'The network as a graph. Arrow keys move, plus and minus zoom, 0 shows all of it. Full stop and comma go to the next and the previous box, Enter opens it, Backspace folds its module. The table of layers has the same figures.',
  });
  const hint = h('div.tip', { hidden: true });
  const status = h('p.note', { role: 'status' });
  const key = h('div.legend');

  const view = new View(canvas, {
    pick: (box) => {
      if (box.isGroup) {
        toggle(box.id, true, box);
        return;
      }
      view.mark(box);
      select(box.layers[0]);
    },
    fold: (id) => {
      if (id)
        toggle(
          id,
          false,
          view.boxes.find((box) => isWithin(box, id)),
        );
    },
    hover: (box, place) => {
      hint.hidden = !box;
      if (!box) return;
      canvas.style.cursor = 'pointer';
      hint.replaceChildren(...boxTip(box).childNodes);
      hint.style.left = `${Math.min(place[0] + 14, Math.max(0, canvas.clientWidth - 330))}px`;
      hint.style.top = `${Math.min(place[1] + 14, canvas.clientHeight - 130)}px`;
    },
    mark: (box) => {
      status.textContent = boxText(box);
    },
  });
  function isWithin(box, id) {
    for (let at = box.id; at; at = groups.get(at).parent) if (at === id) return true;
    return false;
  }

  function colourBoxes() {
    const [, value] = MEASURES[measure];
    const most = value ? Math.max(...view.boxes.map(value), 1e-30) : 1;
    view.colour = (box) => {
      const fill = value ? heat(Math.sqrt(value(box) / most)) : box.bound ? boundColour(box.bound) : ink().other;
      return { fill, text: onFill(fill) };
    };
    const scale = `linear-gradient(90deg, ${[0, 0.25, 0.5, 0.75, 1].map(heat).join(',')})`;
    key.replaceChildren(
      ...(value
        ? [
            h(
              'span',
              '0',
              h('span.scale', { style: { background: scale } }),
              `${MEASURES[measure][2](most)}, the most of one box`,
            ),
          ]
        : Object.keys(BOUND_NAMES).map((bound) => h('span', dot(boundColour(bound)), boundName(bound)))),
    );
    view.draw();
  }
  function relayout(keep) {
    const shown = visible(groups, open, edges);
    view.isDown = canvas.clientWidth < 700;
    const edgesDrawn = arrange(shown, view.isDown ? 'TB' : 'LR');
    view.show(shown.boxes, edgesDrawn, framesOf(shown.boxes, groups));
    frame.style.height = view.isDown ? '' : `${heightFor(view.extent)}px`;
    status.textContent = `${shown.boxes.length} boxes for ${whole(layers.length)} layers. Click a box with a number to open it, the title of an open module to fold it; hold Ctrl and use the wheel, or pinch, to zoom.`;
    colourBoxes();
    if (!keep) view.fit();
  }
  // `from` is the box that was there: what takes its place appears where it was.
  function toggle(id, isOpen, from) {
    const next = new Set(open);
    if (isOpen) next.add(id);
    else next.delete(id);
    if (visible(groups, next, []).boxes.length > MOST_BOXES) {
      status.textContent = `Opening this would draw more than ${MOST_BOXES} boxes; close others first.`;
      return;
    }
    const place = from && view.placeOf(from);
    open = next;
    relayout(true);
    const after = view.boxes.find((box) => isWithin(box, id));
    if (after && place) view.bring(after, place);
    if (after && document.activeElement === canvas) view.mark(after);
  }
  function foldAll() {
    open = new Set(['']);
    relayout();
  }
  function unfold() {
    const all = new Set(groups.keys());
    if (visible(groups, all, []).boxes.length > MOST_BOXES) {
      open = openAtFirst(groups);
      relayout();
      status.textContent = `More than ${MOST_BOXES} boxes: open the modules that matter.`;
      return;
    }
    open = all;
    relayout();
  }

  const button = (text, label, action) =>
    h('button', { type: 'button', 'aria-label': label, title: label, onclick: action }, text);
  const frame = h(
    'div.graph',
    canvas,
    hint,
    h(
      'div.zoom',
      button('+', 'Zoom in', () => view.zoom(1.3)),
      button('−', 'Zoom out', () => view.zoom(0.77)),
      button('⤢', 'Show all', () => view.fit()),
    ),
  );
  const options = Object.entries(MEASURES)
    .filter(([name]) => hasTime || (name !== 'time' && name !== 'bound'))
    .map(([name, [title]]) => [name, title]);
  whenVisible(frame, () => {
    relayout();
    onThemeChange(colourBoxes);
    window.addEventListener('beforeprint', () => view.paint());
    if (isPrinting()) view.paint();
  });
  return section(
    'network',
    'The network',
    'Data flows from left to right, on a narrow screen from top to bottom. Modules are folded until they are opened.',
    h(
      'div.choices',
      choice('Colour by', options, measure, (value) => {
        measure = value;
        colourBoxes();
      }),
      h(
        'div.choice',
        { role: 'group', 'aria-label': 'Modules' },
        h('span.choice-label', 'Modules'),
        h('button', { type: 'button', onclick: unfold }, 'open all'),
        h('button', { type: 'button', onclick: foldAll }, 'fold all'),
      ),
    ),
    frame,
    key,
    status,
  );
}
