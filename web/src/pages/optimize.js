// assay.optimize/1: what a model was before and after, and every version that was tried.
import { axis, chart, legend, markLine, tip, tooltip } from '../chart.js';
import { h } from '../dom.js';
import { change, digits, interval, isNumber, modelTitle, percent, plural, time, timeUnit, whole } from '../format.js';
import {
  card,
  cards,
  chip,
  numberColumn,
  section,
  simpleFacts,
  textColumn,
  verdictSection,
  warnings,
  warningsSection,
} from '../parts.js';
import { dataTable, factTable } from '../table.js';
import { ink, PALETTE, precisionColour } from '../theme.js';

const megabytes = (value) => `${digits(value)} MB`;
const points = (value) => `${digits(value)} ${Math.abs(value) === 1 ? 'point' : 'points'}`;

function targetsOf({ goal }) {
  return [
    isNumber(goal.target_ms) && `at most ${time(goal.target_ms)}`,
    isNumber(goal.target_mb) && `at most ${megabytes(goal.target_mb)}`,
    isNumber(goal.max_loss) && `at most ${points(goal.max_loss)} lost`,
  ].filter(Boolean);
}

function qualityText({ before, after }) {
  if (isNumber(before.accuracy) && isNumber(after.accuracy))
    return `Its accuracy is ${percent(after.accuracy, 2)} instead of ${percent(before.accuracy, 2)}`;
  return `It agrees with the original on ${percent(after.agreement, 2)} of the samples`;
}

function verdictText(result) {
  const { before, after, comparison } = result;
  if (!after) return 'No version is better than the original.';
  const ratio = comparison
    ? ` (${digits(comparison.ratio)} of the time, 95 % interval ${interval(comparison.ci95_low, comparison.ci95_high, digits)})`
    : ` (${change(after.latency_ms / before.latency_ms)})`;
  const targets = targetsOf(result);
  return [
    `The version written, ${after.version}, takes ${time(after.latency_ms)} instead of ${time(before.latency_ms)}${ratio} and stores ${megabytes(after.memory_mb)} instead of ${megabytes(before.memory_mb)}.`,
    ` ${qualityText(result)}, as judged on ${result.judged_on}.`,
    targets.length > 0 ? ` The target was ${targets.join(' and ')}.` : '',
  ].join('');
}

function accuracyCard(name, one, key) {
  if (!isNumber(one.accuracy)) return null;
  const { accuracy_interval: range } = one;
  return card(
    name,
    percent(one.accuracy, 2),
    range && interval(range.ci95_low, range.ci95_high, (v) => percent(v, 2)),
    `${key}.accuracy`,
    one.accuracy,
  );
}

function headline(result) {
  const { before, after, comparison, goal } = result;
  return cards([
    card(
      'Latency, before',
      time(before.latency_ms),
      interval(before.latency_ci95_low_ms, before.latency_ci95_high_ms).replace('–', '') || null,
      'before.latency_ms',
      before.latency_ms,
    ),
    after && card('Latency, after', time(after.latency_ms), after.version, 'after.latency_ms', after.latency_ms),
    comparison &&
      card(
        'After / before',
        digits(comparison.ratio),
        `95 % interval ${interval(comparison.ci95_low, comparison.ci95_high, digits)}`,
        'comparison.ratio',
        comparison.ratio,
      ),
    after &&
      card(
        'Stored',
        megabytes(after.memory_mb),
        `${megabytes(before.memory_mb)} before`,
        'after.memory_mb',
        after.memory_mb,
      ),
    accuracyCard('Accuracy, before', before, 'before'),
    after && accuracyCard('Accuracy, after', after, 'after'),
    after &&
      card(
        'Agreement with the original',
        percent(after.agreement, 2),
        isNumber(after.snr_db) ? `${digits(after.snr_db)} dB signal to noise` : null,
        'after.agreement',
        after.agreement,
      ),
    isNumber(goal.target_ms) && card('Target', time(goal.target_ms), goal.met ? 'met' : 'not met'),
  ]);
}

