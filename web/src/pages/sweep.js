// assay.sweep/1: many versions of a model, and which one to take.
import { axis, chart, legend, markLine, tip, tooltip } from '../chart.js';
import { choice, h } from '../dom.js';
import { capital, digits, interval, isNumber, percent, time, whole } from '../format.js';
import { card, cards, chip, numberColumn, section, textColumn, warningsSection } from '../parts.js';
import { dataTable } from '../table.js';
import { ink, precisionColour } from '../theme.js';

const joules = (row) => row.energy_measured_j ?? row.energy_proxy_j;

const COSTS = {
  latency: {
    name: 'Latency',
    axis: 'latency of a batch, ms',
    value: (row) => row.latency_ms,
    text: time,
    low: (row) => row.latency_ci95_low_ms,
    high: (row) => row.latency_ci95_high_ms,
  },
  memory: { name: 'Memory', axis: 'stored tensors, MB', value: (row) => row.memory_mb, text: (v) => `${digits(v)} MB` },
  energy: {
    name: 'Energy',
    axis: 'energy of a batch, mJ',
    value: (row) => joules(row) && 1000 * joules(row),
    text: (v) => `${digits(v)} mJ`,
  },
};

const isAccepted = (row) => row.accepted === true || row.accepted === 1 || row.accepted === 'true';

function standing(result, cost, index) {
  if (result.recommended?.row === index) return 'recommended';
  if ((result.pareto_frontiers?.[cost] ?? []).includes(index)) return 'frontier';
  return isAccepted(result.rows[index]) ? 'accepted' : 'rejected';
}

// {at, text, isActive}: the budget that decides, and those that were only checked.
function budgetsOf(result, cost) {
  const active =
    cost === 'memory' ? result.active_memory_budget_mb : cost === 'latency' ? result.latency_budget_ms : null;
  const others = cost === 'memory' ? (result.memory_budgets_mb ?? []).filter((budget) => budget !== active) : [];
  return [
    isNumber(active) && { at: active, text: `budget ${COSTS[cost].text(active)}`, isActive: true },
    ...others.map((budget) => ({ at: budget, text: COSTS[cost].text(budget), isActive: false })),
  ].filter(Boolean);
}

function budgetLines(budgets) {
  const { text, quiet } = ink();
  return markLine({
    data: budgets.map(({ at, text: label, isActive }) => ({
      xAxis: at,
      lineStyle: { color: isActive ? text : quiet, type: 'dotted', width: isActive ? 2 : 1.2 },
      label: { formatter: label, color: isActive ? text : quiet, fontWeight: isActive ? 600 : 400 },
    })),
  });
}

