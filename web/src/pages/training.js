// assay.train/1 and assay.profile-train/2
import { axis, chart, legend, tip, tooltip } from '../chart.js';
import { h } from '../dom.js';
import { bytes, digits, interval, isNumber, modelTitle, percent, plural, rate, si, time, whole, words } from '../format.js';
import { labelOf } from '../layers.js';
import { latencySection } from '../latency.js';
import { byteStep, peakMark } from '../memory.js';
import {
  card,
  cards,
  chip,
  genericTable,
  numberColumn,
  section,
  simpleFacts,
  textColumn,
  warningsSection,
} from '../parts.js';
import { dataTable, factTable } from '../table.js';
import { ink, PALETTE, SERIES } from '../theme.js';
import { adviceSection, plusMinus, setting } from './profile.js';

function curve(epochs, keys, title, text) {
  const shown = keys.filter(([key]) => epochs.some((epoch) => isNumber(epoch[key])));
  if (shown.length === 0) return null;
  return h('div', h('h3', title), curveChart(epochs, shown, title, text));
}

function curveChart(epochs, shown, title, text) {
  return chart({
    label: title,
    height: 280,
    table: () =>
      dataTable(
        [
          numberColumn('epoch', (e) => e.epoch, whole),
          ...shown.map(([key, name]) => numberColumn(name, (e) => e[key], text)),
        ],
        epochs,
        { caption: title },
      ).element,
    option: () => ({
      legend: shown.length > 1 ? legend({ data: shown.map(([, name]) => name), icon: 'roundRect' }) : undefined,
      grid: { left: 60, right: 20, top: shown.length > 1 ? 40 : 14, bottom: 48 },
      tooltip: tooltip(
        (items) =>
          tip(
            `epoch ${items[0].value[0]}`,
            items.map((item) => [item.seriesName, text(item.value[1])]),
          ),
        { trigger: 'axis' },
      ),
      xAxis: axis('epoch', {
        type: 'value',
        minInterval: 1,
        min: 'dataMin',
        max: 'dataMax',
        splitLine: { show: false },
      }),
      yAxis: axis('', { type: 'value', scale: true, axisLabel: { color: ink().quiet, formatter: (v) => text(v) } }),
      series: shown.map(([key, name, colour]) => ({
        type: 'line',
        name,
        data: epochs.filter((e) => isNumber(e[key])).map((e) => [e.epoch, e[key]]),
        symbolSize: 6,
        lineStyle: { color: colour, width: 2 },
        itemStyle: { color: colour },
      })),
    }),
  }).element;
}

const MOST_CLASSES = 40; // of a matrix that can be read

function confusedPairs(matrix, classes) {
  const pairs = matrix
    .flatMap((row, i) => {
      const sum = row.reduce((a, b) => a + b, 0) || 1;
      return row.map((count, j) => ({ truth: classes[i], predicted: classes[j], count, share: count / sum, i, j }));
    })
    .filter(({ count, i, j }) => count > 0 && i !== j)
    .sort((a, b) => b.count - a.count);
  return section(
    'confusion',
    'Confusions',
    `Of ${whole(matrix.length)} classes, those that were taken for each other most often.`,
    dataTable(
      [
        textColumn('true class', (one) => one.truth),
        textColumn('predicted', (one) => one.predicted),
        numberColumn('samples', (one) => one.count, whole),
        numberColumn('of the true class', (one) => one.share, percent),
      ],
      pairs.slice(0, 200),
      { caption: 'Confusions', sort: [2, true], search: (one) => `${one.truth} ${one.predicted}` },
    ).element,
  );
}

