// assay.stream/1: a model that is fed at a fixed interval.
import { axis, chart, markLine, tip, tooltip } from '../chart.js';
import { h, shortened } from '../dom.js';
import {
  bytes,
  capital,
  digits,
  interval,
  isNumber,
  modelTitle,
  percent,
  plural,
  rate,
  time,
  timeUnit,
  whole,
} from '../format.js';
import {
  card,
  cards,
  chip,
  colourKey,
  genericTable,
  numberColumn,
  section,
  simpleFacts,
  textColumn,
  verdictSection,
  warningsSection,
} from '../parts.js';
import { dataTable, factTable } from '../table.js';
import { boundColour, boundName, ink, PALETTE } from '../theme.js';

const sentence = (text) => (text ? `${capital(text)}.` : '');

// What was measured comes first; a lower bound alone does not tell whether it keeps up.
function judgement(result) {
  const { measured, forecast, shortest_interval: shortest } = result;
  if (measured) return [measured.verdict, sentence(measured.reason)];
  if (shortest)
    return [
      null,
      `The shortest interval that it keeps up with is ${time(shortest.interval_ms)}${shortest.confirmed ? '' : ', not confirmed'}.`,
    ];
  return [forecast?.verdict, sentence(forecast?.reason)];
}

// Without a calibration the figures of operators are what the machine's ceilings allow at best.
const basisOf = ({ forecast }) => (forecast && forecast.basis !== 'lower bound' ? 'estimate' : 'lower bound');

const operatorName = (one) => one.label ?? one.operator;
// A sentence with the names that the charts have.
const withLabels = (text, operators) =>
  operators.reduce((now, one) => (one.label ? now.replace(one.operator, () => one.label) : now), text);
const mostSlow = (list) => [...list].sort((a, b) => b.latency_ms - a.latency_ms);

function verdictText(result) {
  const { totals, options, edge_constraints: edge } = result;
  const [, text] = judgement(result);
  return [
    text,
    ` The ${basisOf(result)} of a run is ${time(totals.latency_ms)}, ${percent(totals.stream_utilization_uncapped)} of the ${time(options.stream_interval_ms)} between arrivals.`,
    edge?.bottleneck ? ` ${withLabels(edge.bottleneck, result.operator_profile)}` : '',
  ].join('');
}

function headline(result) {
  const { totals, measured, forecast, shortest_interval: shortest } = result;
  return cards([
    card('Interval', time(result.options.stream_interval_ms), `batch ${result.options.batch}`),
    measured &&
      card(
        'Response, median',
        time(measured.response?.median_ms),
        `p95 ${time(measured.response?.p95_ms)}, longest ${time(measured.response?.max_ms)}`,
        'measured.response.median_ms',
        measured.response?.median_ms,
      ),
    measured &&
      card(
        'Utilization, measured',
        percent(measured.utilization),
        `${whole(measured.served)} of ${whole(measured.arrived)} served`,
        'measured.utilization',
        measured.utilization,
      ),
    measured &&
      card(
        'Missed deadlines',
        percent(measured.missed_share),
        `${whole(measured.missed_deadlines)} later than ${time(measured.deadline_ms)}`,
        'measured.missed_share',
        measured.missed_share,
      ),
    shortest &&
      card(
        'Shortest interval',
        time(shortest.interval_ms),
        shortest.confirmed ? 'confirmed' : 'not confirmed',
        'shortest_interval.interval_ms',
        shortest.interval_ms,
      ),
    card(
      `${capital(basisOf(result))} of a run`,
      time(totals.latency_ms),
      isNumber(forecast?.latency_low_ms)
        ? `likely ${interval(forecast.latency_low_ms, forecast.latency_high_ms)}`
        : 'from this machine’s ceilings',
      'totals.latency_ms',
      totals.latency_ms,
    ),
    card(
      `Utilization, ${basisOf(result)}`,
      percent(totals.stream_utilization_uncapped),
      null,
      'totals.stream_utilization_uncapped',
      totals.stream_utilization_uncapped,
    ),
    card(
      'Memory',
      bytes(result.stored_bytes + result.activation_bytes),
      `${bytes(result.stored_bytes)} stored, ${bytes(result.activation_bytes)} activations`,
    ),
  ]);
}

