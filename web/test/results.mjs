// Results for page_test.mjs: stored ones, and profiles of any depth made from them.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const golden = process.argv[3];
const stored = join(dirname(fileURLToPath(import.meta.url)), 'results'); // of real runs

const read = (path) => JSON.parse(readFileSync(path, 'utf8'));
export const goldenResult = (name) => read(join(golden, `${name}.json`));
export const storedResult = (name) => read(join(stored, `${name}.json`));

// [name, result] of every kind.
export function everyResult() {
  return [golden, stored].flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.json') && !/trace|benchmark/.test(name))
      .map((name) => [
        `${folder === golden ? 'golden' : 'real'}-${name.replace('.json', '')}`,
        read(join(folder, name)),
      ])
      .filter(([, result]) => /^assay\./.test(result.schema ?? '')),
  );
}

export const oneOfEachKind = () => [
  ...new Map(everyResult().map(([name, result]) => [result.schema, [name, result]])).values(),
];

export const hostile = [
  '</script><script>window.hit=1</script>',
  '<img src=x onerror="window.hit=1">',
  '"\'`${1}\\',
  `long${'x'.repeat(10000)}`,
  'two\nlines 🦜 \u2028',
];

const NAMES =
  /^(name|label|op|layer|layers|operator|version|title|heading|model|reason|note|message|advice|detail|warnings|verdict|host|command|dataset)$/;

// The same result with names that would break a page that takes them for markup.
export function withHostileNames(value, key = '') {
  if (typeof value === 'string') return NAMES.test(key) ? hostile[(key.length + value.length) % 3] + value : value;
  if (Array.isArray(value)) return value.map((item) => withHostileNames(item, key));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withHostileNames(inner, name)]));
}

// Layers in a chain, in modules of ten.
export function deepProfile(count) {
  const result = goldenResult('profile');
  const layer = result.layers[0];
  const step = result.steps[0];
  const names = Array.from(
    { length: count },
    (_, i) => `net.stage${Math.floor(i / 100)}.block${Math.floor(i / 10)}.conv${i}`,
  );
  const own = (name, i) => ({ name, time_ms: 0.01 + (i % 17) / 100, share: 1 / count });
  result.layers = names.map((name, i) => ({
    ...layer,
    ...own(name, i),
    node: i,
    op: i % 3 === 0 ? 'Conv' : 'Relu',
    flops: 1000 * (i + 1),
  }));
  result.steps = names.map((name, i) => ({ ...step, ...own(name, i), nodes: [i], layers: [name] }));
  result.edges = names.slice(1).map((_, i) => [i, i + 1]);
  result.memory.buffers = names.map((name, i) => ({
    name,
    bytes: 4096 * (1 + (i % 9)),
    offset: 0,
    first_step: i,
    last_step: Math.min(count - 1, i + 2),
  }));
  return result;
}

const UNITS = {
  ns: 1e-6,
  µs: 1e-3,
  ms: 1,
  s: 1e3,
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
};

// "1,234.5 µs" → the number in the JSON's unit, and half of its last digit.
export function quantityOf(text) {
  const [, digits, unit] = /^([−-]?[\d,]+(?:\.\d+)?)\s*(\S*)/.exec(text) ?? [];
  if (!digits) return null;
  const scale = UNITS[unit] ?? 1;
  const decimals = (digits.split('.')[1] ?? '').length;
  return {
    value: Number(digits.replace(/,/g, '').replace('−', '-')) * scale,
    half: 0.5000001 * 10 ** -decimals * scale,
    isPercent: unit === '%',
  };
}

// Whether a figure on the page is the number in the JSON, rounded to the digits that are shown.
export function shows(text, number) {
  const quantity = quantityOf(text);
  if (!quantity) return text === '–' && (number === null || number === undefined);
  const near = (wanted) => Math.abs(quantity.value - wanted) <= quantity.half;
  return near(number) || (quantity.isPercent && near(100 * number));
}
