// assay.fit/1: what a model would take on other devices.
import { axis, chart, legend, markLine, tip, tooltip } from '../chart.js';
import { h, shortened } from '../dom.js';
import { bytes, capital, digits, interval, isNumber, modelTitle, percent, plural, time } from '../format.js';
import { card, cards, chip, numberColumn, section, textColumn, verdictSection, warningsSection } from '../parts.js';
import { dataTable } from '../table.js';
import { ink, PALETTE } from '../theme.js';

// Shapes tell verdicts apart without colours too.
const VERDICTS = {
  fits: [PALETTE.green, 'circle'],
  tight: [PALETTE.orange, 'triangle'],
  'does not fit': [PALETTE.vermilion, 'diamond'],
  unknown: ['#8a8a94', 'rect'],
};
const styleOf = (verdict) => VERDICTS[verdict] ?? VERDICTS.unknown;

function counts(devices) {
  const count = (verdict) => devices.filter((device) => device.verdict === verdict).length;
  return { fits: count('fits'), tight: count('tight'), not: count('does not fit'), unknown: count('unknown') };
}

function verdictText(result) {
  const { fits, tight, not, unknown } = counts(result.devices);
  const limits = [
    isNumber(result.limits.max_ms) && time(result.limits.max_ms),
    isNumber(result.limits.max_mb) && `${digits(result.limits.max_mb)} MB`,
    isNumber(result.limits.max_watts) && `${digits(result.limits.max_watts)} W`,
  ].filter(Boolean);
  const best = result.devices
    .filter((device) => device.verdict === 'fits' && isNumber(device.estimate_ms))
    .sort((a, b) => a.estimate_ms - b.estimate_ms)[0];
  return [
    `Of ${plural(result.devices.length, 'device')}, ${modelTitle(result.model.name)} fits ${fits}`,
    limits.length > 0 ? ` within ${limits.join(', ')}` : '',
    `, is tight on ${tight} and does not fit ${not}; for ${unknown} a figure is missing.`,
    ` It needs ${bytes(result.need_bytes)} for weights and activations.`,
    best
      ? ` The fastest that it fits is ${best.name}: about ${time(best.estimate_ms)} (${interval(best.estimate_low_ms, best.estimate_high_ms)}).`
      : '',
    isNumber(result.calibration?.median_error)
      ? ` Estimates rest on a calibration with a median error of ${percent(result.calibration.median_error, 0)}.`
      : '',
  ].join('');
}

function devicesTable(result) {
  return dataTable(
    [
      textColumn('device', (d) => d.name, { isName: true }),
      { title: 'verdict', value: (d) => d.verdict, cell: (d) => chip(d.verdict.toUpperCase()) },
      numberColumn('estimate', (d) => d.estimate_ms, time),
      textColumn('likely range', (d) => interval(d.estimate_low_ms, d.estimate_high_ms)),
      numberColumn('at least', (d) => d.bound_ms, time, { help: 'the least that its bandwidth and peak allow' }),
      textColumn('reason', (d) => d.reason, { isName: true }),
      numberColumn('memory', (d) => d.memory_bytes, bytes),
      numberColumn('watts', (d) => d.power_watts, digits),
      textColumn('precision', (d) => d.precision),
    ],
    result.devices,
    {
      caption: 'Devices',
      search: (d) => `${d.name} ${d.verdict} ${d.reason}`,
      searchHint: 'Search devices',
      filter: { label: 'Every verdict', value: (d) => d.verdict },
    },
  ).element;
}

