// How run times are distributed, how they changed during the measurement, and what to doubt.
import { axis, chart, markLine, tip, tooltip } from './chart.js';
import { h } from './dom.js';
import { digits, interval, isNumber, percent, plural, time, timeUnit, whole } from './format.js';
import { numberColumn, section, textColumn, warnings } from './parts.js';
import { dataTable, factTable } from './table.js';
import { ink, PALETTE, SERIES } from './theme.js';

const MOST_POINTS = 3000;

const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];

// Where the axis of run times ends: few runs that took much longer than most would hide how those are distributed.
export function upperEdge(sorted) {
  const median = quantile(sorted, 0.5);
  const most = median + 5 * (quantile(sorted, 0.9) - median);
  return Math.min(quantile(sorted, 0.995), Math.max(most, 1.05 * median));
}

// Bins of equal width between the fastest run and the axis' end; the last holds what is beyond.
export function binsOf(samples, from, to, count) {
  const width = (to - from) / count || 1e-9;
  const bins = Array.from({ length: count + 1 }, (_, i) => ({
    low: from + i * width,
    high: i < count ? from + (i + 1) * width : Infinity,
    count: 0,
  }));
  for (const sample of samples) bins[Math.min(count, Math.max(0, Math.floor((sample - from) / width)))].count++;
  return bins;
}

// series: [{name, samples, colour}]
export function histogram(series, marks, label) {
  const sorted = series.map((one) => [...one.samples].sort((a, b) => a - b));
  const from = Math.min(...sorted.map((one) => one[0]));
  const to = Math.max(...sorted.map(upperEdge));
  const beyond = sorted.flat().filter((sample) => sample > to).length;
  const count = Math.max(8, Math.min(60, Math.ceil(Math.sqrt(Math.max(...sorted.map((one) => one.length))))));
  const binned = series.map((one) => binsOf(one.samples, from, to, count));
  const [unit, unitName] = timeUnit(to);
  const option = () => ({
    tooltip: tooltip((item) => {
      const bin = binned[item.seriesIndex][item.dataIndex];
      const n = series[item.seriesIndex].samples.length;
      return tip(bin.high === Infinity ? `above ${time(bin.low)}` : interval(bin.low, bin.high), [
        [series[item.seriesIndex].name, ''],
        ['samples', whole(bin.count)],
        ['share', percent(bin.count / n)],
      ]);
    }),
    grid: { left: 60, right: 20, top: 34, bottom: 48 },
    xAxis: axis(`time of a run, ${unitName}`, {
      type: 'value',
      min: from / unit,
      max: (to + (to - from) / count) / unit,
      splitLine: { show: false },
      axisLabel: {
        color: ink().quiet,
        formatter: (v) => digits(v, 4),
        hideOverlap: true,
        showMinLabel: false,
        showMaxLabel: false,
      },
    }),
    yAxis: axis('samples', { type: 'value', minInterval: 1, nameGap: 40 }),
    series: series.map((one, s) => ({
      type: 'custom',
      name: one.name,
      itemStyle: { color: one.colour, opacity: series.length > 1 ? 0.6 : 0.9 },
      encode: { x: [0, 1], y: 2 },
      data: binned[s].map((bin) => [
        bin.low / unit,
        Math.min(bin.high, bin.low + (to - from) / count) / unit,
        bin.count,
      ]),
      renderItem: (_, api) => {
        const [left, top] = api.coord([api.value(0), api.value(2)]);
        const [right, bottom] = api.coord([api.value(1), 0]);
        return {
          type: 'rect',
          shape: { x: left, y: top, width: Math.max(1, right - left - 1), height: bottom - top },
          style: { fill: one.colour, opacity: series.length > 1 ? 0.6 : 0.9 },
        };
      },
      markLine:
        s > 0
          ? undefined
          : markLine({
              label: { color: ink().text, fontSize: 11.5, align: 'left', formatter: (mark) => mark.name },
              lineStyle: { width: 1.5 },
              data: marks
                .filter((mark) => isNumber(mark.value))
                .map((mark) => ({
                  name: mark.name,
                  xAxis: mark.value / unit,
                  lineStyle: { color: mark.colour ?? ink().text, type: mark.dashed ? 'dashed' : 'solid' },
                  label: { show: Boolean(mark.name) },
                })),
            }),
    })),
  });
  const table = () =>
    dataTable(
      [
        textColumn('from', (row) => time(row.low)),
        textColumn('to', (row) => (row.high === Infinity ? '∞' : time(row.high))),
        ...series.map((one, s) =>
          numberColumn(`samples ${series.length > 1 ? one.name : ''}`, (row) => binned[s][row.index].count, whole),
        ),
      ],
      binned[0].map((bin, index) => ({ ...bin, index })),
      { caption: label },
    ).element;
  return chart({
    label,
    option,
    table,
    height: 300,
    renderer: 'canvas',
    note: beyond > 0 && `${plural(beyond, 'sample')} slower than the axis: in the last bar.`,
  });
}

