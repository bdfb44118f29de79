// assay.optimize/1, assay.fit/1, assay.stream/1, and any other result as tables.
import { axis, chart, legend, tip, tooltip } from '../chart.js';
import { h, shortened } from '../dom.js';
import { bytes, change, digits, interval, isNumber, modelTitle, percent, si, time, whole, words } from '../format.js';
import { card, cards, chip, genericTable, numberColumn, section, textColumn, warningsSection } from '../parts.js';
import { dataTable, factTable } from '../table.js';
import { boundColour, boundName, ink, PALETTE, precisionColour } from '../theme.js';

const verdict = (...content) => h('section.plain', { id: 'verdict', 'aria-label': 'Verdict' }, content);

// --- optimize

function trailChart(result) {
  const tried = [{ ...result.before, isBefore: true }, ...result.trail].filter(
    (one) => isNumber(one.latency_ms) && isNumber(one.loss_points),
  );
  if (tried.length < 2) return null;
  const precisions = [...new Set(tried.map((one) => one.precision))];
  return chart({
    label: 'Latency and loss of every version tried',
    height: 380,
    table: () => trailTable(result),
    option: () => ({
      legend: legend({ data: precisions }),
      grid: { left: 60, right: 24, top: 42, bottom: 50 },
      tooltip: tooltip(({ data }) =>
        tip(data.one.isBefore ? 'unchanged' : data.one.version, [
          ['latency', time(data.one.latency_ms)],
          ['loss', `${digits(data.one.loss_points)} points`],
          ['memory', `${digits(data.one.memory_mb)} MB`],
        ]),
      ),
      xAxis: axis('latency, ms', { type: 'value', scale: true }),
      yAxis: axis('loss, points', { type: 'value', nameGap: 40 }),
      series: precisions.map((precision, i) => ({
        type: 'scatter',
        name: precision,
        itemStyle: { color: precisionColour(precision) },
        data: tried
          .filter((one) => one.precision === precision)
          .map((one) => ({
            value: [one.latency_ms, one.loss_points],
            one,
            symbolSize: one.version === result.after?.version ? 22 : 12,
            symbol: one.version === result.after?.version ? 'diamond' : 'circle',
          })),
        markLine:
          i === 0
            ? {
                symbol: 'none',
                silent: true,
                lineStyle: { color: ink().text, type: 'dotted' },
                label: { color: ink().text, formatter: (mark) => mark.name },
                data: [
                  isNumber(result.goal.target_ms) && { name: 'target', xAxis: result.goal.target_ms },
                  isNumber(result.goal.max_loss) && { name: 'largest loss', yAxis: result.goal.max_loss },
                ].filter(Boolean),
              }
            : undefined,
      })),
    }),
  }).element;
}

function trailTable(result) {
  return dataTable(
    [
      textColumn('version', (one) => one.version, { isName: true }),
      textColumn('precision', (one) => one.precision),
      numberColumn('pruned', (one) => one.prune, percent),
      numberColumn('latency', (one) => one.latency_ms, time),
      textColumn('95 % interval', (one) => interval(one.latency_ci95_low_ms, one.latency_ci95_high_ms)),
      numberColumn('memory, MB', (one) => one.memory_mb, digits),
      numberColumn('loss, points', (one) => one.loss_points, digits),
      textColumn('target', (one) => (one.meets_target ? 'met' : 'not met')),
      textColumn('error', (one) => one.error || null, { isName: true }),
    ],
    result.trail,
    { caption: 'Versions tried', search: (one) => one.version },
  ).element;
}

