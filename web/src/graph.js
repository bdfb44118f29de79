// The network as a graph that zooms and folds: layout by dagre, drawn on a canvas so that a thousand boxes stay fluid.
import { Graph, layout } from '@dagrejs/dagre';
import { tip, whenVisible } from './chart.js';
import { choice, h, shortened } from './dom.js';
import { moduleGroups, MOST_BOXES, openAtFirst, visible } from './fold.js';
import { bytes, si, time } from './format.js';
import { labelOf } from './layers.js';
import { dot, section } from './parts.js';
import { BOUND_NAMES, boundColour, boundName, heat, ink, onThemeChange } from './theme.js';

const MEASURES = {
  time: ['Time', (box) => box.time, time],
  bytes: ['Bytes', (box) => box.bytes, bytes],
  flops: ['FLOPs', (box) => box.flops, (v) => si(v)],
  bound: ['What limits it'],
};
const HEIGHT = 34;

const titleOf = (box) =>
  box.isGroup
    ? `${
        box.group.id
          .split('/')
          .filter(Boolean)
          .join('.')
          .replace(/run\d+$/, '') || box.name
      } (${box.layers.length})`
    : box.layers[0].op;
const subtitleOf = (box) => (box.isGroup ? 'click to open' : labelOf(box.layers[0]));

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

class View {
  constructor(canvas, onPick, onHover) {
    this.canvas = canvas;
    this.scale = 1;
    this.left = 0;
    this.top = 0;
    this.boxes = [];
    this.edges = [];
    this.colour = () => '#ccc';
    this.onPick = onPick;
    this.onHover = onHover;
    this.pointers = new Map();
    this.listen();
  }

  show(boxes, edges) {
    this.boxes = boxes;
    this.edges = edges;
  }

  bounds() {
    const xs = this.boxes.flatMap((box) => [box.x - box.width / 2, box.x + box.width / 2]);
    const ys = this.boxes.flatMap((box) => [box.y - HEIGHT, box.y + HEIGHT]);
    return { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
  }

  // All of it, but never so small that the names cannot be read.
  fit() {
    const { clientWidth, clientHeight } = this.canvas;
    const { left, right, top, bottom } = this.bounds();
    const whole = Math.min(clientWidth / (right - left + 40), clientHeight / (bottom - top + 40));
    this.scale = Math.min(1.1, Math.max(whole, 0.85));
    const wide = clientWidth / this.scale;
    const high = clientHeight / this.scale;
    // What does not fit is shown from its beginning, and in the middle of the other direction.
    this.left = right - left + 40 < wide || this.isDown ? (left + right) / 2 - wide / 2 : left - 20;
    this.top = bottom - top + 40 < high || !this.isDown ? (top + bottom) / 2 - high / 2 : top - 20;
    this.draw();
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = Math.min(3, Math.max(0.02, this.scale * factor));
    this.left += x / this.scale - x / scale;
    this.top += y / this.scale - y / scale;
    this.scale = scale;
    this.draw();
  }

  pan(x, y) {
    this.left += x / this.scale;
    this.top += y / this.scale;
    this.draw();
  }

  at(x, y) {
    const gx = this.left + x / this.scale;
    const gy = this.top + y / this.scale;
    return this.boxes.find((box) => Math.abs(box.x - gx) < box.width / 2 && Math.abs(box.y - gy) < HEIGHT / 2);
  }

  draw() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = null;
      this.paint();
    });
  }

  paint() {
    const { canvas } = this;
    const density = window.devicePixelRatio || 1;
    canvas.width = canvas.clientWidth * density;
    canvas.height = canvas.clientHeight * density;
    const pen = canvas.getContext('2d');
    pen.scale(density * this.scale, density * this.scale);
    pen.translate(-this.left, -this.top);
    const right = this.left + canvas.clientWidth / this.scale;
    const bottom = this.top + canvas.clientHeight / this.scale;
    const colours = ink();
    pen.lineWidth = 1.2;
    pen.strokeStyle = colours.frame;
    pen.fillStyle = colours.frame;
    for (const edge of this.edges) this.paintEdge(pen, edge, right, bottom);
    for (const box of this.boxes) {
      if (
        box.x + box.width < this.left ||
        box.x - box.width > right ||
        box.y + HEIGHT < this.top ||
        box.y - HEIGHT > bottom
      )
        continue;
      this.paintBox(pen, box, colours);
    }
  }

  paintEdge(pen, { points, isAcross }, right, bottom) {
    const ys = points.map((point) => point.y);
    const xs = points.map((point) => point.x);
    if (
      Math.max(...ys) < this.top ||
      Math.min(...ys) > bottom ||
      Math.max(...xs) < this.left ||
      Math.min(...xs) > right
    )
      return;
    pen.beginPath();
    pen.moveTo(points[0].x, points[0].y);
    for (let i = 1; i < points.length - 1; ++i) {
      const middle = { x: (points[i].x + points[i + 1].x) / 2, y: (points[i].y + points[i + 1].y) / 2 };
      pen.quadraticCurveTo(points[i].x, points[i].y, middle.x, middle.y);
    }
    const end = points[points.length - 1];
    pen.lineTo(end.x - (isAcross ? 4 : 0), end.y - (isAcross ? 0 : 4));
    pen.stroke();
    if (this.scale < 0.35) return;
    pen.beginPath();
    pen.moveTo(end.x, end.y);
    pen.lineTo(end.x - (isAcross ? 7 : 4), end.y - (isAcross ? 4 : 7));
    pen.lineTo(end.x + (isAcross ? -7 : 4), end.y + (isAcross ? 4 : -7));
    pen.fill();
  }

  paintBox(pen, box, colours) {
    const { fill, text } = this.colour(box);
    const left = box.x - box.width / 2;
    const top = box.y - HEIGHT / 2;
    pen.beginPath();
    pen.roundRect(left, top, box.width, HEIGHT, box.isGroup ? 4 : 9);
    pen.fillStyle = fill;
    pen.fill();
    pen.strokeStyle = box === this.marked ? colours.text : colours.frame;
    pen.lineWidth = box === this.marked ? 2.5 : box.isGroup ? 1.8 : 1;
    pen.stroke();
    if (this.scale < 0.3) return;
    pen.fillStyle = text;
    pen.textAlign = 'center';
    pen.font = '600 11.5px system-ui, sans-serif';
    const fits = Math.floor((box.width - 12) / 7.1);
    pen.fillText(shortened(titleOf(box), fits), box.x, box.y - 2.5);
    pen.font = '10.5px system-ui, sans-serif';
    pen.fillText(shortened(subtitleOf(box), Math.floor(fits * 1.15)), box.x, box.y + 11);
  }

  listen() {
    const { canvas } = this;
    const place = (event) => {
      const frame = canvas.getBoundingClientRect();
      return [event.clientX - frame.left, event.clientY - frame.top];
    };
    canvas.addEventListener(
      'wheel',
      (event) => {
        if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY * 0.0018), ...place(event));
      },
      { passive: false },
    );
    canvas.addEventListener('pointerdown', (event) => {
      canvas.focus({ preventScroll: true });
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, place(event));
      this.moved = 0;
    });
    canvas.addEventListener('pointermove', (event) => {
      const now = place(event);
      const before = this.pointers.get(event.pointerId);
      if (!before) {
        this.onHover(this.at(...now), now);
        return;
      }
      const others = [...this.pointers].filter(([id]) => id !== event.pointerId);
      if (others.length === 1) {
        const [, other] = others[0];
        const length = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
        this.zoom(length(now) / length(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      } else {
        this.pan(before[0] - now[0], before[1] - now[1]);
      }
      this.moved += Math.abs(before[0] - now[0]) + Math.abs(before[1] - now[1]);
      this.pointers.set(event.pointerId, now);
    });
    const release = (event) => {
      const was = this.pointers.delete(event.pointerId);
      if (was && event.type === 'pointerup' && this.moved < 5) this.onPick(this.at(...place(event)));
    };
    canvas.addEventListener('pointerup', release);
    canvas.addEventListener('pointercancel', release);
    canvas.addEventListener('pointerleave', () => this.onHover(null));
    canvas.addEventListener('keydown', (event) => {
      const moves = { ArrowLeft: [-60, 0], ArrowRight: [60, 0], ArrowUp: [0, -60], ArrowDown: [0, 60] };
      if (moves[event.key]) this.pan(...moves[event.key]);
      else if (event.key === '+' || event.key === '=') this.zoom(1.25);
      else if (event.key === '-') this.zoom(0.8);
      else if (event.key === '0') this.fit();
      else return;
      event.preventDefault();
    });
    new ResizeObserver(() => this.draw()).observe(canvas);
  }
}

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
const heightFor = ({ top, bottom }) => Math.max(260, Math.min(560, bottom - top + 120));