function paretoChart(result) {
  let cost = 'latency';
  const rows = result.rows.map((row, index) => ({ row, index })).filter(({ row }) => isNumber(row.accuracy));
  const option = () => {
    const measure = COSTS[cost];
    const { text, quiet, surface } = ink();
    const points = rows.filter(({ row }) => isNumber(measure.value(row)));
    const item = ({ row, index }) => {
      const rank = standing(result, cost, index);
      const colour = precisionColour(row.precision);
      return {
        value: [measure.value(row), 100 * row.accuracy],
        row,
        index,
        rank,
        symbol: rank === 'recommended' ? 'diamond' : 'circle',
        symbolSize: rank === 'recommended' ? 24 : 8 + 9 * (1 - 0.8 * (row.pruning_level ?? 0)),
        itemStyle:
          rank === 'rejected'
            ? { color: surface, borderColor: colour, borderWidth: 1.6 }
            : { color: colour, borderColor: text, borderWidth: rank === 'accepted' ? 0 : 1.6 },
        label:
          rank === 'recommended'
            ? { show: true, formatter: 'recommended', position: 'top', color: text, fontWeight: 600 }
            : undefined,
      };
    };
    const precisions = [...new Set(points.map(({ row }) => row.precision))];
    const frontier = (result.pareto_frontiers?.[cost] ?? [])
      .map((index) => result.rows[index])
      .filter((row) => isNumber(measure.value(row)))
      .map((row) => [measure.value(row), 100 * row.accuracy])
      .sort((a, b) => a[0] - b[0]);
    const budgets = budgetsOf(result, cost);
    const costs = [...points.map(({ row }) => measure.value(row)), ...budgets.map((budget) => budget.at)];
    const margin = 0.06 * (Math.max(...costs) - Math.min(...costs) || Math.max(...costs));
    const bars = points.map(({ row }) => [
      measure.value(row),
      100 * (row.accuracy_ci95_low ?? row.accuracy),
      100 * (row.accuracy_ci95_high ?? row.accuracy),
    ]);
    return {
      legend: legend({ data: precisions }),
      grid: { left: 60, right: 26, top: 62, bottom: 50 },
      tooltip: tooltip(
        ({ data }) =>
          data.row &&
          tip(data.row.version, [
            ['accuracy', percent(data.row.accuracy, 2)],
            [measure.name.toLowerCase(), measure.text(measure.value(data.row))],
            ['memory', `${digits(data.row.memory_mb)} MB`],
            ['batch', String(data.row.batch_size ?? '–')],
            ['standing', data.rank],
            data.row.error && ['error', data.row.error],
          ]),
      ),
      xAxis: axis(measure.axis, {
        type: 'value',
        min: Math.max(0, Math.min(...costs) - margin),
        max: Math.max(...costs) + margin,
        axisLabel: {
          color: quiet,
          formatter: (v) => String(+v.toPrecision(3)),
          showMinLabel: false,
          showMaxLabel: false,
          hideOverlap: true,
        },
      }),
      yAxis: axis('accuracy, %', {
        type: 'value',
        scale: true,
        nameGap: 42,
        min: Math.floor(Math.min(...bars.map((bar) => bar[1]))),
        max: Math.min(100, Math.ceil(Math.max(...bars.map((bar) => bar[2])))),
        axisLabel: { color: quiet, showMinLabel: false, showMaxLabel: false, hideOverlap: true },
      }),
      series: [
        {
          type: 'custom',
          silent: true,
          z: 1,
          data: bars,
          renderItem: (_, api) => {
            const [x, low] = api.coord([api.value(0), api.value(1)]);
            const [, high] = api.coord([api.value(0), api.value(2)]);
            return {
              type: 'line',
              shape: { x1: x, y1: low, x2: x, y2: high },
              style: { stroke: quiet, lineWidth: 1, opacity: 0.6 },
            };
          },
        },
        {
          type: 'line',
          step: 'end',
          symbol: 'none',
          silent: true,
          data: frontier,
          lineStyle: { color: text, width: 1.4, type: 'dashed' },
          z: 2,
        },
        ...precisions.map((precision, i) => ({
          type: 'scatter',
          name: precision,
          color: precisionColour(precision),
          z: 3,
          data: points.filter(({ row }) => row.precision === precision).map(item),
          itemStyle: { color: precisionColour(precision) },
          markLine: i === 0 && budgets.length > 0 ? budgetLines(budgets) : undefined,
        })),
      ],
    };
  };
  const drawn = chart({
    label: 'Accuracy against cost of every version',
    option,
    height: 430,
    table: () => rowsTable(result),
    controls: h(
      'div.choices',
      choice(
        'Cost',
        Object.entries(COSTS)
          .filter(([, one]) => rows.some(({ row }) => isNumber(one.value(row))))
          .map(([key, one]) => [key, one.name]),
        cost,
        (key) => {
          cost = key;
          drawn.redraw();
        },
      ),
    ),
    note: 'Filled: accepted. Hollow: rejected. Ringed: on the Pareto frontier, the dashed line. Smaller: pruned more. Vertical bars: 95 % intervals of the accuracy.',
  });
  return drawn.element;
}

