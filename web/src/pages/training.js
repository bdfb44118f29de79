// assay.train/1 and assay.profile-train/2
import { axis, chart, legend, tip, tooltip } from '../chart.js';
import { h } from '../dom.js';
import { bytes, digits, interval, isNumber, modelTitle, percent, si, time, whole, words } from '../format.js';
import { latencySection } from '../latency.js';
import { byteStep } from '../memory.js';
import { card, cards, chip, genericTable, numberColumn, section, warningsSection } from '../parts.js';
import { dataTable, factTable } from '../table.js';
import { ink, PALETTE, SERIES } from '../theme.js';
import { adviceSection, plusMinus, setting } from './profile.js';

function curve(epochs, keys, title, text) {
  const shown = keys.filter(([key]) => epochs.some((epoch) => isNumber(epoch[key])));
  if (shown.length === 0) return null;
  return chart({
    label: title,
    height: 300,
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
      legend: legend({ data: shown.map(([, name]) => name), icon: 'roundRect' }),
      grid: { left: 60, right: 20, top: 40, bottom: 48 },
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

function confusion(result) {
  const matrix = result.confusion_matrix ?? result.confusion ?? result.evaluation?.confusion;
  if (!Array.isArray(matrix) || !Array.isArray(matrix[0])) return null;
  const classes = matrix.map((_, i) => (result.classes ?? [])[i] ?? String(i));
  return section(
    'confusion',
    'Confusion matrix',
    'Rows: the true class. Columns: the class predicted.',
    h(
      'div.table-scroll',
      { tabindex: 0, role: 'region', 'aria-label': 'Confusion matrix' },
      h(
        'table',
        h(
          'thead',
          h(
            'tr',
            h('th'),
            classes.map((name) => h('th.number', { scope: 'col' }, h('span.sort', name))),
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
            );
          }),
        ),
      ),
    ),
  );
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
        h(
          'p.verdict',
          `After ${whole(epochs.length)} epochs${result.stopped_early ? ', stopped early,' : ''} the accuracy is ${percent(result.accuracy, 2)}${isNumber(result.accuracy_ci95_low) ? ` (95 % interval ${percent(result.accuracy_ci95_low, 2)} to ${percent(result.accuracy_ci95_high, 2)})` : ''}. Training took ${time(1000 * result.seconds)}.`,
        ),
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
          last && card('Speed', `${si(last.samples_per_second)} /s`, 'samples in the last epoch'),
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
          curve(epochs, [['samples_per_second', 'samples per second', PALETTE.green]], 'Samples per second', (v) =>
            si(v),
          ),
        ),
      confusion(result),
      section('epochs', 'Epochs', null, genericTable(epochs, 'Epochs')),
      section(
        'data',
        'Data and options',
        null,
        factTable(
          [...Object.entries(result.dataset), ...Object.entries(result.options)].map(([key, value]) => [
            words(key),
            value === null ? '–' : String(value),
          ]),
          'Options',
        ),
      ),
    ],
    facts: [],
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

function memoryByUse(result) {
  const steps = result.memory?.by_step;
  if (!steps || steps.length === 0) return null;
  const uses = Object.keys(steps[0]).filter((use) => steps.some((step) => step[use] > 0));
  const stride = Math.max(1, Math.ceil(steps.length / 600));
  const columns = steps.map((_, i) => i).filter((i) => i % stride === 0 || i === result.memory.peak_step);
  const most = 1.08 * Math.max(...steps.map((step) => uses.reduce((sum, use) => sum + step[use], 0)));
  const drawn = chart({
    label: 'Memory of a training step by category',
    height: 380,
    renderer: 'canvas',
    table: () => genericTable([steps[result.memory.peak_step] ?? steps[0]], 'At the peak'),
    option: () => ({
      legend: legend({ data: uses.map(words), icon: 'roundRect' }),
      grid: { left: 76, right: 20, top: 56, bottom: 48 },
      tooltip: tooltip(
        (items) =>
          tip(`step ${columns[items[0].dataIndex]}`, [
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
      series: uses.map((use) => ({
        type: 'line',
        name: words(use),
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
    `The peak is at step ${result.memory.peak_step}; ${bytes(result.memory.allocated_bytes)} are allocated.`,
    drawn.element,
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

function layerRows(layers) {
  return layers.map((layer) => {
    const row = { layer: layer.name, op: layer.op };
    for (const [key, value] of Object.entries(layer)) {
      if (typeof value === 'number') row[key] = value;
      else if (value && typeof value === 'object' && !Array.isArray(value))
        for (const [inner, figure] of Object.entries(value))
          if (typeof figure === 'number') row[`${key}_${inner}`] = figure;
    }
    return row;
  });
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
          `A training step takes ${time(result.latency.median_ms)} (95 % interval ${interval(result.latency.ci95_low_ms, result.latency.ci95_high_ms)}): ${si(result.throughput_sps)} samples a second. The backward pass takes ${digits(result.backward_to_forward_latency)} times the forward pass.`,
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
          card('Throughput', `${si(result.throughput_sps)} /s`, 'samples', 'throughput_sps', result.throughput_sps),
          card('Allocated', bytes(result.memory.allocated_bytes), 'for one step'),
        ]),
      ),
      warningsSection(result.warnings),
      phases(result),
      memoryByUse(result),
      latencySection(result.latency),
      adviceSection(result, null),
      result.layers?.length > 0 && section('layers', 'Layers', null, genericTable(layerRows(result.layers), 'Layers')),
    ],
    facts: [
      ['loss', result.options.loss],
      ['optimizer', result.options.optimizer],
    ],
  };
}
