// The canvas that a graph is drawn on: zooming, moving, marking and picking by pointer and keyboard, and a small overview
// of a graph that is larger than its frame.
import { shortened } from './dom.js';
import { labelOf } from './layers.js';
import { ink } from './theme.js';

export const HEIGHT = 34; // of a box
export const TITLE = 16; // of an open module's frame
const EDGE = 10; // around the overview

export const titleOf = (box) =>
  box.isGroup
    ? `${
        box.group.id
          .split('/')
          .filter(Boolean)
          .join('.')
          .replace(/run\d+$/, '') || box.name
      } (${box.layers.length})`
    : box.layers[0].op;
export const subtitleOf = (box) => (box.isGroup ? 'click to open' : labelOf(box.layers[0]));

export function extentOf(boxes) {
  const extent = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };
  for (const box of boxes) {
    extent.left = Math.min(extent.left, box.x - box.width / 2);
    extent.right = Math.max(extent.right, box.x + box.width / 2);
    extent.top = Math.min(extent.top, box.y - HEIGHT);
    extent.bottom = Math.max(extent.bottom, box.y + HEIGHT);
  }
  return extent;
}

export class View {
  // on: {pick(box), fold(group), hover(box, place), mark(box)}
  constructor(canvas, on) {
    this.canvas = canvas;
    this.scale = 1;
    this.left = 0;
    this.top = 0;
    this.boxes = [];
    this.edges = [];
    this.colour = () => '#ccc';
    this.frames = [];
    this.extent = extentOf([]);
    this.on = on;
    this.pointers = new Map();
    this.listen();
  }

  show(boxes, edges, frames) {
    this.boxes = boxes;
    this.edges = edges;
    this.frames = frames;
    this.extent = extentOf(boxes);
    this.marked = boxes.find((box) => box.id === this.marked?.id);
  }