function operatorTable(result) {
  return dataTable(
    [
      textColumn('operator', operatorName, { isName: true }),
      numberColumn(basisOf(result), (o) => o.latency_ms, time),
      numberColumn('memory', (o) => 1024 * o.memory_kb, bytes),
      textColumn('limited by', (o) =>
        o.bound ? `${boundName(o.bound)}${o.bound_level ? ` (${o.bound_level})` : ''}` : null,
      ),
      textColumn('fused', (o) => (o.fused ?? []).join(', ') || null, { isName: true }),
    ],
    result.operator_profile,
    { caption: 'Operators', sort: [1, true], search: (o) => o.operator },
  ).element;
}

function operatorsSection(result) {
  const top = mostSlow(result.operator_profile.filter((one) => isNumber(one.latency_ms))).slice(0, 25);
  if (top.length === 0) return null;
  const [unit, unitName] = timeUnit(top[0].latency_ms);
  const bounds = [...new Set(top.map((o) => o.bound))];
  return section(
    'operators',
    'Operators',
    `The ${plural(top.length, 'operator')} that take longest, by ${basisOf(result)}.`,
    chart({
      label: 'Latency by operator',
      height: 70 + 24 * top.length,
      table: () => operatorTable(result),
      option: (width) => ({
        grid: { left: width < 520 ? 116 : 220, right: 30, top: 6, bottom: 46 },
        tooltip: tooltip((item) => {
          const o = top[item.dataIndex];
          return tip(operatorName(o), [
            [basisOf(result), time(o.latency_ms)],
            ['memory', bytes(1024 * o.memory_kb)],
            ['limited by', boundName(o.bound)],
          ]);
        }),
        xAxis: axis(`${basisOf(result)}, ${unitName}`, { type: 'value' }),
        yAxis: axis('', {
          type: 'category',
          inverse: true,
          data: top.map((o) => shortened(operatorName(o), width < 520 ? 16 : 32)),
          splitLine: { show: false },
          axisLabel: { color: ink().text, interval: 0 },
        }),
        series: [
          {
            type: 'bar',
            barMaxWidth: 15,
            data: top.map((o) => ({ value: o.latency_ms / unit, itemStyle: { color: boundColour(o.bound) } })),
          },
        ],
      }),
    }).element,
    h('p.note', 'Limited by:'),
    colourKey(bounds.map((bound) => [boundColour(bound), boundName(bound)])),
  );
}

const PARTS = [
  ['service', 'service: the run itself'],
  ['queueing', 'queueing: from arrival to start'],
  ['response', 'response: from arrival to result'],
];

function measuredSection(measured) {
  if (!measured) return null;
  const parts = PARTS.filter(([key]) => measured[key]).map(([key, name]) => ({ name, ...measured[key] }));
  const quantiles = [
    ['mean', 'mean_ms'],
    ['median', 'median_ms'],
    ['p90', 'p90_ms'],
    ['p95', 'p95_ms'],
    ['p99', 'p99_ms'],
    ['longest', 'max_ms'],
  ].filter(([, key]) => parts.some((part) => isNumber(part[key])));
  return section(
    'measured',
    'Measured',
    `${whole(measured.arrived)} items arrived every ${time(measured.interval_ms)} on a real clock.`,
    dataTable(
      [
        textColumn('time', (part) => part.name, { isName: true }),
        ...quantiles.map(([title, key]) => numberColumn(title, (part) => part[key], time)),
      ],
      parts,
      { caption: 'Times of an item' },
    ).element,
    h('h3', 'In figures'),
    factTable(simpleFacts(measured), 'Measured'),
  );
}

