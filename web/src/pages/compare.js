// assay.compare/1, and two profiles side by side.
import { axis, chart, tip, tooltip } from '../chart.js';
import { h, shortened } from '../dom.js';
import { bytes, change, digits, interval, isNumber, modelTitle, percent, plural, time, whole } from '../format.js';
import { drift, histogram } from '../latency.js';
import { labelOf } from '../layers.js';
import {
  card,
  cards,
  chip,
  colourKey,
  genericTable,
  numberColumn,
  section,
  textColumn,
  warningsSection,
} from '../parts.js';
import { dataTable } from '../table.js';
import { ink, PALETTE } from '../theme.js';

const LESS_IS_BETTER = /latency|p9|memory|energy|bytes|size|time|rss/;
const MORE_IS_BETTER = /throughput|bandwidth|accuracy|agreement|gflops/;

// "peak_memory_mb" → "peak memory": the unit has a column.
const metricName = (name) => name.replace(/_mb$/, '').replace(/_/g, ' ');

// In the unit that the terminal's tables use.
function quantity({ unit }, value) {
  if (unit === 'ms') return time(value);
  if (unit === 'B') return bytes(value);
  return [Number.isInteger(value) ? whole(value) : digits(value, 4), unit].filter(Boolean).join(' ');
}

function changeCell(name, ratio) {
  if (!isNumber(ratio)) return '–';
  const isSame = Math.abs(ratio - 1) < 5e-4;
  const isLess = LESS_IS_BETTER.test(name);
  const tone = isSame || (!isLess && !MORE_IS_BETTER.test(name)) ? 'quiet' : isLess === ratio < 1 ? 'better' : 'worse';
  return h(`span.${tone}`, change(ratio));
}

const barColour = (m) =>
  !LESS_IS_BETTER.test(m.name) && !MORE_IS_BETTER.test(m.name)
    ? ink().frame
    : LESS_IS_BETTER.test(m.name) === m.ratio < 1
      ? PALETTE.green
      : PALETTE.vermilion;

function metricTable(metrics, caption) {
  return dataTable(
    [
      textColumn('metric', (m) => metricName(m.name)),
      { title: 'A', isNumber: true, value: (m) => m.a, cell: (m) => quantity(m, m.a) },
      { title: 'B', isNumber: true, value: (m) => m.b, cell: (m) => quantity(m, m.b) },
      { title: 'change', isNumber: true, value: (m) => m.ratio, cell: (m) => changeCell(m.name, m.ratio) },
      textColumn('95 % interval of the ratio', (m) =>
        m.ratio_estimate_ci95
          ? `${digits(m.ratio_estimate_ci95[0])} to ${digits(m.ratio_estimate_ci95[1])}`
          : m.exact
            ? 'exact'
            : null,
      ),
    ],
    metrics,
    { caption },
  ).element;
}

function changeChart(metrics) {
  const shown = metrics.filter((m) => isNumber(m.ratio) && m.ratio > 0);
  if (shown.length === 0) return null;
  return chart({
    label: 'Change of every metric from A to B',
    height: 60 + 30 * shown.length,
    table: () => metricTable(metrics, 'Metrics'),
    option: () => ({
      grid: { left: 140, right: 60, top: 8, bottom: 44 },
      tooltip: tooltip((item) => {
        const m = shown[item.dataIndex];
        return tip(m.name, [
          ['A', quantity(m, m.a)],
          ['B', quantity(m, m.b)],
          ['change', change(m.ratio)],
        ]);
      }),
      // Room for the figures beside the bars.
      xAxis: axis('B compared with A, %', {
        type: 'value',
        boundaryGap: ['14%', '12%'],
        axisLabel: { color: ink().quiet },
      }),
      yAxis: axis('', {
        type: 'category',
        inverse: true,
        data: shown.map((m) => metricName(m.name)),
        splitLine: { show: false },
        axisLabel: { color: ink().text },
      }),
      series: [
        {
          type: 'bar',
          barMaxWidth: 16,
          label: {
            show: true,
            position: 'right',
            color: ink().text,
            formatter: (item) => change(shown[item.dataIndex].ratio),
          },
          data: shown.map((m) => ({
            value: 100 * (m.ratio - 1),
            label: { position: m.ratio < 1 ? 'left' : 'right' },
            itemStyle: { color: barColour(m) },
          })),
        },
      ],
    }),
  }).element;
}

function gatesSection(gates) {
  return gates?.length > 0
    ? section('gates', 'Gates', 'Limits that the comparison had to keep.', genericTable(gates, 'Gates'))
    : null;
}

