// What the machine allows over the arithmetic intensity, and what every step did.
import { axis, chart, legend, tip, tooltip } from './chart.js';
import { choice, h } from './dom.js';
import { digits, isNumber, percent, time } from './format.js';
import { labelOf } from './layers.js';
import { numberColumn, section, textColumn } from './parts.js';
import { dataTable } from './table.js';
import { boundColour, boundName, ink, precisionColour } from './theme.js';

function pointsOf(result) {
  const byNode = new Map(result.layers.filter((layer) => isNumber(layer.node)).map((layer) => [layer.node, layer]));
  const byName = new Map(result.layers.map((layer) => [layer.name, layer]));
  return result.steps
    .map((step) => {
      const bytes = step.bytes_read + step.bytes_written;
      const members = (step.nodes ?? []).map((node) => byNode.get(node)).filter(Boolean);
      const layer = byName.get(step.name) ?? members[0];
      return {
        step,
        layer,
        name: layer ? labelOf(layer) : step.name,
        precision: step.precision,
        bound: step.bound,
        intensity: step.executed_flops / bytes,
        gflops: step.executed_flops / (step.time_ms * 1e6),
        share: step.share,
      };
    })
    .filter(
      (point) =>
        point.intensity > 0 && Number.isFinite(point.intensity) && point.gflops > 0 && Number.isFinite(point.gflops),
    );
}

// Axes fit what makes up nearly all of the time.
function mainPoints(points) {
  const sorted = [...points].sort((a, b) => b.share - a.share);
  const whole = sorted.reduce((sum, point) => sum + point.share, 0);
  let sum = 0;
  const main = sorted.filter((point) => {
    const isMain = sum < 0.95 * whole;
    sum += point.share;
    return isMain;
  });
  return main.length > 0 ? main : sorted;
}

// Precisions with nearly the same peak share a roof, unless steps compute in both.
const isSameRoof = (a, b) => Math.max(a / b, b / a) < 1.04;

function peaksOf(machine, points) {
  const all = Object.entries({ ...machine.peaks_gflops, [machine.precision]: machine.peak_gflops }).filter(
    ([, peak]) => peak > 0,
  );
  const used = new Set([machine.precision, ...points.map((point) => point.precision)]);
  const roofs = [];
  for (const [name, peak] of all.sort(([a], [b]) => used.has(b) - used.has(a))) {
    const same = roofs.find((roof) => isSameRoof(roof.peak, peak));
    if (same && !used.has(name)) same.names.push(name);
    else
      roofs.push({
        name,
        names: [name],
        peak,
        isUsed: used.has(name),
        isa: (machine.instruction_sets ?? {})[name] ?? (name === machine.precision ? machine.instruction_set : ''),
      });
  }
  return roofs;
}

function rangesOf(points, machine, peaks) {
  const main = mainPoints(points);
  const top = Math.max(...peaks.map((peak) => peak.peak));
  const knees = machine.levels.map((level) => top / level.read_gbps);
  const xs = [...main.map((point) => point.intensity), ...knees];
  const ys = [...main.map((point) => point.gflops), top];
  const spread = (values, low, high) => [Math.min(...values) / low, Math.max(...values) * high];
  return { x: spread(xs, 2, 4), y: spread(ys, 2, 1.8) };
}

function roofSeries(machine, peaks, range, size) {
  const { line, text, surface } = ink();
  const top = Math.max(...peaks.map((peak) => peak.peak));
  const isNarrow = size.width < 440;
  const best = Math.max(...machine.levels.map((level) => level.read_gbps));
  const label = (formatter, position, more) => ({
    show: true,
    formatter,
    position,
    color: text,
    fontSize: 11,
    textBorderColor: surface,
    textBorderWidth: 3,
    ...more,
  });
  const style = {
    type: 'line',
    symbol: 'circle',
    symbolSize: 1,
    silent: true,
    lineStyle: { color: line, width: 1.5 },
    itemStyle: { color: line },
    z: 4,
    tooltip: { show: false },
  };
  // A slope of 1 on logarithmic axes, in degrees of the picture.
  const decades = ([low, high]) => Math.log10(high / low);
  const rotate = (Math.atan2(size.height / decades(range.y), size.width / decades(range.x)) * 180) / Math.PI;
  const slopes = machine.levels.map((level, i) => {
    const from = Math.max(range.x[0], range.y[0] / level.read_gbps);
    const to = top / level.read_gbps;
    const at = from * (to / from) ** [0.3, 0.72, 0.3, 0.55][i % 4]; // neighbours may nearly coincide
    return {
      ...style,
      name: level.level,
      data: [
        [from, from * level.read_gbps],
        {
          value: [at, at * level.read_gbps],
          label: label(isNarrow ? level.level : `${level.level} ${digits(level.read_gbps)} GB/s`, 'inside', {
            rotate,
            align: 'center',
            verticalAlign: 'bottom',
            offset: [0, -4],
          }),
        },
        [to, top],
      ],
    };
  });
  const flats = peaks.map((peak) => ({
    ...style,
    name: peak.name,
    lineStyle: {
      color: precisionColour(peak.name),
      width: peak.isUsed ? 1.8 : 1.3,
      type: peak.isUsed ? 'solid' : 'dashed',
    },
    data: [
      [peak.peak / best, peak.peak],
      {
        value: [range.x[1] * 0.97, peak.peak],
        label: label(
          isNarrow
            ? `${peak.names[0]} ${digits(peak.peak)}`
            : `${peak.names.join(', ')} ${peak.isa} ${digits(peak.peak)} GFLOP/s`,
          'top',
          {
            align: 'right',
            offset: [0, 2],
          },
        ),
      },
    ],
  }));
  return [...slopes, ...flats];
}