function latencyChart(result) {
  const known = result.devices
    .filter((device) => isNumber(device.estimate_ms))
    .sort((a, b) => a.estimate_ms - b.estimate_ms);
  if (known.length === 0) return null;
  const verdicts = Object.keys(VERDICTS).filter((verdict) => known.some((device) => device.verdict === verdict));
  const limit = result.limits.max_ms;
  return chart({
    label: 'Estimated latency by device',
    height: 100 + 22 * known.length,
    table: () => devicesTable(result),
    option: (width) => ({
      legend: legend({ data: verdicts, icon: undefined }),
      grid: { left: width < 520 ? 116 : 210, right: width < 520 ? 16 : 50, top: 50, bottom: 46 },
      tooltip: tooltip((item) => {
        const device = known[item.value[1]];
        return tip(device.name, [
          ['estimate', time(device.estimate_ms)],
          ['likely', interval(device.estimate_low_ms, device.estimate_high_ms)],
          ['at least', time(device.bound_ms)],
          ['verdict', device.verdict],
          ['reason', device.reason],
        ]);
      }),
      xAxis: axis('latency, ms, logarithmic', {
        type: 'log',
        min: (value) => value.min / 2,
        axisLabel: { color: ink().quiet, formatter: (v) => digits(v, 1), hideOverlap: true },
      }),
      yAxis: axis('', {
        type: 'category',
        inverse: true,
        data: known.map((device) => shortened(device.name, width < 520 ? 17 : 30)),
        splitLine: { show: false },
        axisLabel: { color: ink().text, interval: 0 },
      }),
      series: [
        {
          type: 'custom',
          silent: true,
          data: known.map((device, i) => [device.estimate_low_ms, device.estimate_high_ms, i]),
          encode: { x: [0, 1], y: 2 },
          renderItem: (_, api) => {
            const [x1, y] = api.coord([api.value(0), api.value(2)]);
            const [x2] = api.coord([api.value(1), api.value(2)]);
            return {
              type: 'line',
              shape: { x1, y1: y, x2, y2: y },
              style: { stroke: ink().quiet, lineWidth: 2, opacity: 0.7 },
            };
          },
        },
        ...verdicts.map((verdict, i) => ({
          type: 'scatter',
          name: verdict,
          symbol: styleOf(verdict)[1],
          symbolSize: 12,
          itemStyle: { color: styleOf(verdict)[0] },
          data: known.map((device, at) => [device.estimate_ms, at]).filter(([, at]) => known[at].verdict === verdict),
          markLine:
            i === 0 && isNumber(limit)
              ? markLine({
                  data: [{ xAxis: limit }],
                  lineStyle: { color: ink().text, type: 'dotted', width: 1.6 },
                  label: { formatter: `limit ${time(limit)}`, color: ink().text, position: 'start' },
                })
              : undefined,
        })),
      ],
    }),
    note:
      known.length < result.devices.length
        ? `${plural(result.devices.length - known.length, 'device')} without an estimate: in the table.`
        : null,
  }).element;
}

export function fitPage(result) {
  const { fits, tight } = counts(result.devices);
  const drawn = latencyChart(result);
  return {
    kind: 'Fit',
    title: modelTitle(result.model.name),
    setting: `batch ${result.batch} · ${result.precision}`,
    sections: [
      verdictSection(
        h('p.verdict', capital(verdictText(result))),
        cards([
          card('Fits', `${fits} of ${result.devices.length}`, `and ${tight} tight`),
          card('Needs', bytes(result.need_bytes), 'weights and activations', 'need_bytes', result.need_bytes),
          card('Weights', bytes(result.weight_bytes), null, 'weight_bytes', result.weight_bytes),
          card('Activations', bytes(result.activation_bytes), null, 'activation_bytes', result.activation_bytes),
          isNumber(result.limits.max_ms) &&
            card('Longest latency', time(result.limits.max_ms), 'allowed', 'limits.max_ms', result.limits.max_ms),
          isNumber(result.calibration?.median_error) &&
            card(
              'Error of estimates',
              percent(result.calibration.median_error, 0),
              `median; 9 of 10 within ${percent(result.calibration.wide_error, 0)}`,
              'calibration.median_error',
              result.calibration.median_error,
            ),
        ]),
      ),
      warningsSection(result.warnings),
      drawn && section('latency', 'Estimated latency', 'Points are estimates, lines the likely range.', drawn),
      section('devices', 'Devices', 'Every device, and why it fits or does not.', devicesTable(result)),
    ],
    facts: [],
  };
}
