// One palette for page and pictures: Okabe and Ito (2008), distinguishable with any colour vision, as in
// src/report/charts/palette.h. Light and dark follow the system until the reader chooses.

export const PALETTE = {
  blue: '#0072b2',
  orange: '#e69f00',
  green: '#009e73',
  vermilion: '#d55e00',
  sky: '#56b4e9',
  purple: '#cc79a7',
};
export const SERIES = [PALETTE.blue, PALETTE.orange, PALETTE.green, PALETTE.vermilion, PALETTE.sky, PALETTE.purple];
export const BOUNDS = { compute: PALETTE.blue, memory: PALETTE.orange, overhead: PALETTE.purple };
export const boundColour = (bound) => BOUNDS[bound] ?? ink().frame;
export const BOUND_NAMES = { compute: 'arithmetic', memory: 'memory', overhead: 'overhead' };
export const boundName = (bound) => BOUND_NAMES[bound] ?? (bound || 'not known');
const PRECISIONS = {
  fp32: PALETTE.blue,
  fp16: PALETTE.orange,
  bf16: PALETTE.green,
  int8: PALETTE.vermilion,
  tf32: PALETTE.purple,
};
export const precisionColour = (name) => PRECISIONS[name] ?? PALETTE.sky;

const listeners = new Set();
const system = window.matchMedia('(prefers-color-scheme: dark)');

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : system.matches;
}
export function onThemeChange(listener) {
  listeners.add(listener);
}
function tell() {
  for (const listener of listeners) listener();
}
export function toggleTheme() {
  document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
  tell();
}
system.addEventListener('change', tell);

// Paper is white: charts are drawn for it before the page is printed.
let printing = false;
window.addEventListener('beforeprint', () => {
  printing = true;
  tell();
});
window.addEventListener('afterprint', () => {
  printing = false;
  tell();
});

export const isPrinting = () => printing;

// What make() returns, made with the colours of paper.
export function onPaper(make) {
  const before = printing;
  printing = true;
  try {
    return make();
  } finally {
    printing = before;
  }
}

export function ink() {
  const dark = isDark() && !printing;
  return dark
    ? {
        text: '#e8e8ee',
        quiet: '#a9a9b6',
        frame: '#5a5a68',
        grid: '#2d2d38',
        surface: '#1b1b22',
        other: '#4a4a57',
        line: '#c9c9d4',
      }
    : {
        text: '#26262a',
        quiet: '#5c5c66',
        frame: '#aaaab0',
        grid: '#e8e8ec',
        surface: '#ffffff',
        other: '#cdcdd3',
        line: '#55555e',
      };
}

// From quiet to loud, readable on both backgrounds; 0 ≤ share ≤ 1.
export function heat(share) {
  const stops =
    isDark() && !printing
      ? [
          [38, 40, 50],
          [140, 86, 0],
          [245, 178, 50],
        ]
      : [
          [243, 243, 247],
          [243, 196, 100],
          [213, 94, 0],
        ];
  const at = Math.min(1, Math.max(0, share)) * 2;
  const low = stops[Math.min(1, Math.floor(at))];
  const high = stops[Math.min(2, Math.floor(at) + 1)];
  const part = at - Math.min(1, Math.floor(at));
  return `rgb(${low.map((c, i) => Math.round(c + (high[i] - c) * Math.min(1, part))).join(',')})`;
}