function confusion(result) {
  const matrix = result.confusion_matrix ?? result.confusion ?? result.evaluation?.confusion;
  if (!Array.isArray(matrix) || !Array.isArray(matrix[0])) return null;
  const classes = matrix.map((_, i) => (result.classes ?? [])[i] ?? String(i));
  if (matrix.length > MOST_CLASSES) return confusedPairs(matrix, classes);
  return section(
    'confusion',
    'Confusion matrix',
    'Rows: the true class. Columns: the class predicted. Recall: the share of a class that was recognised.',
    h(
      'div.table-scroll',
      { tabindex: 0, role: 'region', 'aria-label': 'Confusion matrix' },
      h(
        'table',
        h(
          'thead',
          h(
            'tr',
            h('th', { scope: 'col' }, h('span.sort', 'class')),
            classes.map((name) => h('th.number', { scope: 'col' }, h('span.sort', name))),
            h('th.number', { scope: 'col' }, h('span.sort', 'recall')),
          ),
        ),
        h(
          'tbody',
          matrix.map((row, i) => {
            const sum = row.reduce((a, b) => a + b, 0) || 1;
            return h(
              'tr',
              h('th', { scope: 'row' }, classes[i]),
              row.map((n, j) =>
                h(
                  'td.number',
                  {
                    style: {
                      background: `color-mix(in srgb, ${i === j ? PALETTE.green : PALETTE.vermilion} ${Math.round((60 * n) / sum)}%, transparent)`,
                    },
                  },
                  whole(n),
                ),
              ),
              h('td.number', percent(row[i] / sum)),
            );
          }),
        ),
      ),
    ),
  );
}

const hardest = (matrix) =>
  matrix
    .map((row, i) => ({ name: i, recall: row[i] / (row.reduce((a, b) => a + b, 0) || 1) }))
    .sort((a, b) => a.recall - b.recall)[0];

function trainVerdict(result) {
  const { epochs } = result;
  const last = epochs[epochs.length - 1];
  const range = isNumber(result.accuracy_ci95_low)
    ? ` (95 % interval ${percent(result.accuracy_ci95_low, 2)} to ${percent(result.accuracy_ci95_high, 2)})`
    : '';
  const gap = last && isNumber(last.val_accuracy) ? last.accuracy - last.val_accuracy : 0;
  const worst = Array.isArray(result.confusion_matrix) ? hardest(result.confusion_matrix) : null;
  return [
    `After ${plural(epochs.length, 'epoch')}${result.stopped_early ? ', stopped early,' : ''} the accuracy is ${percent(result.accuracy, 2)}${range}.`,
    ` Training took ${time(1000 * result.seconds)}${last ? `, ${rate(last.samples_per_second)} samples a second in the last epoch` : ''}.`,
    gap > 0.02 ? ` On the training samples it is ${digits(100 * gap)} points higher, a sign of overfitting.` : '',
    worst ? ` Class ${worst.name} is recognised least often, ${percent(worst.recall)} of the time.` : '',
  ].join('');
}

function epochTable(epochs) {
  const rate = (v) => percent(v, 2);
  return dataTable(
    [
      numberColumn('epoch', (e) => e.epoch, whole),
      numberColumn(
        'loss',
        (e) => e.loss,
        (v) => digits(v, 4),
      ),
      numberColumn('accuracy', (e) => e.accuracy, rate),
      numberColumn(
        'validation loss',
        (e) => e.val_loss,
        (v) => digits(v, 4),
      ),
      numberColumn('validation accuracy', (e) => e.val_accuracy, rate),
      textColumn('95 % interval', (e) => interval(e.val_accuracy_ci95_low, e.val_accuracy_ci95_high, rate)),
      numberColumn('learning rate', (e) => e.learning_rate, digits),
      numberColumn(
        'samples a second',
        (e) => e.samples_per_second,
        rate,
      ),
      numberColumn('time', (e) => 1000 * e.seconds, time),
    ],
    epochs,
    { caption: 'Epochs' },
  ).element;
}

