// What the arena holds at every step, and which tensors are alive at the peak.
import { axis, chart, legend, markLine, tip, tooltip } from './chart.js';
import { h, shortened } from './dom.js';
import { bytes, percent, plural, whole } from './format.js';
import { labelsByName, tensorLabel } from './layers.js';
import { numberColumn, section, textColumn } from './parts.js';
import { dataTable } from './table.js';
import { ink, SERIES } from './theme.js';

const MOST_COLUMNS = 600;

function scheduleOf(buffers, steps) {
  const change = new Float64Array(steps + 1);
  for (const buffer of buffers) {
    if (buffer.first_step >= steps) continue;
    change[buffer.first_step] += buffer.bytes;
    change[Math.min(buffer.last_step + 1, steps)] -= buffer.bytes;
  }
  const live = new Float64Array(steps);
  let now = 0;
  for (let i = 0; i < steps; ++i) live[i] = now += change[i];
  let peak = 0;
  live.forEach((value, i) => {
    if (value > live[peak]) peak = i;
  });
  const atPeak = buffers
    .filter((buffer) => buffer.bytes > 0 && buffer.first_step <= peak && peak <= buffer.last_step)
    .sort((a, b) => b.bytes - a.bytes);
  return { live, peak, atPeak };
}

// Of many steps that share a column, the one with the most alive.
function columnsOf(live) {
  const per = Math.ceil(live.length / MOST_COLUMNS);
  const columns = [];
  for (let first = 0; first < live.length; first += per) {
    let most = first;
    for (let i = first; i < Math.min(first + per, live.length); ++i) if (live[i] > live[most]) most = i;
    columns.push(most);
  }
  return columns;
}

// A power of two, at most six of which make up the range.
export function byteStep(range) {
  let step = 1;
  while (step * 6 < range) step *= 2;
  return step;
}

export const peakMark = (column, amount) =>
  markLine({
    lineStyle: { color: ink().text, type: 'dashed', width: 1 },
    data: [{ xAxis: column }],
    label: { formatter: `peak ${bytes(amount)}`, color: ink().text, fontSize: 11.5 },
  });

const isAlive = (buffer, step) => buffer.first_step <= step && step <= buffer.last_step;

// steps: the name of each; lead: a sentence about weights and what was allocated.
export function memorySection({ buffers, steps, layers, lead }) {
  if (!buffers || buffers.length === 0 || steps.length === 0) return null;
  const labels = labelsByName(layers);
  const nameOf = (buffer) => tensorLabel(buffer.name, labels);
  const stepName = (i) => labels.get(steps[i]) ?? steps[i];
  const schedule = scheduleOf(buffers, steps.length);
  const columns = columnsOf(schedule.live);
  const coloured = schedule.atPeak.slice(0, SERIES.length);
  const order = coloured.map((_, i) => i).sort((a, b) => coloured[a].first_step - coloured[b].first_step);
  const option = () => {
    const area = (name, colour, values) => ({
      type: 'line',
      name,
      stack: 'live',
      step: 'middle',
      symbol: 'none',
      lineStyle: { width: 0 },
      areaStyle: { color: colour, opacity: 1 },
      itemStyle: { color: colour },
      data: values,
    });
    const legendName = (i) => `${i + 1}: ${shortened(nameOf(coloured[i]), 34)}`;
    const named = order.map((i) =>
      area(
        legendName(i),
        SERIES[i],
        columns.map((step) => (isAlive(coloured[i], step) ? coloured[i].bytes : 0)),
      ),
    );
    const rest = columns.map(
      (step) =>
        schedule.live[step] - coloured.reduce((sum, buffer) => sum + (isAlive(buffer, step) ? buffer.bytes : 0), 0),
    );
    const peakColumn = columns.indexOf(schedule.peak);
    const others = area('others', ink().other, rest);
    others.markLine = peakMark(peakColumn, schedule.live[schedule.peak]);
    return {
      legend: legend({ data: [...coloured.map((_, i) => legendName(i)), 'others'], icon: 'roundRect' }),
      grid: { left: 76, right: 24, top: 56, bottom: 48 },
      tooltip: tooltip(
        (items) => {
          const step = columns[items[0].dataIndex];
          const alive = buffers.filter((buffer) => isAlive(buffer, step)).sort((a, b) => b.bytes - a.bytes);
          return tip(`step ${step}: ${shortened(stepName(step), 60)}`, [
            ['alive', bytes(schedule.live[step])],
            ...alive.slice(0, 6).map((buffer) => [shortened(nameOf(buffer), 30), bytes(buffer.bytes)]),
            alive.length > 6 && [`${alive.length - 6} more`, ''],
          ]);
        },
        { trigger: 'axis' },
      ),
      xAxis: axis('step, in the order of execution', {
        type: 'category',
        boundaryGap: false,
        data: columns.map(String),
        splitLine: { show: false },
        axisLabel: { color: ink().quiet },
      }),
      yAxis: axis('', {
        type: 'value',
        interval: byteStep(schedule.live[schedule.peak] * 1.08),
        max: schedule.live[schedule.peak] * 1.08,
        axisLabel: { color: ink().quiet, formatter: (value) => bytes(value), showMaxLabel: false },
      }),
      series: [...named, others],
    };
  };
  const alive = dataTable(
    [
      textColumn('tensor', nameOf, { isName: true }),
      numberColumn('bytes', (b) => b.bytes, bytes),
      numberColumn('share of the peak', (b) => b.bytes / schedule.live[schedule.peak], percent),
      numberColumn('first step', (b) => b.first_step, whole),
      numberColumn('last step', (b) => b.last_step, whole),
    ],
    schedule.atPeak,
    { caption: 'Tensors alive at the peak', sort: [1, true] },
  ).element;
  const table = () =>
    dataTable(
      [
        numberColumn('step', (i) => i, whole),
        textColumn('layer', stepName, { isName: true }),
        numberColumn('alive', (i) => schedule.live[i], bytes),
        numberColumn('tensors', (i) => buffers.filter((buffer) => isAlive(buffer, i)).length, whole),
      ],
      steps.map((_, i) => i),
      { caption: 'Memory by step', search: stepName },
    ).element;
  const drawn = chart({
    label: 'Memory of one inference over its schedule',
    option,
    table,
    height: 380,
    renderer: 'canvas',
  });
  return section(
    'memory',
    'Memory over one inference',
    `At most ${bytes(schedule.live[schedule.peak])} of activations are alive at once, at step ${schedule.peak}, ${shortened(stepName(schedule.peak), 80)}. ${lead ?? ''}`,
    drawn.element,
    h('h3', `Alive at the peak: ${plural(schedule.atPeak.length, 'tensor')}`),
    alive,
  );
}
