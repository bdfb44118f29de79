// Sections, cards and lists that several pages use.
import { append, h } from './dom.js';
import { figure, heading, isNumber, listText, plural, whole } from './format.js';
import { dataTable } from './table.js';

export function section(id, title, lead, ...content) {
  return h(
    'section',
    { id, 'aria-labelledby': `${id}-title` },
    h('h2', { id: `${id}-title` }, title),
    lead && h('p.lead', lead),
    content,
  );
}

// `key` and `value` are those of the JSON, so that a figure can be traced back to it.
export function card(name, figure, more, key, value) {
  return h(
    'li.card',
    h('p.name', name),
    h('p.figure', { 'data-key': key, 'data-value': value, title: isNumber(value) ? String(value) : undefined }, figure),
    more && h('p.more', more),
  );
}
export const cards = (list) => h('ul.cards', list.filter(Boolean));

export function chip(text) {
  const tone = /^(VALID|FASTER|PASSED|SAME|FITS|SUSTAINABLE|KEEPS UP|MET|RECOMMENDED)$/.test(text)
    ? 'good'
    : /^(SLOWER|FAILED|OVERLOADED|NOT MET|TOO|DOES NOT FIT)/.test(text)
      ? 'bad'
      : 'warn';
  return h(`span.chip.${tone}`, text);
}

export function warnings(list) {
  if (!list || list.length === 0) return null;
  return h(
    'ul.warnings',
    list.map((one) =>
      h(
        'li',
        typeof one === 'string'
          ? one
          : append(h('span'), [h('strong', one.name), ': ', one.message, one.advice ? `; ${one.advice}` : '']),
      ),
    ),
  );
}
export function warningsSection(list, id = 'warnings') {
  return list && list.length > 0
    ? section(id, 'Warnings', plural(list.length, 'thing') + ' to know before these figures are used.', warnings(list))
    : null;
}

export const longName = (text) =>
  h('span.long', { title: String(text).length > 60 ? String(text).slice(0, 1000) : undefined }, text);
export const dot = (colour) => h('span.dot', { style: { background: colour }, 'aria-hidden': 'true' });
export const shareBar = (share) =>
  h(
    'span',
    h('span.share', { style: { width: `${Math.max(0, Math.min(1, share ?? 0)) * 48}px` }, 'aria-hidden': 'true' }),
  );

export function numberColumn(title, value, text = whole, more = {}) {
  return { title, isNumber: true, value, cell: (row) => text(value(row)), ...more };
}
export function textColumn(title, value, more = {}) {
  return { title, value, cell: (row) => (more.isName ? longName(value(row) ?? '–') : (value(row) ?? '–')), ...more };
}

// Any list of objects, in the units that its keys name.
export function genericTable(rows, caption) {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const columns = keys.map((key) => {
    const isFigure = rows.every((row) => row[key] === null || row[key] === undefined || typeof row[key] === 'number');
    const value = (row) => {
      if (Array.isArray(row[key])) return listText(key, row[key], 8);
      return typeof row[key] === 'object' && row[key] !== null ? JSON.stringify(row[key]) : row[key];
    };
    return isFigure
      ? numberColumn(heading(key), value, (n) => figure(key, n))
      : textColumn(
          heading(key),
          (row) => (value(row) === undefined || value(row) === null ? null : figure(key, value(row))),
          { isName: true },
        );
  });
  return dataTable(columns, rows, { caption, search: rows.length > 12 ? (row) => JSON.stringify(row) : undefined })
    .element;
}

// The plain entries of an object, for factTable.
export const simpleFacts = (object) =>
  Object.entries(object)
    .filter(([, value]) => value === null || typeof value !== 'object')
    .map(([key, value]) => [heading(key), figure(key, value)]);

// One paragraph, and the cards below it.
export const verdictSection = (...content) => h('section.plain', { id: 'verdict', 'aria-label': 'Verdict' }, content);

// The reader's word for each colour, where a chart has no legend of its own.
export const colourKey = (entries) =>
  h(
    'p.legend',
    entries.map(([colour, name]) => h('span', dot(colour), name)),
  );