export function trainPage(result) {
  const { epochs } = result;
  const last = epochs[epochs.length - 1];
  return {
    kind: 'Training',
    title: modelTitle(result.model.name),
    setting: [
      result.dataset.name,
      `batch ${result.options.batch_size}`,
      result.options.optimizer,
      `learning rate ${result.options.learning_rate}`,
    ].join(' · '),
    sections: [
      h(
        'section.plain',
        { id: 'verdict', 'aria-label': 'Verdict' },
        h('p.verdict', trainVerdict(result)),
        cards([
          card(
            'Accuracy',
            percent(result.accuracy, 2),
            isNumber(result.accuracy_ci95_low)
              ? `${percent(result.accuracy_ci95_low, 2)} to ${percent(result.accuracy_ci95_high, 2)}`
              : null,
            'accuracy',
            result.accuracy,
          ),
          last && card('Loss', digits(last.loss, 4), `validation ${digits(result.val_loss ?? last.val_loss, 4)}`),
          last && card('Speed', `${rate(last.samples_per_second)} /s`, 'samples in the last epoch'),
          card(
            'Memory',
            bytes((result.memory?.weight_bytes ?? 0) + (result.memory?.activation_bytes ?? 0)),
            `${bytes(result.memory?.activation_bytes)} activations`,
          ),
          isNumber(result.best_epoch) && card('Best epoch', String(result.best_epoch)),
        ]),
      ),
      warningsSection(result.warnings),
      epochs.length > 0 &&
        section(
          'curves',
          'Learning curves',
          null,
          h(
            'div.columns',
            curve(
              epochs,
              [
                ['loss', 'training', PALETTE.blue],
                ['val_loss', 'validation', PALETTE.orange],
              ],
              'Loss',
              (v) => digits(v, 3),
            ),
            curve(
              epochs,
              [
                ['accuracy', 'training', PALETTE.blue],
                ['val_accuracy', 'validation', PALETTE.orange],
              ],
              'Accuracy',
              (v) => percent(v),
            ),
          ),
          curve(epochs, [['samples_per_second', 'samples per second', PALETTE.green]], 'Samples per second', rate),
        ),
      confusion(result),
      section('epochs', 'Epochs', null, epochTable(epochs)),
      section(
        'data',
        'Data and options',
        null,
        factTable([...simpleFacts(result.dataset), ...simpleFacts(result.options)], 'Options'),
      ),
    ],
    facts: [
      ['written', result.file],
      ['SHA-256 of the training data', result.dataset.sha256],
      ['SHA-256 of the validation data', result.dataset.val_sha256],
    ],
  };
}

const USE_COLOURS = {
  parameters: PALETTE.blue,
  statistics: '#7a7a85',
  optimizer_state: PALETTE.purple,
  inputs: '#aaaab0',
  kept_activations: PALETTE.green,
  activations: '#73c9b0',
  gradients: PALETTE.vermilion,
  activation_gradients: PALETTE.orange,
  working_space: PALETTE.sky,
};

const USE_NAMES = {
  kept_activations: 'activations saved for backward',
  activation_gradients: 'gradients of activations',
  gradients: 'gradients of parameters',
  optimizer_state: 'optimizer state',
  working_space: 'workspace',
};
const useName = (use) => USE_NAMES[use] ?? words(use);
const sumOf = (step, uses) => uses.reduce((sum, use) => sum + step[use], 0);

function stepsTable(steps, uses, names) {
  return dataTable(
    [
      numberColumn('step', (i) => i, whole),
      textColumn('layer', (i) => names[i] ?? null, { isName: true }),
      numberColumn('in all', (i) => sumOf(steps[i], uses), bytes),
      ...uses.map((use) => numberColumn(useName(use), (i) => steps[i][use], bytes)),
    ],
    steps.map((_, i) => i),
    { caption: 'Memory by step', search: (i) => names[i] ?? '' },
  ).element;
}

function peakTable(step, uses) {
  const all = sumOf(step, uses);
  return dataTable(
    [
      textColumn('category', useName),
      numberColumn('bytes', (use) => step[use], bytes),
      numberColumn('share', (use) => step[use] / all, percent),
    ],
    uses,
    { caption: 'Memory at the peak by category', sort: [1, true] },
  ).element;
}

function batchTable(batches) {
  return dataTable(
    [
      numberColumn('batch', (row) => row.batch, whole),
      numberColumn('whole step', (row) => row.step_bytes, bytes),
      numberColumn('activations saved for backward', (row) => row.kept_activation_bytes, bytes),
      numberColumn('parameters', (row) => row.parameter_bytes, bytes),
      numberColumn('gradients of parameters', (row) => row.gradient_bytes, bytes),
      numberColumn('optimizer state', (row) => row.optimizer_bytes, bytes),
    ],
    batches,
    { caption: 'Batch sizes' },
  ).element;
}

