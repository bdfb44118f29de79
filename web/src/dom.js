// Elements without any HTML text: whatever a model is called, it appears as text.

const SVG = 'http://www.w3.org/2000/svg';

function apply(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'style') Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
}

// h('p.quiet', {id: 'x'}, 'text', child, [more]) — nothing, false and null are left out.
export function h(selector, ...rest) {
  const [tag, ...classes] = selector.split('.');
  const element = document.createElement(tag);
  if (classes.length > 0) element.className = classes.join(' ');
  const [first] = rest;
  const isAttributes = first !== null && typeof first === 'object' && !Array.isArray(first) && !(first instanceof Node);
  if (isAttributes) apply(element, rest.shift());
  append(element, rest);
  return element;
}

export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

export function icon(path) {
  const svg = document.createElementNS(SVG, 'svg');
  apply(svg, { viewBox: '0 0 24 24', width: 18, height: 18, 'aria-hidden': 'true' });
  const line = document.createElementNS(SVG, 'path');
  apply(line, { d: path, fill: 'none', stroke: 'currentColor', 'stroke-width': 1.8, 'stroke-linecap': 'round' });
  svg.append(line);
  return svg;
}

// Long names keep their ends, where exporters put what tells them apart.
export function shortened(text, most) {
  const line = String(text).replace(/\s+/g, ' ');
  const letters = Array.from(line);
  if (letters.length <= most) return line;
  const head = Math.ceil((most - 1) / 3);
  return letters.slice(0, head).join('') + '…' + letters.slice(letters.length - (most - 1 - head)).join('');
}

// A row of buttons of which one is pressed.
export function choice(label, options, current, choose) {
  const buttons = options.map(([value, text]) =>
    h('button', { type: 'button', 'aria-pressed': String(value === current), onclick: () => press(value) }, text),
  );
  function press(value) {
    options.forEach(([other], i) => buttons[i].setAttribute('aria-pressed', String(other === value)));
    choose(value);
  }
  return h('div.choice', { role: 'group', 'aria-label': label }, h('span.choice-label', label), buttons);
}
