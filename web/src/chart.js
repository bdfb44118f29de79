// Charts by ECharts, of which only the parts that are used are bundled. Each is a figure with a caption and the same
// numbers as a table; it is drawn when it comes into view, and again when the theme changes.
import * as echarts from 'echarts/core';
import { BarChart, CustomChart, LineChart, ScatterChart, TreemapChart } from 'echarts/charts';
import {
  DataZoomInsideComponent,
  GridComponent,
  LegendPlainComponent,
  LegendScrollComponent,
  MarkLineComponent,
  TooltipComponent,
} from 'echarts/components';
import { CanvasRenderer, SVGRenderer } from 'echarts/renderers';
import { h } from './dom.js';
import { fileName, offer, pngBlob, svgBlob } from './save.js';
import { ink, onPaper, onThemeChange } from './theme.js';

echarts.use([
  BarChart,
  CustomChart,
  LineChart,
  ScatterChart,
  TreemapChart,
  DataZoomInsideComponent,
  GridComponent,
  LegendPlainComponent,
  LegendScrollComponent,
  MarkLineComponent,
  TooltipComponent,
  CanvasRenderer,
  SVGRenderer,
]);

// Single quotes: ECharts writes it into attributes of SVG as it is.
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
const drawn = new Set();
onThemeChange(() => drawn.forEach((redraw) => redraw()));
window.addEventListener('beforeprint', () => {
  waiting.forEach((draw) => draw());
  document.querySelectorAll('.stage svg').forEach(makeScalable);
});
const waiting = new Set();

// A drawing with a view box takes the width that the paper has.
function makeScalable(svg) {
  svg.setAttribute('viewBox', `0 0 ${svg.getAttribute('width')} ${svg.getAttribute('height')}`);
}

const whenSeen = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      whenSeen.unobserve(entry.target);
      entry.target.dispatchEvent(new Event('seen'));
    }
  },
  { rootMargin: '300px' },
);

// Calls `draw` once, shortly before the element scrolls into view.
export function whenVisible(element, draw) {
  const once = () => {
    if (!waiting.delete(once)) return;
    draw();
  };
  waiting.add(once);
  element.addEventListener('seen', once);
  whenSeen.observe(element);
}

export function axis(title, more = {}) {
  const { quiet, frame, grid, text } = ink();
  return {
    name: title,
    nameLocation: 'middle',
    nameGap: 30,
    nameTextStyle: { color: text, fontSize: 12.5 },
    axisLine: { show: true, lineStyle: { color: frame } },
    axisTick: { lineStyle: { color: frame } },
    axisLabel: { color: quiet, fontSize: 11.5, hideOverlap: true },
    splitLine: { lineStyle: { color: grid } },
    ...more,
  };
}

// Lines across a chart. ECharts rounds their places to two decimals unless it is told more.
export const markLine = (more) => ({ symbol: 'none', silent: true, precision: 12, ...more });

// A tooltip made of elements, never of HTML text.
export function tooltip(content, more = {}) {
  const { surface, text, frame } = ink();
  return {
    confine: true,
    backgroundColor: surface,
    borderColor: frame,
    padding: [8, 11],
    textStyle: { color: text, fontSize: 12.5, fontFamily: FONT },
    extraCssText:
      'max-width:min(340px,80vw);white-space:normal;overflow-wrap:anywhere;box-shadow:0 4px 18px rgba(0,0,0,.18)',
    formatter: content,
    ...more,
  };
}

export function tip(title, rows) {
  return h(
    'div.tip',
    h('strong', title),
    h(
      'dl',
      rows.filter(Boolean).map(([name, value]) => [h('dt', name), h('dd', value)]),
    ),
  );
}

const base = () => ({
  animation: false,
  textStyle: { fontFamily: FONT, color: ink().text },
  backgroundColor: 'transparent',
  grid: { left: 68, right: 22, top: 26, bottom: 52 },
});

export const legend = (more = {}) => ({
  top: 0,
  left: 0,
  type: 'scroll',
  icon: 'circle',
  itemWidth: 11,
  itemHeight: 11,
  textStyle: { color: ink().text, fontSize: 12 },
  inactiveColor: ink().frame,
  pageTextStyle: { color: ink().quiet },
  ...more,
});

// option(width) → what ECharts draws; table() → an element with the same numbers.
export function chart({ label, option, table, height = 380, renderer = 'svg', onClick, note, controls }) {
  const stage = h('div.stage', { role: 'img', 'aria-label': label, style: { height: `${height}px` } });
  let instance = null;
  const redraw = () => {
    if (!instance) return;
    instance.setOption({ ...base(), ...option(stage.clientWidth) }, { notMerge: true });
  };
  whenVisible(stage, () => {
    instance = echarts.init(stage, null, { renderer });
    redraw();
    if (onClick) instance.on('click', onClick);
    drawn.add(redraw);
    let width = stage.clientWidth;
    new ResizeObserver(() => {
      if (stage.clientWidth === width || stage.clientWidth === 0) return;
      width = stage.clientWidth;
      instance.resize();
      redraw();
    }).observe(stage);
  });
  const picture = () => drawnOnPaper(option, stage.clientWidth, height);
  const figure = h(
    'figure.chart',
    controls,
    stage,
    note && h('p.note', note),
    h('div.under', table && tableBehind(table, label), saveButtons(label, picture)),
  );
  return { element: figure, redraw };
}

// Control characters, which names may have, are not allowed in XML.
const NOT_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

// The chart as it is now, as text of SVG with the colours of paper.
function drawnOnPaper(option, width, height) {
  const size = { width: Math.max(width, 640), height };
  const instance = echarts.init(null, null, { renderer: 'svg', ssr: true, ...size });
  instance.setOption(onPaper(() => ({ ...base(), ...option(size.width), backgroundColor: '#ffffff' })));
  const svg = instance.renderToSVGString().replace(NOT_XML, '\ufffd');
  instance.dispose();
  return { svg, ...size };
}

// picture() → {svg, width, height}
export function saveButtons(label, picture) {
  const button = (ending, make) =>
    h(
      'button.save',
      {
        type: 'button',
        'aria-label': `${label}: save as ${ending.toUpperCase()}`,
        onclick: async () => offer(fileName(label, ending), await make(picture())),
      },
      ending.toUpperCase(),
    );
  return h(
    'p.saves-as',
    'Save as ',
    button('svg', ({ svg }) => svgBlob(svg)),
    ' ',
    button('png', ({ svg, width, height }) => pngBlob(svg, width, height)),
  );
}

export function tableBehind(table, label) {
  const details = h('details.behind', h('summary', { 'aria-label': `${label}: as a table` }, 'As a table'));
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(table());
  });
  return details;
}