// As in the terminal's table; results of older versions tell less.
const outcomeOf = (one) => (one.isBefore ? null : (one.outcome ?? (one.meets_target ? 'met' : 'not met')));

// A loss below zero is a version that is better than the original.
function lossRange(tried) {
  const losses = tried.map((one) => one.loss_points);
  const most = Math.max(...losses, 0);
  const least = Math.min(...losses, 0);
  const margin = 0.08 * (most - least || 1);
  return { min: least - margin, max: most + margin };
}

function trailChart(result) {
  const tried = [{ ...result.before, isBefore: true }, ...result.trail].filter(
    (one) => isNumber(one.latency_ms) && isNumber(one.loss_points),
  );
  if (tried.length < 2) return null;
  const precisions = [...new Set(tried.map((one) => one.precision))];
  const [unit, unitName] = timeUnit(Math.min(...tried.map((one) => one.latency_ms)));
  const isChosen = (one) => !one.isBefore && one.version === result.after?.version;
  return chart({
    label: 'Latency and loss of every version tried',
    height: 380,
    table: () => trailTable(result),
    option: () => ({
      legend: legend({ data: precisions }),
      grid: { left: 66, right: 30, top: 52, bottom: 50 },
      tooltip: tooltip(({ data }) =>
        tip(data.one.isBefore ? 'unchanged' : data.one.version, [
          ['latency', time(data.one.latency_ms)],
          ['95 % interval', interval(data.one.latency_ci95_low_ms, data.one.latency_ci95_high_ms)],
          ['loss', points(data.one.loss_points)],
          isNumber(data.one.accuracy) && ['accuracy', percent(data.one.accuracy, 2)],
          ['stored', megabytes(data.one.memory_mb)],
        ]),
      ),
      xAxis: axis(`latency, ${unitName}`, { type: 'value', scale: true, axisLine: { onZero: false } }),
      yAxis: axis('loss, points', {
        type: 'value',
        nameGap: 46,
        ...lossRange(tried),
        axisLabel: {
          color: ink().quiet,
          formatter: (v) => String(+v.toPrecision(3)),
          showMinLabel: false,
          showMaxLabel: false,
        },
      }),
      series: precisions.map((precision, i) => ({
        type: 'scatter',
        name: precision,
        itemStyle: { color: precisionColour(precision) },
        data: tried
          .filter((one) => one.precision === precision)
          .map((one) => ({
            value: [one.latency_ms / unit, one.loss_points],
            one,
            symbolSize: isChosen(one) ? 22 : 12,
            symbol: isChosen(one) ? 'diamond' : one.isBefore ? 'rect' : 'circle',
            label: {
              show: isChosen(one) || one.isBefore === true,
              formatter: one.isBefore ? 'unchanged' : 'written',
              position: one.isBefore ? 'top' : 'bottom',
              color: ink().text,
            },
          })),
        markLine:
          i === 0
            ? markLine({
                lineStyle: { color: ink().text, type: 'dotted', width: 1.6 },
                label: { color: ink().text, formatter: (mark) => mark.name },
                data: [
                  isNumber(result.goal.target_ms) && { name: 'target', xAxis: result.goal.target_ms / unit },
                  isNumber(result.goal.max_loss) && { name: 'largest loss', yAxis: result.goal.max_loss },
                ].filter(Boolean),
              })
            : undefined,
      })),
    }),
    note: 'Diamond: the version written. Square: the original.',
  }).element;
}

function trailTable(result) {
  const hasTarget = targetsOf(result).length > 0;
  const hasErrors = result.trail.some((one) => one.error);
  return dataTable(
    [
      textColumn('version', (one) => one.version, { isName: true }),
      textColumn('precision', (one) => one.precision),
      numberColumn('pruned', (one) => one.prune, percent),
      numberColumn('latency', (one) => one.latency_ms, time),
      textColumn('95 % interval', (one) => interval(one.latency_ci95_low_ms, one.latency_ci95_high_ms)),
      numberColumn('stored, MB', (one) => one.memory_mb, digits),
      numberColumn(
        'accuracy',
        (one) => one.accuracy,
        (v) => percent(v, 2),
      ),
      numberColumn(
        'loss, points',
        (one) => one.loss_points,
        (v) => (isNumber(v) ? v.toFixed(2) : '–'),
      ),
      hasTarget && textColumn('target', outcomeOf),
      hasErrors && textColumn('error', (one) => one.error || null, { isName: true }),
    ].filter(Boolean),
    [{ ...result.before, version: 'unchanged', isBefore: true }, ...result.trail],
    { caption: 'Versions tried', search: result.trail.length > 12 ? (one) => one.version : undefined },
  ).element;
}

