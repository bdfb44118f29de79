// Figures as text, in the units and with the digits of the terminal's tables.

export const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
const NONE = '–';

export function digits(value, count = 3) {
  if (!isNumber(value)) return NONE;
  if (value === 0) return '0';
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  if (magnitude < -4 || magnitude > 14) return value.toExponential(count - 1);
  const decimals = Math.max(0, count - 1 - magnitude);
  return value.toLocaleString('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

export const whole = (value) => (isNumber(value) ? value.toLocaleString('en-US', { maximumFractionDigits: 0 }) : NONE);

const TIMES = [
  [1000, 's'],
  [1, 'ms'],
  [1e-3, 'µs'],
  [1e-6, 'ns'],
];
export function timeUnit(ms) {
  return TIMES.find(([unit]) => Math.abs(ms) >= unit) ?? TIMES[TIMES.length - 1];
}
export function time(ms) {
  if (!isNumber(ms)) return NONE;
  if (ms === 0) return '0 ms';
  const [unit, name] = timeUnit(ms);
  return `${digits(ms / unit, 4)} ${name}`;
}

export function bytes(value) {
  if (!isNumber(value)) return NONE;
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let at = 0;
  let rest = value;
  while (Math.abs(rest) >= 1024 && at + 1 < names.length) {
    rest /= 1024;
    ++at;
  }
  return at === 0 ? `${whole(rest)} B` : `${digits(rest)} ${names[at]}`;
}

export function si(value, unit = '') {
  if (!isNumber(value)) return NONE;
  const names = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
  let at = 0;
  let rest = value;
  while (Math.abs(rest) >= 1000 && at + 1 < names.length) {
    rest /= 1000;
    ++at;
  }
  const text = at === 0 ? whole(rest) : digits(rest);
  const name = names[at] + unit;
  return name ? `${text} ${name}` : text;
}

// Per second: whole numbers up to a million, as in the terminal's tables.
export const rate = (value) => (!isNumber(value) || Math.abs(value) >= 1e6 ? si(value) : digits(value));

export const percent = (share, count = 1) => (isNumber(share) ? `${(100 * share).toFixed(count)} %` : NONE);

// −25.0 %, +3.1 %, ×12.3
export function change(ratio) {
  if (!isNumber(ratio)) return NONE;
  if (ratio > 5) return `×${digits(ratio)}`;
  const value = 100 * (ratio - 1);
  return `${value > 0 ? '+' : value < 0 ? '−' : ''}${Math.abs(value).toFixed(1)} %`;
}

export function interval(low, high, text = time) {
  return isNumber(low) && isNumber(high) ? `${text(low)} to ${text(high)}` : NONE;
}

export const shape = (dims) => (Array.isArray(dims) ? dims.map((dim) => dim ?? '?').join('×') : NONE);

// Marks that change the writing direction would turn the text around a name too.
export const inOneDirection = (name) => String(name).replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');

// "/models/resnet50.onnx" and "zoo:resnet50" are "resnet50".
export function modelTitle(name) {
  const text = inOneDirection(name ?? '');
  if (text.startsWith('zoo:')) return text.slice(4);
  const stem = text.slice(text.lastIndexOf('/') + 1);
  return stem.replace(/(.)\.onnx$/, '$1') || text;
}

export const plural = (count, what) => `${whole(count)} ${what}${count === 1 ? '' : 's'}`;

// "net_block_ms" → "net block ms"
export const words = (key) => String(key).replace(/_/g, ' ');

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// How the JSON's keys name their units. The heading loses the unit that the figure shows.
const UNITS = [
  [/_ms$/, time],
  [/(^|_)seconds$/, (v) => time(1000 * v)],
  [/(^|_)bytes$/, bytes],
  [/_mb$/, (v) => `${digits(v)} MB`],
  [/_kb$/, (v) => bytes(1024 * v)],
  [/_gbps$/, (v) => `${digits(v)} GB/s`],
  [/_mb_s$/, (v) => `${digits(v)} MB/s`],
  [/_watts$/, (v) => `${digits(v)} W`],
  [/_db$/, (v) => `${digits(v)} dB`],
  [/_sps$|_per_second$/, (v) => `${rate(v)}/s`],
];
const SHARES = /(^|_)(share|utilization|accuracy|agreement|efficiency|accuracy_ci95_low|accuracy_ci95_high)$/;
const unitOf = (key) => UNITS.find(([pattern]) => pattern.test(key));

export const heading = (key) => {
  const unit = unitOf(key)?.[0];
  return words(unit && !/seconds|per_second/.test(key) ? key.replace(unit, '') || key : key);
};

export function figure(key, value) {
  if (value === null || value === undefined) return NONE;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (!isNumber(value)) return String(value);
  const unit = unitOf(key);
  if (unit) return unit[1](value);
  if (/(flops|macs|parameters)$/.test(key) && Math.abs(value) >= 1000) return si(value);
  if (SHARES.test(key) && Math.abs(value) <= 1) return percent(value, 2);
  return Number.isInteger(value) ? whole(value) : digits(value, 4);
}

// The first items of a list, and how many there are.
export function listText(key, list, most) {
  const shown = list
    .slice(0, most)
    .map((item) => (item !== null && typeof item === 'object' ? JSON.stringify(item) : figure(key, item)));
  return list.length > most ? `${shown.join(', ')} … (${whole(list.length)} in all)` : shown.join(', ') || NONE;
}