function runningMedian(samples, window) {
  const half = Math.floor(window / 2);
  const result = [];
  const stride = Math.max(1, Math.floor(samples.length / 200));
  for (let i = 0; i < samples.length; i += stride) {
    const first = Math.max(0, Math.min(i - half, samples.length - window));
    const part = samples.slice(first, first + window).sort((a, b) => a - b);
    result.push([i, part[Math.floor(part.length / 2)]]);
  }
  return result;
}

export function drift(samples, outliers, label) {
  const stride = Math.max(1, Math.ceil(samples.length / MOST_POINTS));
  const sorted = [...samples].sort((a, b) => a - b);
  const top = Math.max(upperEdge(sorted), sorted[0] * 1.02);
  const [unit, unitName] = timeUnit(top);
  const beyond = samples.filter((sample) => sample > top).length;
  const isOutlier = new Set(outliers ?? []);
  const points = samples
    .map((sample, i) => [i, Math.min(sample, top) / unit, sample])
    .filter(([i], _n) => i % stride === 0 || (isOutlier.has(i) && stride < 5));
  const median = runningMedian(samples, Math.max(5, Math.floor(samples.length / 25)));
  const option = () => ({
    tooltip: tooltip((item) =>
      tip(`sample ${whole(item.data[0])}`, [['time', time(item.data[2] ?? item.data[1] * unit)]]),
    ),
    grid: { left: 60, right: 20, top: 24, bottom: 48 },
    xAxis: axis('sample, in the order measured', { type: 'value', max: samples.length, splitLine: { show: false } }),
    yAxis: axis(unitName, {
      type: 'value',
      min: (sorted[0] * 0.99) / unit,
      max: top / unit,
      nameGap: 44,
      axisLabel: { color: ink().quiet, formatter: (v) => digits(v), showMinLabel: false, showMaxLabel: false },
    }),
    series: [
      {
        type: 'scatter',
        symbolSize: points.length < 200 ? 6 : 3,
        itemStyle: { color: PALETTE.sky, opacity: 0.65 },
        data: points,
        large: false,
      },
      {
        type: 'line',
        symbol: 'none',
        silent: true,
        lineStyle: { color: PALETTE.vermilion, width: 2 },
        data: median.map(([i, value]) => [i, value / unit]),
      },
    ],
  });
  const table = () =>
    dataTable(
      [numberColumn('sample', (row) => row[0], whole), numberColumn('time', (row) => row[1], time)],
      samples.map((sample, i) => [i, sample]),
      { caption: label },
    ).element;
  return chart({
    label,
    option,
    table,
    height: 300,
    renderer: 'canvas',
    note: `Line: running median.${stride > 1 ? ` One sample in ${stride} is drawn.` : ''}${beyond > 0 ? ` ${plural(beyond, 'sample')} slower than the axis: drawn at its upper edge.` : ''}`,
  });
}

export function latencySection(latency, extra) {
  const samples = latency?.samples_ms;
  if (!samples || samples.length === 0) return null;
  const marks = [
    { name: `median ${time(latency.median_ms)}`, value: latency.median_ms },
    { name: '', value: latency.ci95_low_ms, dashed: true, colour: ink().quiet },
    { name: '', value: latency.ci95_high_ms, dashed: true, colour: ink().quiet },
  ].filter((mark) => isNumber(mark.value));
  const facts = factTable(
    [
      ['median', time(latency.median_ms)],
      isNumber(latency.ci95_low_ms) && ['95 % interval', interval(latency.ci95_low_ms, latency.ci95_high_ms)],
      ['minimum', time(latency.min_ms)],
      ['mean', time(latency.mean_ms)],
      isNumber(latency.p90_ms) && ['p90', time(latency.p90_ms)],
      isNumber(latency.p95_ms) && ['p95', time(latency.p95_ms)],
      isNumber(latency.p99_ms) && ['p99', time(latency.p99_ms)],
      ['maximum', time(latency.max_ms)],
      [
        'samples',
        `${whole(samples.length)} of ${latency.runs_per_sample === 1 ? 'one run' : `${latency.runs_per_sample} runs`} each, after ${whole(latency.warmup_runs)} to warm up`,
      ],
      ['verdict', latency.verdict + (latency.unmet ? `: ${latency.unmet}` : '')],
    ],
    'Latency',
  );
  return section(
    'latency',
    'Latency',
    'How run times are distributed, and whether they changed while they were measured.',
    h(
      'div.columns',
      histogram([{ name: 'runs', samples, colour: SERIES[0] }], marks, 'Distribution of run times').element,
      drift(samples, latency.outliers, 'Run times in the order measured').element,
    ),
    h('h3', 'In figures'),
    facts,
    latency.doubts?.length > 0 && [h('h3', 'Warnings about the measurement'), warnings(latency.doubts)],
    extra,
  );
}
