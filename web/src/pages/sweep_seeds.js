// assay.sweep_seeds/1: a sweep repeated with several seeds. Each run has a page of its own below.
import { axis, chart, legend, tip, tooltip } from '../chart.js';
import { h } from '../dom.js';
import { digits, isNumber, percent, plural, time, whole } from '../format.js';
import { card, cards, chip, numberColumn, section, textColumn, verdictSection } from '../parts.js';
import { dataTable } from '../table.js';
import { ink, precisionColour } from '../theme.js';

const versionOf = (row) => row.precision + (row.pruning_level > 0 ? `, pruned by ${row.pruning_level}` : '');
const megabytes = (v) => `${digits(v)} MB`;
const accuracyText = (v) => percent(v, 2);

// "1.14 ms ± 0.05": the mean and the standard deviation over the seeds, which one seed does not have.
const spreadText = (figure, text) =>
  isNumber(figure?.mean) ? text(figure.mean) + (isNumber(figure.std) ? ` ± ${text(figure.std)}` : '') : '–';

const spreadColumn = (title, key, text) => [
  numberColumn(title, (row) => row[key]?.mean, text),
  textColumn('±', (row) => (isNumber(row[key]?.std) ? text(row[key].std) : null)),
];

const table = ({ aggregates, seeds }) =>
  dataTable(
    [
      textColumn('version', versionOf, { isName: true }),
      ...spreadColumn('accuracy', 'accuracy', accuracyText),
      ...spreadColumn('latency', 'latency_ms', time),
      numberColumn('memory, MB', (row) => row.memory_mb?.mean, digits),
      textColumn('accepted', (row) => `${row.accepted} of ${seeds.length}`),
      textColumn('recommended', (row) => `${row.recommended} of ${seeds.length}`),
      aggregates.some((row) => row.failed > 0) && numberColumn('failed', (row) => row.failed, whole),
    ].filter(Boolean),
    aggregates,
    {
      caption: 'Versions over all seeds',
      search: versionOf,
      searchHint: 'Search versions',
      filter: { label: 'Every precision', value: (row) => row.precision },
    },
  ).element;

// A cross through the mean, one standard deviation to each side.
function spreads(rows) {
  return {
    type: 'custom',
    silent: true,
    z: 1,
    data: rows.map((row) => [
      row.latency_ms.mean,
      100 * row.accuracy.mean,
      row.latency_ms.std ?? 0,
      100 * (row.accuracy.std ?? 0),
    ]),
    renderItem: (_, api) => {
      const [x, y, dx, dy] = [0, 1, 2, 3].map((i) => api.value(i));
      const line = (from, to) => {
        const [[x1, y1], [x2, y2]] = [api.coord(from), api.coord(to)];
        return { type: 'line', shape: { x1, y1, x2, y2 }, style: { stroke: ink().quiet, lineWidth: 1, opacity: 0.6 } };
      };
      return { type: 'group', children: [line([Math.max(0, x - dx), y], [x + dx, y]), line([x, y - dy], [x, y + dy])] };
    },
  };
}

function scatter(result) {
  const rows = result.aggregates.filter((row) => isNumber(row.accuracy?.mean) && isNumber(row.latency_ms?.mean));
  if (rows.length === 0) return null;
  const precisions = [...new Set(rows.map((row) => row.precision))];
  const ends = rows.flatMap((row) => [-1, 1].map((side) => 100 * (row.accuracy.mean + side * (row.accuracy.std ?? 0))));
  return chart({
    label: 'Mean accuracy against mean latency of every version, over all seeds',
    height: 400,
    table: () => table(result),
    note: 'Points are means over the seeds, bars one standard deviation to each side. Ringed: recommended for some seed. Smaller: pruned more.',
    option: () => ({
      legend: legend({ data: precisions }),
      grid: { left: 60, right: 26, top: 62, bottom: 50 },
      tooltip: tooltip(
        ({ data }) =>
          data.row &&
          tip(versionOf(data.row), [
            ['accuracy', spreadText(data.row.accuracy, accuracyText)],
            ['latency', spreadText(data.row.latency_ms, time)],
            ['memory', spreadText(data.row.memory_mb, megabytes)],
          ]),
      ),
      xAxis: axis('latency of a batch, ms', {
        type: 'value',
        min: 0,
        max: 1.04 * Math.max(...rows.map((row) => row.latency_ms.mean + (row.latency_ms.std ?? 0))),
        axisLabel: { color: ink().quiet, formatter: (v) => String(+v.toPrecision(3)), showMaxLabel: false },
      }),
      yAxis: axis('accuracy, %', {
        type: 'value',
        nameGap: 42,
        min: Math.floor(Math.min(...ends)),
        max: Math.min(100, Math.ceil(Math.max(...ends))),
      }),
      series: [
        spreads(rows),
        ...precisions.map((precision) => ({
          type: 'scatter',
          name: precision,
          color: precisionColour(precision),
          z: 3,
          data: rows
            .filter((row) => row.precision === precision)
            .map((row) => ({
              value: [row.latency_ms.mean, 100 * row.accuracy.mean],
              row,
              symbolSize: 8 + 9 * (1 - 0.8 * (row.pruning_level ?? 0)),
              itemStyle: { borderColor: ink().text, borderWidth: row.recommended > 0 ? 1.6 : 0 },
            })),
        })),
      ],
    }),
  }).element;
}

function verdictText(chosen, count) {
  if (chosen.length === 0) return `No version was recommended for any of ${plural(count, 'seed')}.`;
  const [first] = chosen;
  if (chosen.length === 1)
    return `${versionOf(first)} is recommended for ${first.recommended} of ${plural(count, 'seed')}: ${spreadText(first.accuracy, accuracyText)} accuracy, ${spreadText(first.latency_ms, time)}.`;
  const list = chosen.map((row) => `${versionOf(row)} for ${row.recommended}`).join(', ');
  return `Which version is recommended depends on the seed: ${list} of ${plural(count, 'seed')}.`;
}

export function sweepSeedsPage(result) {
  const chosen = result.aggregates.filter((row) => row.recommended > 0).sort((a, b) => b.recommended - a.recommended);
  const [first] = chosen;
  const [run] = result.runs;
  return {
    kind: 'Sweep over seeds',
    title: `${run.model} on ${run.dataset}`,
    setting: `${plural(result.aggregates.length, 'version')} · seeds ${result.seeds.join(', ')}`,
    sections: [
      verdictSection(
        h('p.verdict', chip(chosen.length > 0 ? 'RECOMMENDED' : 'NO VERSION'), verdictText(chosen, result.seeds.length)),
        cards([
          card('Seeds', whole(result.seeds.length), result.seeds.join(', ')),
          first && card('Most often recommended', versionOf(first), `for ${first.recommended} of ${result.seeds.length}`),
          first && card('Accuracy', accuracyText(first.accuracy.mean), `± ${accuracyText(first.accuracy.std ?? NaN)}`),
          first && card('Latency', time(first.latency_ms.mean), `± ${time(first.latency_ms.std ?? NaN)}`),
          first && card('Memory', megabytes(first.memory_mb.mean), `± ${megabytes(first.memory_mb.std ?? NaN)}`),
        ]),
      ),
      section('pareto', 'Accuracy and latency', 'Better versions are higher and further left.', scatter(result)),
      section('versions', 'Versions', 'Means and standard deviations over the seeds.', table(result)),
    ],
  };
}