function probesSection(shortest) {
  if (!shortest?.probes?.length) return null;
  const { probes } = shortest;
  const table = () => genericTable(probes, 'Intervals tried');
  const [unit, unitName] = timeUnit(shortest.interval_ms);
  return section(
    'probes',
    'Shortest interval',
    `${plural(probes.length, 'interval')} tried. Above 100 % of utilization a queue grows without end.`,
    chart({
      label: 'Utilization at every interval that was tried',
      height: 320,
      table,
      option: () => ({
        grid: { left: 64, right: 24, top: 26, bottom: 50 },
        tooltip: tooltip((item) => {
          const probe = probes[item.dataIndex];
          return tip(time(probe.interval_ms), [
            ['verdict', probe.verdict],
            ['utilization', percent(probe.utilization)],
            ['missed deadlines', percent(probe.missed_share)],
          ]);
        }),
        xAxis: axis(`interval, ${unitName}`, {
          type: 'value',
          scale: true,
          axisLabel: { color: ink().quiet, formatter: (v) => digits(v) },
        }),
        yAxis: axis('utilization, %', { type: 'value', scale: true, nameGap: 44 }),
        series: [
          {
            type: 'scatter',
            data: probes.map((probe) => ({
              value: [probe.interval_ms / unit, 100 * probe.utilization],
              symbol: probe.sustainable ? 'circle' : 'diamond',
              symbolSize: probe.sustainable ? 12 : 15,
              itemStyle: { color: probe.sustainable ? PALETTE.green : PALETTE.vermilion },
            })),
            markLine: markLine({
              data: [{ xAxis: shortest.interval_ms / unit }],
              lineStyle: { color: ink().text, type: 'dotted', width: 1.6 },
              label: { formatter: time(shortest.interval_ms), color: ink().text },
            }),
          },
        ],
      }),
      note: 'Circle: keeps up. Diamond: overloaded. Dotted: the shortest interval found.',
    }).element,
  );
}

function deploymentSection(deployment) {
  if (!deployment) return null;
  const times = deployment.batch_throughput_sps / deployment.stream_throughput_sps;
  return section(
    'deployment',
    'Batch or one by one',
    `A batch of ${deployment.batch} at once serves ${digits(times)} times as many samples a second as one by one, but the first sample waits for the last.`,
    dataTable(
      [
        textColumn('mode', (row) => row.mode, { isName: true }),
        numberColumn('latency', (row) => row.latency, time),
        numberColumn('samples a second', (row) => row.throughput, rate),
      ],
      [
        {
          mode: `batch of ${deployment.batch}`,
          latency: deployment.batch_latency_ms,
          throughput: deployment.batch_throughput_sps,
        },
        {
          mode: 'one sample at a time',
          latency: deployment.stream_avg_latency_ms,
          throughput: deployment.stream_throughput_sps,
        },
      ],
      { caption: 'Batch or one by one' },
    ).element,
  );
}

function constraintsSection(result) {
  const { precision_tradeoffs: precision, edge_constraints: edge } = result;
  if (!precision && !edge) return null;
  return section(
    'constraints',
    'Caches and precision',
    null,
    edge?.cache_sensitivity && h('p', edge.cache_sensitivity),
    precision &&
      factTable(
        ['fp32', 'fp16', 'int8']
          .filter((name) => isNumber(precision[`${name}_memory_kb`]))
          .map((name) => [`bytes moved in ${name}`, bytes(1024 * precision[`${name}_memory_kb`])]),
        'Bytes by precision',
      ),
    precision?.note && h('p.note', precision.note),
  );
}

export function streamPage(result) {
  const [verdict] = judgement(result);
  return {
    kind: 'Stream',
    title: modelTitle(result.model.name),
    setting: `every ${time(result.options.stream_interval_ms)} · batch ${result.options.batch} · ${plural(result.options.threads, 'thread')}`,
    sections: [
      verdictSection(h('p.verdict', verdict && chip(verdict), verdictText(result)), headline(result)),
      warningsSection(result.warnings),
      measuredSection(result.measured),
      probesSection(result.shortest_interval),
      operatorsSection(result),
      deploymentSection(result.deployment),
      constraintsSection(result),
    ],
    facts: [],
  };
}