export function optimizePage(result) {
  const { before, after } = result;
  return {
    kind: 'Optimization',
    title: modelTitle(result.model.name),
    setting: `batch ${result.batch} · ${result.threads} threads`,
    sections: [
      verdict(
        h(
          'p.verdict',
          chip(result.goal.met ? 'MET' : 'NOT MET'),
          after
            ? `${after.version}: ${time(after.latency_ms)} instead of ${time(before.latency_ms)} (${change(after.latency_ms / before.latency_ms)}), ${digits(after.memory_mb)} instead of ${digits(before.memory_mb)} MB, ${digits(after.loss_points)} points lost.`
            : 'No version is better than the original.',
        ),
        cards([
          card(
            'Before',
            time(before.latency_ms),
            `${digits(before.memory_mb)} MB`,
            'before.latency_ms',
            before.latency_ms,
          ),
          after &&
            card(
              'After',
              time(after.latency_ms),
              `${digits(after.memory_mb)} MB`,
              'after.latency_ms',
              after.latency_ms,
            ),
          after &&
            card(
              'Agreement',
              percent(after.agreement, 2),
              isNumber(after.snr_db) ? `${digits(after.snr_db)} dB` : null,
              'after.agreement',
              after.agreement,
            ),
          card('Tried', whole(result.trail.length), 'versions'),
        ]),
      ),
      warningsSection(result.warnings),
      section(
        'trail',
        'Versions tried',
        'Further left is faster, further down loses less; the diamond is the one written.',
        trailChart(result),
        h('h3', 'In figures'),
        trailTable(result),
      ),
      result.sensitivities?.length > 0 &&
        section(
          'sensitivity',
          'Sensitivity',
          'What int8 in each layer alone loses.',
          genericTable(result.sensitivities, 'Sensitivity'),
        ),
    ],
    facts: [
      ['written', result.written?.path],
      ['SHA-256', result.written?.sha256],
      ['judged on', result.judged_on],
      ['calibrated on', result.calibrated_on],
    ],
  };
}

// --- fit