function memoryByUse(result) {
  const steps = result.memory?.by_step;
  if (!steps || steps.length === 0) return null;
  const uses = Object.keys(steps[0]).filter((use) => steps.some((step) => step[use] > 0));
  const stride = Math.max(1, Math.ceil(steps.length / 600));
  const columns = steps.map((_, i) => i).filter((i) => i % stride === 0 || i === result.memory.peak_step);
  const most = 1.08 * Math.max(...steps.map((step) => sumOf(step, uses)));
  const names = (result.steps ?? []).map((step) => `${step.name}, ${step.phase}`);
  const peak = steps[result.memory.peak_step] ?? steps[0];
  const drawn = chart({
    label: 'Memory of a training step by category',
    height: 380,
    renderer: 'canvas',
    table: () => stepsTable(steps, uses, names),
    option: () => ({
      legend: legend({ data: uses.map(useName), icon: 'roundRect' }),
      grid: { left: 76, right: 20, top: 56, bottom: 48 },
      tooltip: tooltip(
        (items) =>
          tip(`step ${columns[items[0].dataIndex]}: ${names[columns[items[0].dataIndex]] ?? ''}`, [
            ['in all', bytes(items.reduce((sum, item) => sum + item.value, 0))],
            ...items.filter((item) => item.value > 0).map((item) => [item.seriesName, bytes(item.value)]),
          ]),
        { trigger: 'axis' },
      ),
      xAxis: axis('step, in the order of execution', {
        type: 'category',
        boundaryGap: false,
        data: columns.map(String),
        splitLine: { show: false },
      }),
      yAxis: axis('', {
        type: 'value',
        interval: byteStep(most),
        max: most,
        axisLabel: { color: ink().quiet, formatter: (v) => bytes(v), showMaxLabel: false },
      }),
      series: uses.map((use, i) => ({
        type: 'line',
        name: useName(use),
        markLine: i === 0 ? peakMark(columns.indexOf(result.memory.peak_step), sumOf(peak, uses)) : undefined,
        stack: 'all',
        step: 'middle',
        symbol: 'none',
        lineStyle: { width: 0 },
        itemStyle: { color: USE_COLOURS[use] ?? SERIES[0] },
        areaStyle: { color: USE_COLOURS[use] ?? SERIES[0], opacity: 1 },
        data: columns.map((i) => steps[i][use]),
      })),
    }),
  });
  return section(
    'memory',
    'Memory over one step',
    `The peak is at step ${result.memory.peak_step}, ${names[result.memory.peak_step] ?? ''}; ${bytes(result.memory.allocated_bytes)} are allocated.`,
    drawn.element,
    h('h3', 'At the peak, by category'),
    peakTable(peak, uses),
    result.batches?.length > 0 && [h('h3', 'Other batch sizes, as planned'), batchTable(result.batches)],
  );
}

function phases(result) {
  if (!result.phases?.length) return null;
  const colours = {
    forward: PALETTE.blue,
    backward: PALETTE.orange,
    update: PALETTE.purple,
    recompute: PALETTE.sky,
    loss: PALETTE.green,
  };
  const drawn = chart({
    label: 'Time by phase',
    height: 60 + 38 * result.phases.length,
    table: () => genericTable(result.phases, 'Phases'),
    option: () => ({
      grid: { left: 90, right: 90, top: 6, bottom: 44 },
      tooltip: tooltip((item) => {
        const p = result.phases[item.dataIndex];
        return tip(p.phase, [
          ['time', time(p.time_ms)],
          ['share', percent(p.share)],
          ['FLOPs', si(p.flops)],
          ['executed', si(p.executed_flops)],
        ]);
      }),
      xAxis: axis('ms', { type: 'value' }),
      yAxis: axis('', {
        type: 'category',
        inverse: true,
        data: result.phases.map((p) => p.phase),
        splitLine: { show: false },
        axisLabel: { color: ink().text },
      }),
      series: [
        {
          type: 'bar',
          barMaxWidth: 22,
          label: { show: true, position: 'right', color: ink().text, formatter: (item) => time(item.value) },
          data: result.phases.map((p) => ({ value: p.time_ms, itemStyle: { color: colours[p.phase] ?? PALETTE.sky } })),
        },
      ],
    }),
  });
  return section(
    'phases',
    'Forward, backward, update',
    `The backward pass takes ${digits(result.backward_to_forward_latency)} times the forward pass; by FLOPs ${digits(result.backward_to_forward_flops)}, by rule of thumb ${result.rule_of_thumb}.`,
    drawn.element,
  );
}