  // All of it, but never so small that the names cannot be read.
  fit() {
    const { clientWidth, clientHeight } = this.canvas;
    const { left, right, top, bottom } = this.extent;
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

  // Where a box is on the screen.
  placeOf(box) {
    return [(box.x - this.left) * this.scale, (box.y - this.top) * this.scale];
  }

  // Moves so that a box is at a place on the screen.
  bring(box, [x, y]) {
    this.left = box.x - x / this.scale;
    this.top = box.y - y / this.scale;
    this.draw();
  }

  isVisible(box) {
    const [x, y] = this.placeOf(box);
    return x > 60 && y > 30 && x < this.canvas.clientWidth - 60 && y < this.canvas.clientHeight - 30;
  }

  mark(box) {
    this.marked = box;
    if (!this.isVisible(box)) this.bring(box, [this.canvas.clientWidth / 2, this.canvas.clientHeight / 2]);
    this.draw();
    this.on.mark(box);
  }

  // The next or previous box in the order of execution.
  markNeighbour(step) {
    const now = this.boxes.indexOf(this.marked);
    const next = now < 0 ? (step > 0 ? 0 : this.boxes.length - 1) : now + step;
    if (this.boxes[next]) this.mark(this.boxes[next]);
  }

  // The overview is drawn below a graph that is larger than its frame: {x, y, width, height, scale}.
  overview() {
    const { clientWidth, clientHeight } = this.canvas;
    const wide = this.extent.right - this.extent.left;
    const high = this.extent.bottom - this.extent.top;
    if (wide * this.scale <= clientWidth && high * this.scale <= clientHeight) return null;
    const scale = Math.min((clientWidth - 2 * EDGE) / wide, (this.isDown ? 0.4 * clientHeight : 64) / high, 0.25);
    const height = Math.max(10, high * scale);
    return { x: EDGE, y: clientHeight - EDGE - height, width: wide * scale, height, scale };
  }

  isInOverview([x, y]) {
    const map = this.overview();
    return Boolean(map) && x >= map.x && x <= map.x + map.width && y >= map.y - 4 && y <= map.y + map.height + 4;
  }

  goTo([x, y]) {
    const map = this.overview();
    if (!map) return;
    this.left = this.extent.left + (x - map.x) / map.scale - this.canvas.clientWidth / this.scale / 2;
    this.top = this.extent.top + (y - map.y) / map.scale - this.canvas.clientHeight / this.scale / 2;
    this.draw();
  }

  paintOverview(pen, colours) {
    const map = this.overview();
    if (!map) return;
    pen.globalAlpha = 0.92;
    pen.fillStyle = colours.surface;
    pen.fillRect(map.x - 4, map.y - 4, map.width + 8, map.height + 8);
    pen.globalAlpha = 1;
    pen.strokeStyle = colours.frame;
    pen.lineWidth = 1;
    pen.strokeRect(map.x - 4, map.y - 4, map.width + 8, map.height + 8);
    for (const box of this.boxes) {
      pen.fillStyle = this.colour(box).fill;
      pen.fillRect(
        map.x + (box.x - box.width / 2 - this.extent.left) * map.scale,
        map.y + (box.y - HEIGHT / 2 - this.extent.top) * map.scale,
        Math.max(1, box.width * map.scale),
        Math.max(2, HEIGHT * map.scale),
      );
    }
    const { clientWidth, clientHeight } = this.canvas;
    const x1 = Math.max(map.x - 3, map.x + (this.left - this.extent.left) * map.scale);
    const y1 = Math.max(map.y - 3, map.y + (this.top - this.extent.top) * map.scale);
    const x2 = Math.min(
      map.x + map.width + 3,
      map.x + (this.left + clientWidth / this.scale - this.extent.left) * map.scale,
    );
    const y2 = Math.min(
      map.y + map.height + 3,
      map.y + (this.top + clientHeight / this.scale - this.extent.top) * map.scale,
    );
    pen.strokeStyle = colours.text;
    pen.lineWidth = 2;
    pen.strokeRect(x1, y1, Math.max(2, x2 - x1), Math.max(2, y2 - y1));
  }

  // The open module whose title is at a place on the screen.
  frameAt(x, y) {
    const gx = this.left + x / this.scale;
    const gy = this.top + y / this.scale;
    return this.frames.find(
      (frame) => gx >= frame.left && gx <= frame.left + frame.titleWidth && gy >= frame.top && gy <= frame.top + TITLE,
    );
  }

  paintFrame(pen, frame, colours) {
    pen.beginPath();
    pen.roundRect(frame.left, frame.top, frame.right - frame.left, frame.bottom - frame.top, 8);
    pen.strokeStyle = colours.frame;
    pen.lineWidth = 1;
    pen.setLineDash([5, 4]);
    pen.stroke();
    pen.setLineDash([]);
    if (this.scale < 0.3) return;
    pen.fillStyle = colours.quiet;
    pen.textAlign = 'left';
    pen.font = '600 10.5px system-ui, sans-serif';
    pen.fillText(`− ${frame.title}`, frame.left + 6, frame.top + 12);
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
    for (const frame of this.frames) this.paintFrame(pen, frame, colours);
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
    pen.setTransform(density, 0, 0, density, 0, 0);
    this.paintOverview(pen, colours);
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
    if (this.scale < 0.12 && box !== this.marked) {
      pen.fillStyle = fill;
      pen.fillRect(left, top, box.width, HEIGHT);
      return;
    }
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
      this.isInMap = this.isInOverview(place(event));
      if (this.isInMap) this.goTo(place(event));
    });
    canvas.addEventListener('pointermove', (event) => {
      const now = place(event);
      const before = this.pointers.get(event.pointerId);
      if (!before) {
        const isOver = this.isInOverview(now);
        canvas.style.cursor = isOver || this.frameAt(...now) ? 'pointer' : 'grab';
        this.on.hover(isOver ? null : this.at(...now), now);
        return;
      }
      if (this.isInMap) {
        this.goTo(now);
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
      if (!was || this.isInMap || event.type !== 'pointerup' || this.moved >= 5) return;
      const box = this.at(...place(event));
      const frame = this.frameAt(...place(event));
      if (box) this.on.pick(box);
      else if (frame) this.on.fold(frame.id);
    };
    canvas.addEventListener('pointerup', release);
    canvas.addEventListener('pointercancel', release);
    canvas.addEventListener('pointerleave', () => this.on.hover(null));
    canvas.addEventListener('keydown', (event) => {
      const moves = { ArrowLeft: [-60, 0], ArrowRight: [60, 0], ArrowUp: [0, -60], ArrowDown: [0, 60] };
      if (moves[event.key]) this.pan(...moves[event.key]);
      else if (event.key === '+' || event.key === '=') this.zoom(1.25);
      else if (event.key === '-') this.zoom(0.8);
      else if (event.key === '0') this.fit();
      else if (event.key === '.' || event.key === ',') this.markNeighbour(event.key === '.' ? 1 : -1);
      else if (event.key === 'Enter' && this.marked) this.on.pick(this.marked);
      else if (event.key === 'Backspace' && this.marked) this.on.fold(this.marked.group.parent);
      else return;
      event.preventDefault();
    });
    new ResizeObserver(() => this.draw()).observe(canvas);
  }
}