export function fitPage(result) {
  const known = result.devices
    .filter((device) => isNumber(device.estimate_ms))
    .sort((a, b) => a.estimate_ms - b.estimate_ms);
  const fits = result.devices.filter((device) => /^fits|^tight/i.test(device.verdict)).length;
  const tone = (device) =>
    /^fits/i.test(device.verdict) ? PALETTE.green : /^tight/i.test(device.verdict) ? PALETTE.orange : PALETTE.vermilion;
  const table = () =>
    dataTable(
      [
        textColumn('device', (d) => d.name, { isName: true }),
        { title: 'verdict', value: (d) => d.verdict, cell: (d) => chip(d.verdict.toUpperCase()) },
        numberColumn('estimate', (d) => d.estimate_ms, time),
        textColumn('likely range', (d) => interval(d.estimate_low_ms, d.estimate_high_ms)),
        numberColumn('at least', (d) => d.bound_ms, time),
        numberColumn('memory', (d) => d.memory_bytes, bytes),
        numberColumn('watts', (d) => d.power_watts, digits),
        textColumn('precision', (d) => d.precision),
        textColumn('reason', (d) => d.reason, { isName: true }),
      ],
      result.devices,
      {
        caption: 'Devices',
        search: (d) => `${d.name} ${d.verdict} ${d.reason}`,
        searchHint: 'Search devices',
        filter: { label: 'Every verdict', value: (d) => d.verdict },
      },
    ).element;
  const drawn =
    known.length > 0 &&
    chart({
      label: 'Estimated latency by device',
      height: 70 + 22 * known.length,
      table,
      option: (width) => ({
        grid: { left: width < 520 ? 120 : 210, right: 70, top: 6, bottom: 46 },
        tooltip: tooltip((item) => {
          const d = known[item.dataIndex];
          return tip(d.name, [
            ['estimate', time(d.estimate_ms)],
            ['likely', interval(d.estimate_low_ms, d.estimate_high_ms)],
            ['at least', time(d.bound_ms)],
            ['verdict', d.verdict],
            ['reason', d.reason],
          ]);
        }),
        xAxis: axis('ms, logarithmic', {
          type: 'log',
          min: (value) => value.min / 2,
          axisLabel: { color: ink().quiet, formatter: (v) => digits(v, 1) },
        }),
        yAxis: axis('', {
          type: 'category',
          inverse: true,
          data: known.map((d) => shortened(d.name, width < 520 ? 17 : 30)),
          splitLine: { show: false },
          axisLabel: { color: ink().text, interval: 0, fontSize: 11 },
        }),
        series: [
          {
            type: 'scatter',
            symbolSize: 11,
            data: known.map((d, i) => ({ value: [d.estimate_ms, i], itemStyle: { color: tone(d) } })),
            markLine: isNumber(result.limits.max_ms)
              ? {
                  symbol: 'none',
                  silent: true,
                  data: [{ xAxis: result.limits.max_ms }],
                  lineStyle: { color: ink().text, type: 'dotted' },
                  label: { formatter: 'limit', color: ink().text },
                }
              : undefined,
          },
          {
            type: 'custom',
            silent: true,
            data: known.map((d, i) => [d.estimate_low_ms, d.estimate_high_ms, i]),
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
        ],
      }),
    });
  return {
    kind: 'Fit',
    title: modelTitle(result.model.name),
    setting: `batch ${result.batch} · ${result.precision}`,
    sections: [
      verdict(
        h(
          'p.verdict',
          `${modelTitle(result.model.name)} fits ${fits} of ${result.devices.length} devices. It needs ${bytes(result.need_bytes)}. Estimates stand on a calibration whose median error is ${percent(result.calibration.median_error, 0)}.`,
        ),
        cards([
          card('Weights', bytes(result.weight_bytes), null, 'weight_bytes', result.weight_bytes),
          card('Activations', bytes(result.activation_bytes), null, 'activation_bytes', result.activation_bytes),
          card('Fits', `${fits} of ${result.devices.length}`),
          isNumber(result.limits.max_ms) && card('Limit', time(result.limits.max_ms), 'latency'),
        ]),
      ),
      warningsSection(result.warnings),
      drawn &&
        section('latency', 'Estimated latency', 'Points are estimates, lines the range that is likely.', drawn.element),
      section('devices', 'Devices', null, table()),
    ],
    facts: [['provenance', result.provenance]],
  };
}

// --- stream

export function streamPage(result) {
  const operators = result.operator_profile.filter((one) => isNumber(one.latency_ms));
  const top = [...operators].sort((a, b) => b.latency_ms - a.latency_ms).slice(0, 25);
  const table = () =>
    dataTable(
      [
        textColumn('operator', (o) => o.operator, { isName: true }),
        numberColumn('latency', (o) => o.latency_ms, time),
        numberColumn('memory', (o) => 1024 * o.memory_kb, bytes),
        textColumn('limited by', (o) => (o.bound ? boundName(o.bound) : null)),
        textColumn('fused', (o) => (o.fused ?? []).join(', ') || null, { isName: true }),
      ],
      result.operator_profile,
      { caption: 'Operators', sort: [1, true], search: (o) => o.operator },
    ).element;
  const { totals, measured } = result;
  const keeps = totals.stream_utilization_uncapped <= 1;
  return {
    kind: 'Stream',
    title: modelTitle(result.model.name),
    setting: `every ${time(result.options.stream_interval_ms)} · batch ${result.options.batch} · ${result.options.threads ?? '–'} threads`,
    sections: [
      verdict(
        h(
          'p.verdict',
          measured && chip(measured.verdict),
          measured?.reason ? `${measured.reason}. ` : '',
          `Estimated, a sample takes ${time(totals.latency_ms)} of the ${time(result.options.stream_interval_ms)} between arrivals: ${percent(totals.stream_utilization_uncapped ?? totals.stream_utilization)}, so it ${keeps ? 'keeps up' : 'does not keep up'}.`,
        ),
        cards([
          card('Estimated latency', time(totals.latency_ms), null, 'totals.latency_ms', totals.latency_ms),
          card('Interval', time(result.options.stream_interval_ms)),
          card(
            'Utilization',
            percent(totals.stream_utilization_uncapped ?? totals.stream_utilization),
            'estimated',
            'totals.stream_utilization',
            totals.stream_utilization,
          ),
          measured &&
            card(
              'Measured utilization',
              percent(measured.utilization),
              `${whole(measured.served)} of ${whole(measured.arrived)} served`,
              'measured.utilization',
              measured.utilization,
            ),
          measured &&
            card(
              'Response, median',
              time(measured.response?.median_ms),
              isNumber(measured.response?.p99_ms ?? measured.response?.p90_ms)
                ? `p90 ${time(measured.response.p90_ms)}`
                : null,
            ),
          measured &&
            card('Missed deadlines', percent(measured.missed_share), `deadline ${time(measured.deadline_ms)}`),
          result.shortest_interval &&
            card(
              'Shortest interval',
              time(result.shortest_interval.interval_ms),
              result.shortest_interval.confirmed ? 'confirmed' : 'not confirmed',
            ),
        ]),
      ),
      warningsSection(result.warnings),
      top.length > 0 &&
        section(
          'operators',
          'Operators',
          'The slowest, as estimated.',
          chart({
            label: 'Latency by operator',
            height: 70 + 24 * top.length,
            table,
            option: (width) => ({
              grid: { left: width < 520 ? 120 : 220, right: 70, top: 6, bottom: 44 },
              tooltip: tooltip((item) => {
                const o = top[item.dataIndex];
                return tip(o.operator, [
                  ['latency', time(o.latency_ms)],
                  ['memory', bytes(1024 * o.memory_kb)],
                  ['limited by', boundName(o.bound)],
                ]);
              }),
              xAxis: axis('ms', { type: 'value' }),
              yAxis: axis('', {
                type: 'category',
                inverse: true,
                data: top.map((o) => shortened(o.operator, width < 520 ? 17 : 32)),
                splitLine: { show: false },
                axisLabel: { color: ink().text, interval: 0 },
              }),
              series: [
                {
                  type: 'bar',
                  barMaxWidth: 15,
                  data: top.map((o) => ({ value: o.latency_ms, itemStyle: { color: boundColour(o.bound) } })),
                },
              ],
            }),
          }).element,
        ),
      measured &&
        section(
          'measured',
          'Measured',
          null,
          factTable(
            Object.entries(measured)
              .filter(([, value]) => typeof value !== 'object' || value === null)
              .map(([key, value]) => [words(key), String(value ?? '–')]),
            'Measured',
          ),
        ),
      result.shortest_interval?.probes &&
        section(
          'probes',
          'Shortest interval',
          'Intervals that were tried.',
          genericTable(result.shortest_interval.probes, 'Intervals tried'),
        ),
      result.deployment &&
        section('deployment', 'Batch or one by one', null, genericTable([result.deployment], 'Deployment')),
    ],
    facts: [['provenance', result.provenance]],
  };
}

// --- anything else

function value(content) {
  if (content === null || content === undefined) return '–';
  if (Array.isArray(content)) {
    if (content.length > 0 && content.every((item) => item && typeof item === 'object' && !Array.isArray(item)))
      return genericTable(content, 'list');
    return content.length > 40
      ? `${content.slice(0, 40).join(', ')} … (${content.length} in all)`
      : content.map((item) => (typeof item === 'object' ? JSON.stringify(item) : String(item))).join(', ') || '–';
  }
  if (typeof content === 'object')
    return factTable(
      Object.entries(content).map(([key, inner]) => [words(key), value(inner)]),
      'details',
    );
  return typeof content === 'number' ? (Number.isInteger(content) ? si(content) : digits(content, 5)) : String(content);
}

export function genericPage(result) {
  const simple = Object.entries(result).filter(
    ([key, content]) => key !== 'schema' && (content === null || typeof content !== 'object'),
  );
  const complex = Object.entries(result).filter(
    ([, content]) => content !== null && typeof content === 'object' && Object.keys(content).length > 0,
  );
  const name = typeof result.model === 'string' ? result.model : result.model?.name;
  return {
    kind: result.schema
      .replace(/^assay\./, '')
      .replace(/\/\d+$/, '')
      .replace(/[_-]/g, ' '),
    title: name ? modelTitle(name) : 'Result',
    setting: result.provenance ?? '',
    sections: [
      simple.length > 0 &&
        section(
          'figures',
          'Figures',
          null,
          factTable(
            simple.map(([key, content]) => [words(key), value(content)]),
            'Figures',
          ),
        ),
      ...complex.map(([key, content]) => section(`key-${key}`, words(key), null, value(content))),
    ],
    facts: [],
  };
}