export function graphSection(result, select) {
  const edges = result.edges ?? [];
  const layers = result.layers.filter((layer) => typeof layer.node === 'number');
  if (edges.length === 0 || layers.length < 2) return null;
  const hasTime = layers.some((layer) => layer.time_ms > 0);
  const groups = moduleGroups(layers);
  let open = openAtFirst(groups);
  let measure = hasTime ? 'time' : 'flops';
  const canvas = h('canvas', {
    tabindex: 0,
    role: 'img',
    'aria-label':
      'The network as a graph. Arrow keys move, plus and minus zoom, 0 shows all of it; the table of layers has the same figures.',
  });
  const hint = h('div.tip', { hidden: true });
  const status = h('p.note', { role: 'status' });
  const key = h('div.legend');

  const view = new View(
    canvas,
    (box) => {
      if (!box) return;
      if (box.isGroup) {
        toggle(box.id, true);
        return;
      }
      view.marked = box;
      view.draw();
      select(box.layers[0]);
    },
    (box, place) => {
      hint.hidden = !box;
      canvas.style.cursor = box ? 'pointer' : 'grab';
      if (!box) return;
      hint.replaceChildren(...boxTip(box).childNodes);
      hint.style.left = `${Math.min(place[0] + 14, Math.max(0, canvas.clientWidth - 330))}px`;
      hint.style.top = `${Math.min(place[1] + 14, canvas.clientHeight - 130)}px`;
    },
  );

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
    view.show(shown.boxes, edgesDrawn);
    frame.style.height = view.isDown ? '' : `${heightFor(view.bounds())}px`;
    status.textContent = `${shown.boxes.length} boxes for ${layers.length} layers. Click a box with a number to open it; hold Ctrl and use the wheel, or pinch, to zoom.`;
    colourBoxes();
    if (!keep) view.fit();
  }
  function toggle(id, isOpen) {
    const next = new Set(open);
    if (isOpen) next.add(id);
    else next.delete(id);
    if (visible(groups, next, []).boxes.length > MOST_BOXES) {
      status.textContent = `Opening this would draw more than ${MOST_BOXES} boxes; close others first.`;
      return;
    }
    open = next;
    relayout(true);
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