function rowsTable(result) {
  const differs = (key) => new Set(result.rows.map((row) => row[key])).size > 1;
  return dataTable(
    [
      textColumn('version', (row) => row.version, { isName: true }),
      textColumn('precision', (row) => row.precision),
      numberColumn('pruned', (row) => row.pruning_level, percent),
      numberColumn(
        'accuracy',
        (row) => row.accuracy,
        (v) => percent(v, 2),
      ),
      numberColumn('latency', (row) => row.latency_ms, time),
      textColumn('95 % interval', (row) => interval(row.latency_ci95_low_ms, row.latency_ci95_high_ms)),
      numberColumn('memory, MB', (row) => row.memory_mb, digits),
      numberColumn('energy, mJ', (row) => COSTS.energy.value(row), digits),
      differs('batch_size') && numberColumn('batch', (row) => row.batch_size, whole),
      differs('threads') && numberColumn('threads', (row) => row.threads, whole),
      textColumn('accepted', (row) => (isAccepted(row) ? 'yes' : 'no')),
      result.rows.some((row) => row.error) && textColumn('error', (row) => row.error || null, { isName: true }),
    ].filter(Boolean),
    result.rows,
    {
      caption: 'Versions',
      search: (row) => `${row.version} ${row.precision}`,
      searchHint: 'Search versions',
      filter: { label: 'Every precision', value: (row) => row.precision },
    },
  ).element;
}

const reasonTable = (rows, caption) =>
  dataTable(
    [
      textColumn('version', (row) => row.version, { isName: true }),
      textColumn('reason', (row) => row.reason, { isName: true }),
    ],
    rows,
    { caption },
  ).element;

const sentences = (best) =>
  [`The version ${best.version} is ${best.reason}.`, best.runner_up?.note && `${capital(best.runner_up.note)}.`]
    .filter(Boolean)
    .join(' ');

export function sweepPage(result) {
  const best = result.recommended;
  const has = best && best.row !== null && best.row !== undefined;
  return {
    kind: 'Sweep',
    title: `${result.model} on ${result.dataset}`,
    setting: [`${whole(result.study_rows)} versions`, `seed ${result.seed}`, result.machine?.processor]
      .filter(Boolean)
      .join(' · '),
    sections: [
      h(
        'section.plain',
        { id: 'verdict', 'aria-label': 'Verdict' },
        h('p.verdict', chip(has ? 'RECOMMENDED' : 'NO VERSION'), has ? sentences(best) : best?.reason),
        cards([
          has &&
            card(
              'Accuracy',
              percent(best.accuracy, 2),
              interval(result.rows[best.row]?.accuracy_ci95_low, result.rows[best.row]?.accuracy_ci95_high, (v) =>
                percent(v, 2),
              ),
              'recommended.accuracy',
              best.accuracy,
            ),
          has &&
            card(
              'Latency',
              time(best.latency_ms),
              best.latency_vs_baseline
                ? `${digits(best.latency_vs_baseline.ratio)} of the baseline (${interval(best.latency_vs_baseline.ci95_low, best.latency_vs_baseline.ci95_high, digits)})`
                : null,
              'recommended.latency_ms',
              best.latency_ms,
            ),
          has &&
            card(
              'Memory',
              `${digits(best.memory_mb)} MB`,
              `budget ${digits(result.active_memory_budget_mb)} MB`,
              'recommended.memory_mb',
              best.memory_mb,
            ),
          card(
            'Accepted',
            `${result.accepted_rows} of ${result.study_rows}`,
            `${result.rejected_rows} rejected, ${result.failed_rows ?? 0} failed`,
            'accepted_rows',
            result.accepted_rows,
          ),
          result.baseline &&
            card(
              'Baseline',
              isNumber(result.baseline.accuracy) ? percent(result.baseline.accuracy, 2) : '–',
              `${time(result.baseline.latency_ms)}, ${digits(result.baseline.memory_mb)} MB`,
            ),
        ]),
      ),
      warningsSection(result.warnings),
      result.rows?.length > 0 &&
        section(
          'pareto',
          'Accuracy and cost',
          'Better versions are higher and further left. The frontier holds those that no other version beats in both.',
          paretoChart(result),
        ),
      result.rows?.length > 0 && section('versions', 'Versions', 'All that were measured.', rowsTable(result)),
      result.rejected?.length > 0 &&
        section('rejected', 'Rejected', 'Versions that break a limit.', reasonTable(result.rejected, 'Rejected')),
      result.not_recommended?.length > 0 &&
        section(
          'others',
          'Accepted, but not recommended',
          'Versions within every limit that another one surpasses.',
          reasonTable(result.not_recommended, 'Not recommended'),
        ),
    ],
    facts: [
      ['data set', result.dataset],
      ['host', result.machine?.host],
    ],
  };
}