const HEIGHT = 460;

const pointTip = (point) =>
  tip(point.name, [
    ['time', `${time(point.step.time_ms)} · ${percent(point.share)}`],
    ['reached', `${digits(point.gflops)} GFLOP/s`],
    ['intensity', `${digits(point.intensity)} FLOP/byte`],
    ['limited by', boundName(point.bound)],
    isNumber(point.step.percent_of_ceiling) && ['of the ceiling', `${point.step.percent_of_ceiling.toFixed(0)} %`],
    ['algorithm', point.step.algorithm],
    ['precision', point.precision],
  ]);

function pointTable(points, select) {
  return dataTable(
    [
      textColumn('step', (p) => p.name, { isName: true }),
      textColumn('op', (p) => p.step.op),
      textColumn('precision', (p) => p.precision),
      numberColumn('FLOP/byte', (p) => p.intensity, digits),
      numberColumn('GFLOP/s', (p) => p.gflops, digits),
      numberColumn('time', (p) => p.step.time_ms, time),
      numberColumn('share', (p) => p.share, percent),
      textColumn('limited by', (p) => boundName(p.bound)),
    ],
    points,
    {
      caption: 'Roofline',
      sort: [5, true],
      search: (p) => `${p.name} ${p.step.op}`,
      onRow: (p) => p.layer && select(p.layer),
    },
  ).element;
}

export function rooflineSection(result, select) {
  const { machine } = result;
  const points = pointsOf(result);
  if (!machine || points.length === 0) return null;
  let colourBy = 'bound';
  const peaks = peaksOf(machine, points);
  // ECharts copies its data: points are known by their positions.
  const option = (width) => {
    const range = rangesOf(points, machine, peaks);
    const groups = [...new Set(points.map((point) => point[colourBy] ?? ''))].sort();
    const colour = colourBy === 'bound' ? boundColour : precisionColour;
    const name = colourBy === 'bound' ? boundName : (value) => value;
    const largest = Math.max(...points.map((point) => point.share));
    const series = groups.map((group) => ({
      type: 'scatter',
      name: name(group),
      z: 3,
      clip: true,
      data: points
        .filter((point) => (point[colourBy] ?? '') === group)
        .map((point) => ({ value: [point.intensity, point.gflops], at: points.indexOf(point) })),
      symbolSize: (_, item) => Math.max(6, (width < 520 ? 26 : 38) * Math.sqrt(points[item.data.at].share / largest)),
      itemStyle: { color: colour(group), opacity: 0.72, borderColor: ink().text, borderWidth: 0.6 },
      emphasis: { scale: 1.25, itemStyle: { opacity: 1, borderWidth: 1.6 } },
    }));
    return {
      legend: legend({ data: groups.map((group) => name(group)) }),
      grid: { left: 64, right: 18, top: 40, bottom: 52 },
      tooltip: tooltip((item) => pointTip(points[item.data.at])),
      xAxis: axis('arithmetic intensity, FLOP per byte', {
        type: 'log',
        min: range.x[0],
        max: range.x[1],
        axisLabel: { color: ink().quiet, formatter: (v) => digits(v, 1), showMinLabel: false, showMaxLabel: false },
      }),
      yAxis: axis('GFLOP/s', {
        type: 'log',
        min: range.y[0],
        max: range.y[1],
        nameGap: 42,
        axisLabel: { color: ink().quiet, formatter: (v) => digits(v, 1), showMinLabel: false, showMaxLabel: false },
      }),
      series: [...roofSeries(machine, peaks, range, { width: width - 82, height: HEIGHT - 92 }), ...series],
    };
  };
  const drawn = chart({
    label: 'Roofline: GFLOP/s over arithmetic intensity of every step',
    option,
    height: HEIGHT,
    table: () => pointTable(points, select),
    onClick: (item) => {
      const layer = points[item.data.at]?.layer;
      if (layer) select(layer);
    },
    note: 'The area of a point is its share of the time. Lines are what this machine reached when it was measured; dashed roofs are precisions that this model does not compute in. Click a point to find its layer in the table.',
    controls: h(
      'div.choices',
      choice(
        'Colour by',
        [
          ['bound', 'what limits it'],
          ['precision', 'precision'],
        ],
        colourBy,
        (value) => {
          colourBy = value;
          drawn.redraw();
        },
      ),
    ),
  });
  return section(
    'roofline',
    'Roofline',
    `How near each step comes to what ${machine.processor || 'the machine'} allows on ${machine.threads} ${machine.threads === 1 ? 'thread' : 'threads'}. Points below the slopes wait for memory, points below the flat roof compute.`,
    drawn.element,
  );
}