function sweepsPage(result) {
  return {
    kind: 'Comparison of sweeps',
    title: `${result.a.folder} and ${result.b.folder}`,
    setting: 'row by row',
    sections: [
      warningsSection(result.warnings),
      gatesSection(result.gates),
      ...result.rows.map((row, i) => section(`row${i}`, row.name, row.error, metricTable(row.metrics, row.name))),
    ],
    facts: [],
  };
}

function latencyRange({ metrics }) {
  const range = (metrics ?? []).find((metric) => metric.name === 'latency')?.b_ci95;
  return Array.isArray(range) ? interval(range[0], range[1]) : null;
}

export function comparePage(result) {
  if (result.rows) return sweepsPage(result);
  const { a, b } = result;
  const samples = (side) => (side.processes_ms ?? []).flat();
  const both = samples(a).length > 0 && samples(b).length > 0;
  const nameA = `A: ${modelTitle(a.model)}`;
  const nameB = `B: ${modelTitle(b.model)}`;
  return {
    kind: 'Comparison',
    title: `${modelTitle(a.model)} and ${modelTitle(b.model)}`,
    setting: `batch ${b.batch} · ${plural(b.threads, 'thread')} · ${result.interleaved ? 'fresh processes in turns' : 'stored samples'}`,
    sections: [
      h(
        'section.plain',
        { id: 'verdict', 'aria-label': 'Verdict' },
        h('p.verdict', chip(result.verdict), `${result.meaning}.`),
        cards([
          card('A, median', time(a.median_ms), modelTitle(a.model), 'a.median_ms', a.median_ms),
          card(
            'B, median',
            time(b.median_ms),
            [modelTitle(b.model), latencyRange(result)].filter(Boolean).join(' · '),
            'b.median_ms',
            b.median_ms,
          ),
          card(
            'B / A',
            digits(result.ratio),
            `95 % interval ${digits(result.ci95_low)} to ${digits(result.ci95_high)}`,
            'ratio',
            result.ratio,
          ),
          card('Pairs of processes', String(result.pairs), `threshold ${percent(result.threshold)}`),
        ]),
      ),
      warningsSection(result.warnings),
      gatesSection(result.gates),
      section(
        'metrics',
        'Metrics',
        'Everything that was compared; green is better for B.',
        changeChart(result.metrics ?? []),
        h('h3', 'In figures'),
        metricTable(result.metrics ?? [], 'Metrics'),
      ),
      both &&
        section(
          'latency',
          'Latency',
          'Run times of A and B.',
          histogram(
            [
              { name: nameA, samples: samples(a), colour: PALETTE.blue },
              { name: nameB, samples: samples(b), colour: PALETTE.orange },
            ],
            [
              { name: 'A', value: a.median_ms, colour: PALETTE.blue },
              { name: 'B', value: b.median_ms, colour: PALETTE.orange },
            ],
            'Run times of A and B',
          ).element,
          colourKey([
            [PALETTE.blue, nameA],
            [PALETTE.orange, nameB],
          ]),
          h(
            'div.columns',
            h('div', h('h3', nameA), drift(samples(a), [], `${nameA}: run times`).element),
            h('div', h('h3', nameB), drift(samples(b), [], `${nameB}: run times`).element),
          ),
        ),
    ],
    facts: [
      ['A', a.model],
      ['B', b.model],
      ['measured again', (result.measured_again ?? []).join(', ') || 'no'],
    ],
  };
}

function sideMetrics(a, b) {
  const metric = (name, unit, value) => {
    const [x, y] = [value(a), value(b)];
    return isNumber(x) && isNumber(y) ? { name, unit, a: x, b: y, ratio: x !== 0 ? y / x : null } : null;
  };
  return [
    metric('latency', 'ms', (r) => r.latency_ms),
    metric('p95', 'ms', (r) => r.latency.p95_ms),
    metric('throughput', 'samples/s', (r) => r.throughput_sps),
    metric('memory', 'MB', (r) => r.memory.peak_memory_mb),
    metric('parameters', '', (r) => r.parameters),
    metric('flops', '', (r) => r.flops),
    metric('executed flops', '', (r) => r.executed_flops),
    metric('executed gflops', 'GFLOP/s', (r) => r.executed_gflops_per_second),
    metric('of ceiling', '%', (r) => r.percent_of_ceiling),
    metric('compile time', 'ms', (r) => r.start_up?.compile_ms),
  ].filter(Boolean);
}

