// A table that sorts by its headings, filters and searches. Long ones show their first rows until asked for all.
import { append, h } from './dom.js';
import { plural } from './format.js';

const FIRST_ROWS = 100;

function compare(a, b) {
  const missing = (value) => value === null || value === undefined || value === '';
  if (missing(a) || missing(b)) return missing(a) - missing(b);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b), 'en', { numeric: true });
}

// columns: {title, value(row), cell(row) → text or element, isNumber, help, isWide: not on a phone, isOnScreen: not on
// paper}
// options: caption, search(row) → text, filter: {label, value(row)}, sort: [column, descending],
// onRow(row): what a click or Enter does; detail(row) → an element that a click or Enter shows below the row
export function dataTable(columns, rows, options = {}) {
  const state = { column: options.sort?.[0] ?? -1, down: options.sort?.[1] ?? false, text: '', only: '', all: false };
  const body = h('tbody');
  const status = h('p.table-status', { role: 'status' });
  const more = h('button.more', {
    type: 'button',
    onclick: () => {
      state.all = true;
      draw();
    },
  });
  const heads = columns.map((column, i) => {
    const button = h('button.sort', { type: 'button', title: column.help, onclick: () => sortBy(i) }, column.title);
    return h('th', { scope: 'col', class: classOf(column) }, button);
  });
  const elements = new Map();
  const details = new Map(); // of rows that are open

  function classOf(column) {
    return (
      [column.isNumber && 'number', column.isWide && 'wide', column.isName && 'name', column.isOnScreen && 'screen']
        .filter(Boolean)
        .join(' ') || undefined
    );
  }
  function sortBy(i) {
    state.down = state.column === i ? !state.down : Boolean(columns[i].isNumber);
    state.column = i;
    draw();
  }
  function chosen() {
    const wanted = state.text.trim().toLowerCase();
    const found = rows.filter(
      (row) =>
        (!state.only || options.filter.value(row) === state.only) &&
        (!wanted || options.search(row).toLowerCase().includes(wanted)),
    );
    if (state.column < 0) return found;
    const { value } = columns[state.column];
    const sign = state.down ? -1 : 1;
    const isGap = (item) => item === null || item === undefined;
    return found
      .map((row) => [value(row), row])
      .sort(([a], [b]) => (isGap(a) || isGap(b) ? compare(a, b) : sign * compare(a, b)))
      .map(([, row]) => row);
  }
  function element(row) {
    if (elements.has(row)) return elements.get(row);
    const cells = columns.map((column) =>
      append(h(column.isHeader ? 'th' : 'td', { class: classOf(column), scope: column.isHeader && 'row' }), [
        column.cell(row),
      ]),
    );
    const made = h('tr', cells);
    if (options.onRow || options.detail) makeActive(made, row);
    elements.set(row, made);
    return made;
  }
  // One row can be reached with Tab; arrows move on, Enter acts.
  function makeActive(made, row) {
    const act = () => (options.detail ? toggleDetail(row) : options.onRow(row));
    made.classList.add('active');
    made.tabIndex = -1;
    if (options.detail) made.setAttribute('aria-expanded', 'false');
    made.addEventListener('click', () => {
      if (String(window.getSelection()) === '') act();
    });
    made.addEventListener('keydown', (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) focusNeighbour(made, step);
      else if (event.key === 'Enter' || event.key === ' ') act();
      else return;
      event.preventDefault();
    });
  }
  function focusNeighbour(made, step) {
    const rowsShown = [...body.querySelectorAll('tr.active')];
    const next = rowsShown[rowsShown.indexOf(made) + step];
    if (!next) return;
    made.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
  function toggleDetail(row) {
    const open = details.get(row);
    if (open) {
      open.remove();
      details.delete(row);
    } else {
      details.set(row, h('tr.detail', h('td', { colspan: columns.length }, options.detail(row))));
      element(row).after(details.get(row));
    }
    element(row).setAttribute('aria-expanded', String(!open));
  }
  function draw() {
    const found = chosen();
    const shown = state.all ? found : found.slice(0, FIRST_ROWS);
    body.replaceChildren(...shown.flatMap((row) => [element(row), details.get(row)].filter(Boolean)));
    if (options.onRow || options.detail) shown.forEach((row, i) => (element(row).tabIndex = i === 0 ? 0 : -1));
    heads.forEach((head, i) =>
      head.setAttribute('aria-sort', i !== state.column ? 'none' : state.down ? 'descending' : 'ascending'),
    );
    status.textContent =
      found.length === rows.length ? plural(rows.length, 'row') : `${found.length} of ${plural(rows.length, 'row')}`;
    more.hidden = shown.length === found.length;
    more.textContent = `Show all ${plural(found.length, 'row')}`;
  }

  function controls() {
    if (!options.search) return null;
    const search = h('input', {
      type: 'search',
      placeholder: options.searchHint ?? 'Search',
      'aria-label': options.searchHint ?? 'Search',
      oninput: (event) => {
        state.text = event.target.value;
        draw();
      },
    });
    const parts = [search];
    if (options.filter) {
      const values = [...new Set(rows.map(options.filter.value))].filter(Boolean).sort();
      parts.push(
        h(
          'select',
          {
            'aria-label': options.filter.label,
            onchange: (event) => {
              state.only = event.target.value;
              draw();
            },
          },
          h('option', { value: '' }, options.filter.label),
          values.map((value) => h('option', { value }, value)),
        ),
      );
    }
    return h('div.table-controls', parts, status);
  }

  const scroller = h(
    'div.table-scroll',
    { tabindex: 0, role: 'region', 'aria-label': options.caption ?? 'table' },
    h('table', options.caption && h('caption.hidden', options.caption), h('thead', h('tr', heads)), body),
  );
  draw();
  return {
    element: h('div.table', controls(), scroller, more),
    // Scrolls to a row and marks it; filters that hide it are undone.
    select(row) {
      if (!chosen().includes(row)) {
        state.text = '';
        state.only = '';
        for (const input of this.element.querySelectorAll('.table-controls input, .table-controls select'))
          input.value = '';
      }
      state.all = state.all || chosen().indexOf(row) >= FIRST_ROWS;
      draw();
      for (const marked of body.querySelectorAll('.marked')) marked.classList.remove('marked');
      const target = element(row);
      target.classList.add('marked');
      target.scrollIntoView({
        block: 'center',
        behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth',
      });
    },
  };
}

// Two or more columns of text, without sorting.
export function factTable(facts, caption) {
  return h(
    'div.table-scroll.whole',
    { tabindex: 0, role: 'region', 'aria-label': caption },
    h(
      'table.facts',
      h('caption.hidden', caption),
      h(
        'tbody',
        facts.filter(Boolean).map(([name, ...values]) =>
          h(
            'tr',
            h('th', { scope: 'row' }, name),
            values.map((value) => h('td', value ?? '–')),
          ),
        ),
      ),
    ),
  );
}