function sensitivityChart(list) {
  const sorted = [...list].filter((one) => isNumber(one.snr_db)).sort((a, b) => a.snr_db - b.snr_db);
  const shown = sorted.slice(0, 30);
  const table = () =>
    dataTable(
      [
        textColumn('layer', (one) => one.layer, { isName: true }),
        textColumn('op', (one) => one.op),
        numberColumn('signal to noise, dB', (one) => one.snr_db, digits),
        numberColumn(
          'agreement',
          (one) => one.agreement,
          (v) => percent(v, 2),
        ),
        numberColumn('mean squared error', (one) => one.mean_squared_error, digits),
      ],
      list,
      { caption: 'Sensitivity', sort: [2, false], search: (one) => `${one.layer} ${one.op}` },
    ).element;
  if (shown.length === 0) return table();
  return chart({
    label: 'Signal to noise with int8 in one layer alone',
    height: 66 + 24 * shown.length,
    table,
    option: (width) => ({
      grid: { left: width < 520 ? 110 : 220, right: 60, top: 6, bottom: 46 },
      tooltip: tooltip((item) => {
        const one = shown[item.dataIndex];
        return tip(one.layer, [
          ['op', one.op],
          ['signal to noise', `${digits(one.snr_db)} dB`],
          ['agreement', percent(one.agreement, 2)],
        ]);
      }),
      xAxis: axis('signal to noise, dB', { type: 'value' }),
      yAxis: axis('', {
        type: 'category',
        inverse: true,
        data: shown.map((one) => one.layer),
        splitLine: { show: false },
        axisLabel: { color: ink().text, interval: 0, width: width < 520 ? 100 : 210, overflow: 'truncate' },
      }),
      series: [
        {
          type: 'bar',
          barMaxWidth: 15,
          itemStyle: { color: PALETTE.blue },
          label: { show: true, position: 'right', color: ink().text, formatter: (item) => digits(item.value) },
          data: shown.map((one) => one.snr_db),
        },
      ],
    }),
    note: sorted.length > shown.length ? `The ${shown.length} most sensitive of ${whole(sorted.length)} layers.` : null,
  }).element;
}

export function optimizePage(result) {
  const { after } = result;
  const verdict = targetsOf(result).length > 0 ? (result.goal.met ? 'MET' : 'NOT MET') : result.comparison?.verdict;
  return {
    kind: 'Optimization',
    title: modelTitle(result.model.name),
    setting: `batch ${result.batch} · ${plural(result.threads, 'thread')}`,
    sections: [
      verdictSection(h('p.verdict', verdict && chip(verdict), verdictText(result)), headline(result)),
      warningsSection(result.warnings),
      section(
        'trail',
        'Versions tried',
        'Further left is faster, further down loses less.',
        trailChart(result),
        h('h3', 'In figures'),
        trailTable(result),
        after?.notes?.length > 0 && [h('h3', `About ${after.version}`), warnings(after.notes)],
      ),
      result.sensitivity?.length > 0 &&
        section(
          'sensitivity',
          'Sensitivity',
          'What int8 in each layer alone loses: the lower a bar, the more.',
          sensitivityChart(result.sensitivity),
        ),
      section('choices', 'Choices', 'How versions were made.', factTable(simpleFacts(result.choices ?? {}), 'Choices')),
    ],
    facts: [
      ['written', result.written?.path],
      ['SHA-256 of what was written', result.written?.sha256],
      ['judged on', result.judged_on],
      ['calibrated on', result.calibrated_on],
    ],
  };
}