// Layers of both, joined by name.
function joined(a, b) {
  const inB = new Map(b.layers.map((layer) => [layer.name, layer]));
  const rows = a.layers.map((layer) => ({
    name: labelOf(layer),
    op: layer.op,
    a: layer.time_ms,
    b: inB.get(layer.name)?.time_ms,
  }));
  const inA = new Set(a.layers.map((layer) => layer.name));
  for (const layer of b.layers)
    if (!inA.has(layer.name)) rows.push({ name: labelOf(layer), op: layer.op, a: null, b: layer.time_ms });
  return rows
    .filter((row) => isNumber(row.a) || isNumber(row.b))
    .map((row) => ({ ...row, difference: (row.b ?? 0) - (row.a ?? 0) }));
}

export function sideBySide(a, b) {
  const rows = joined(a, b);
  const largest = [...rows].sort((x, y) => Math.abs(y.difference) - Math.abs(x.difference)).slice(0, 15);
  const table = () =>
    dataTable(
      [
        textColumn('layer', (row) => row.name, { isName: true }),
        textColumn('op', (row) => row.op),
        numberColumn('A', (row) => row.a, time),
        numberColumn('B', (row) => row.b, time),
        numberColumn(
          'difference',
          (row) => row.difference,
          (v) => `${v > 0 ? '+' : ''}${time(v)}`,
        ),
        {
          title: 'change',
          isNumber: true,
          value: (row) => (row.a > 0 ? row.b / row.a : null),
          cell: (row) => changeCell('time', row.a > 0 && isNumber(row.b) ? row.b / row.a : null),
        },
      ],
      rows,
      { caption: 'Layers of both', sort: [4, true], search: (row) => `${row.name} ${row.op}` },
    ).element;
  const differences = chart({
    label: 'Layers whose time changed most',
    height: 70 + 24 * largest.length,
    table,
    option: (width) => ({
      grid: { left: width < 520 ? 120 : 230, right: 40, top: 8, bottom: 44 },
      tooltip: tooltip((item) => {
        const row = largest[item.dataIndex];
        return tip(row.name, [
          ['A', time(row.a)],
          ['B', time(row.b)],
          ['difference', time(row.difference)],
        ]);
      }),
      xAxis: axis('B − A, ms', { type: 'value' }),
      yAxis: axis('', {
        type: 'category',
        inverse: true,
        splitLine: { show: false },
        data: largest.map((row) => shortened(row.name, width < 520 ? 18 : 34)),
        axisLabel: { color: ink().text },
      }),
      series: [
        {
          type: 'bar',
          barMaxWidth: 14,
          data: largest.map((row) => ({
            value: row.difference,
            itemStyle: { color: row.difference < 0 ? PALETTE.green : PALETTE.vermilion },
          })),
        },
      ],
    }),
  });
  const overlap = a.latency.ci95_high_ms >= b.latency.ci95_low_ms && b.latency.ci95_high_ms >= a.latency.ci95_low_ms;
  return {
    kind: 'Side by side',
    title: `${modelTitle(a.model.name)} and ${modelTitle(b.model.name)}`,
    setting: 'two stored profiles',
    sections: [
      h(
        'section.plain',
        { id: 'verdict', 'aria-label': 'Verdict' },
        h(
          'p.verdict',
          `B takes ${digits(b.latency_ms / a.latency_ms)} times as long as A: ${time(b.latency_ms)} instead of ${time(a.latency_ms)}. ${overlap ? 'The intervals overlap, so the difference may be noise. ' : ''}Two stored profiles were not run in turns; ‘assay compare’ gives a verdict.`,
        ),
        cards([
          card(
            'A',
            time(a.latency_ms),
            interval(a.latency.ci95_low_ms, a.latency.ci95_high_ms),
            'a.latency_ms',
            a.latency_ms,
          ),
          card(
            'B',
            time(b.latency_ms),
            interval(b.latency.ci95_low_ms, b.latency.ci95_high_ms),
            'b.latency_ms',
            b.latency_ms,
          ),
          card('Memory, A', bytes(a.memory.peak_bytes)),
          card('Memory, B', bytes(b.memory.peak_bytes)),
        ]),
      ),
      section('metrics', 'Metrics', 'Green is better for B.', changeChart(sideMetrics(a, b))),
      section('layers', 'Layers', 'The layers whose time changed most, joined by name.', differences.element),
      section(
        'latency',
        'Latency',
        'Run times of A and B.',
        histogram(
          [
            { name: 'A', samples: a.latency.samples_ms, colour: PALETTE.blue },
            { name: 'B', samples: b.latency.samples_ms, colour: PALETTE.orange },
          ],
          [
            { name: 'A', value: a.latency_ms, colour: PALETTE.blue },
            { name: 'B', value: b.latency_ms, colour: PALETTE.orange },
          ],
          'Run times of A and B',
        ).element,
      ),
    ],
    facts: [],
  };
}