function trainingLayers(layers) {
  const spent = (layer) => ['forward', 'backward', 'update'].reduce((sum, key) => sum + (layer[key]?.time_ms ?? 0), 0);
  return dataTable(
    [
      textColumn('layer', labelOf, { isName: true }),
      textColumn('op', (layer) => layer.op),
      numberColumn('share', (layer) => layer.share, percent),
      numberColumn('time', spent, time),
      numberColumn('forward', (layer) => layer.forward?.time_ms, time),
      numberColumn('backward', (layer) => layer.backward?.time_ms, time),
      numberColumn('update', (layer) => layer.update?.time_ms, time),
      numberColumn(
        'forward FLOPs',
        (layer) => layer.forward?.flops,
        (v) => si(v),
      ),
      numberColumn(
        'backward FLOPs',
        (layer) => layer.backward?.flops,
        (v) => si(v),
      ),
      numberColumn(
        'parameters',
        (layer) => layer.parameters,
        (v) => si(v),
      ),
    ],
    layers,
    {
      caption: 'Layers',
      sort: [3, true],
      search: (layer) => `${layer.name} ${labelOf(layer)} ${layer.op}`,
      searchHint: 'Search layers',
      filter: { label: 'Every op', value: (layer) => layer.op },
    },
  ).element;
}

export function trainingProfilePage(result) {
  return {
    kind: 'Profile of a training step',
    title: modelTitle(result.model.name),
    setting: `${setting(result)} · ${result.options.optimizer} · ${result.options.loss}`,
    sections: [
      h(
        'section.plain',
        { id: 'verdict', 'aria-label': 'Verdict' },
        h(
          'p.verdict',
          chip(result.latency.verdict),
          `A training step takes ${time(result.latency.median_ms)} (95 % interval ${interval(result.latency.ci95_low_ms, result.latency.ci95_high_ms)}): ${rate(result.throughput_sps)} samples a second. The backward pass takes ${digits(result.backward_to_forward_latency)} times the forward pass, the update ${percent(result.update_latency_ms / result.latency.median_ms)} of a step. A step needs ${bytes(result.memory.allocated_bytes)}.`,
        ),
        cards([
          card(
            'Step, median',
            time(result.latency.median_ms),
            plusMinus(result.latency),
            'latency.median_ms',
            result.latency.median_ms,
          ),
          card(
            'Forward',
            time(result.forward_latency_ms),
            si(result.forward_flops, 'FLOPs'),
            'forward_latency_ms',
            result.forward_latency_ms,
          ),
          card(
            'Backward',
            time(result.backward_latency_ms),
            si(result.backward_flops, 'FLOPs'),
            'backward_latency_ms',
            result.backward_latency_ms,
          ),
          card(
            'Update',
            time(result.update_latency_ms),
            result.options.optimizer,
            'update_latency_ms',
            result.update_latency_ms,
          ),
          card('Throughput', `${rate(result.throughput_sps)} /s`, 'samples', 'throughput_sps', result.throughput_sps),
          card('Allocated', bytes(result.memory.allocated_bytes), 'for one step'),
        ]),
      ),
      warningsSection(result.warnings),
      phases(result),
      memoryByUse(result),
      latencySection(result.latency),
      adviceSection(result, null),
      result.layers?.length > 0 && section('layers', 'Layers', null, trainingLayers(result.layers)),
    ],
    facts: [
      ['loss', result.options.loss],
      ['optimizer', result.options.optimizer],
    ],
  };
}
