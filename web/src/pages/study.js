// assay.study/1: a question about a network or a machine, answered by a table, charts and a verdict in figures.
import { axis, chart, legend, tip, tooltip } from '../chart.js';
import { h } from '../dom.js';
import { capital, digits, isNumber, modelTitle, si, whole, words } from '../format.js';
import { numberColumn, section, textColumn, verdictSection, warningsSection } from '../parts.js';
import { dataTable } from '../table.js';
import { ink, SERIES } from '../theme.js';

const SYMBOLS = ['circle', 'rect', 'triangle', 'diamond', 'pin', 'arrow'];

const plain = (value) => (Number.isInteger(value) ? whole(value) : digits(value, 4));
const textOf = (value) => (typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value));
const withUnit = ({ heading, key, unit }) => `${heading ?? words(key)}${unit ? `, ${unit}` : ''}`;
const modelOf = ({ model }) => (typeof model === 'string' ? model : model?.name);

function studyTable({ columns, rows, title }) {
  return dataTable(
    columns.map((column) => {
      const isFigure = rows.every(
        (row) => row[column.key] === null || row[column.key] === undefined || isNumber(row[column.key]),
      );
      return isFigure
        ? numberColumn(withUnit(column), (row) => row[column.key], plain)
        : textColumn(withUnit(column), (row) => (row[column.key] === null ? null : textOf(row[column.key])), {
            isName: rows.some((row) => String(row[column.key]).length > 24),
          });
    }),
    rows,
    { caption: title, search: rows.length > 12 ? (row) => JSON.stringify(row) : undefined },
  ).element;
}

// All x of a chart in one column, and a column for each series.
function chartTable({ title, x, series }) {
  const xs = [...new Set(series.flatMap((one) => one.points.map(([at]) => at)))];
  const lookups = series.map((one) => new Map(one.points));
  return dataTable(
    [
      xs.every(isNumber)
        ? numberColumn(x.label, (at) => at, plain)
        : textColumn(x.label, (at) => String(at), { isName: true }),
      ...series.map((one, i) => numberColumn(one.name, (at) => lookups[i].get(at), plain)),
    ],
    xs,
    { caption: title },
  ).element;
}

// On a logarithmic axis only what is above zero has a place.
const drawable = (points, { x, y }) =>
  points.filter(([at, value]) => isNumber(value) && (!y.log || value > 0) && (!x.log || at > 0));

const isPowerOfTwo = (value) => isNumber(value) && Number.isInteger(Math.log2(value));

// Ticks of a logarithmic axis are at powers of two where all values are.
function valueAxis({ label, log }, values, more) {
  return axis(label, {
    type: log ? 'log' : 'value',
    logBase: values.every(isPowerOfTwo) ? 2 : 10,
    min: log && values.every(isPowerOfTwo) ? Math.min(...values) : undefined,
    scale: !log && more.scale,
    axisLabel: { color: ink().quiet, hideOverlap: true, formatter: (v) => (v >= 1e6 ? si(v) : (+v.toPrecision(4)).toLocaleString('en-US', { maximumSignificantDigits: 4 })) },
    ...more,
  });
}

function seriesOf(described, one, i) {
  const isBar = described.kind === 'bar';
  return {
    type: isBar ? 'bar' : 'line',
    name: one.name,
    data: isBar ? one.points.map(([at, value]) => [String(at), value]) : drawable(one.points, described),
    symbol: SYMBOLS[i % SYMBOLS.length],
    symbolSize: 8,
    barMaxWidth: 28,
    lineStyle: { color: SERIES[i % SERIES.length], width: 2, type: i < SERIES.length ? 'solid' : 'dashed' },
    itemStyle: { color: SERIES[i % SERIES.length] },
  };
}

function studyChart(described) {
  const { x, y, series, kind, title } = described;
  const isBar = kind === 'bar';
  const valuesOf = (i) => series.flatMap((one) => drawable(one.points, described).map((point) => point[i]));
  const named = series.filter((one) => one.name).map((one) => one.name);
  return h(
    'div',
    h('h3', capital(title)),
    chart({
      label: title,
      height: 340,
      table: () => chartTable(described),
      option: (width) => ({
        legend: named.length > 1 ? legend({ data: named, icon: isBar ? 'roundRect' : undefined }) : undefined,
        grid: { left: width < 520 ? 58 : 72, right: 24, top: named.length > 1 ? 42 : 20, bottom: 54 },
        tooltip: tooltip((item) =>
          tip(item.seriesName || title, [
            [x.label, isNumber(item.value[0]) ? plain(item.value[0]) : item.value[0]],
            [y.label, plain(item.value[1])],
          ]),
        ),
        xAxis: isBar
          ? axis(x.label, {
              type: 'category',
              data: [...new Set(series.flatMap((one) => one.points.map(([at]) => String(at))))],
              splitLine: { show: false },
              axisLabel: { color: ink().quiet, hideOverlap: true, width: 110, overflow: 'truncate' },
            })
          : valueAxis(x, valuesOf(0), { scale: true }),
        yAxis: valueAxis(y, valuesOf(1), { nameGap: width < 520 ? 40 : 52, scale: false }),
        series: series.map((one, i) => seriesOf(described, one, i)),
      }),
    }).element,
  );
}

export function studyPage(result) {
  const verdict = [result.verdict ?? []].flat();
  const model = modelOf(result);
  const charts = (result.charts ?? []).filter((one) => one.series.some(({ points }) => points.length > 0));
  return {
    kind: `Study: ${words(result.study)}`,
    title: result.title,
    setting: [model && modelTitle(model), result.machine?.processor].filter(Boolean).join(' · '),
    sections: [
      verdictSection(h('p.verdict', verdict.join(' '))),
      warningsSection(result.warnings),
      charts.length > 0 &&
        section(
          'charts',
          'Charts',
          null,
          charts.length > 1 ? h('div.columns', charts.map(studyChart)) : charts.map(studyChart),
        ),
      result.rows?.length > 0 && section('table', 'Table', 'Everything that was measured.', studyTable(result)),
    ],
    facts: [],
  };
}
