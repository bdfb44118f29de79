// The table of layers of a profile or a count.
import { h } from '../dom.js';
import { bytes, digits, isNumber, percent, shape, si, time, whole } from '../format.js';
import { bytesMoved, labelOf, labelsByName } from '../layers.js';
import { dot, longName, numberColumn, section, shareBar, textColumn } from '../parts.js';
import { dataTable, factTable } from '../table.js';
import { boundColour, boundName } from '../theme.js';

// "with /bn1/BatchNormalization, /relu/Relu": the layers that run in the same steps.
function detailOf(layer, labels) {
  const [word, ...rest] = (layer.detail ?? '').split(' ');
  if (word !== 'with' && word !== 'in') return layer.detail ?? '';
  return `${word} ${rest
    .join(' ')
    .split(', ')
    .map((name) => labels.get(name) ?? name)
    .join(', ')}`;
}

function nameColumn(layers) {
  const labels = labelsByName(layers);
  return {
    title: 'layer',
    isName: true,
    isHeader: true,
    value: labelOf,
    cell: (layer) => {
      const detail = detailOf(layer, labels);
      return [
        longName(labelOf(layer)),
        detail && h('span.quiet.oneline', { title: detail.slice(0, 500) }, detail.slice(0, 500)),
      ];
    },
  };
}

const boundColumn = textColumn('limited by', (layer) => layer.bound);
boundColumn.cell = (layer) =>
  layer.bound
    ? h(
        'span',
        dot(boundColour(layer.bound)),
        boundName(layer.bound),
        layer.bound_level ? ` (${layer.bound_level})` : '',
      )
    : '–';

// The largest share has the longest bar.
function shareColumn(layers) {
  const most = layers.reduce((largest, layer) => Math.max(largest, layer.share ?? 0), 1e-30);
  return {
    title: 'share',
    isNumber: true,
    value: (layer) => layer.share,
    cell: (layer) => (isNumber(layer.share) ? h('span', shareBar(layer.share / most), percent(layer.share)) : '–'),
  };
}

const costs = [
  numberColumn(
    'FLOPs',
    (layer) => layer.flops,
    (v) => si(v),
  ),
  numberColumn('bytes moved', bytesMoved, bytes),
  numberColumn(
    'parameters',
    (layer) => layer.parameters,
    (v) => si(v),
  ),
  textColumn('output', (layer) => shape(layer.output_shape)),
];

// In execution order.
function orderColumn(layers) {
  const position = new Map(layers.map((layer, i) => [layer, i]));
  return {
    title: '#',
    isNumber: true,
    isWide: true,
    isOnScreen: true,
    value: (layer) => position.get(layer),
    cell: (layer) => whole(position.get(layer)),
  };
}

// What does not fit into the columns: the steps that run the layer, and how.
function layerDetail(result, layer) {
  const steps = isNumber(layer.node) ? result.steps.filter((step) => (step.nodes ?? []).includes(layer.node)) : [];
  const facts = [
    labelOf(layer) !== layer.name && ['name in the model', layer.name],
    ['output', shape(layer.output_shape)],
    isNumber(layer.macs) && ['MACs', whole(layer.macs)],
    isNumber(layer.flops) && ['FLOPs', whole(layer.flops)],
    isNumber(layer.bytes_read) && ['read, written', `${bytes(layer.bytes_read)}, ${bytes(layer.bytes_written)}`],
    isNumber(layer.parameter_bytes) && ['weights', bytes(layer.parameter_bytes)],
    ...steps.flatMap((step) => [
      ['step', `${step.name}: ${time(step.time_ms)}, median ${time(step.median_ms)}`],
      ['algorithm', [step.algorithm, step.isa, step.precision, step.device].filter(Boolean).join(', ')],
      step.layers?.length > 1 && ['runs together', step.layers.slice(0, 12).join(', ')],
      ['executed', `${si(step.executed_flops, 'FLOPs')} at ${digits(step.executed_gflops_per_second)} GFLOP/s`],
      step.fell_back && ['fell back', String(step.fell_back)],
    ]),
    layer.doubts?.length > 0 && ['warnings', layer.doubts.join(', ')],
  ];
  return factTable(facts, `Details of ${labelOf(layer)}`);
}

export function profileTable(result) {
  const table = dataTable(
    [
      orderColumn(result.layers),
      nameColumn(result.layers),
      numberColumn('time', (layer) => layer.time_ms, time),
      shareColumn(result.layers),
      textColumn('op', (layer) => layer.op),
      boundColumn,
      numberColumn(
        'of ceiling',
        (layer) => layer.percent_of_ceiling,
        (v) => (isNumber(v) ? `${v.toFixed(0)} %` : '–'),
        { help: 'the least time this machine allows, divided by the time' },
      ),
      numberColumn('could save', (layer) => layer.headroom_ms, time, { help: 'if the layer ran at its ceiling' }),
      numberColumn('GB/s', (layer) => layer.gbytes_per_second, digits, { isOnScreen: true }),
      ...costs,
      textColumn('warnings', (layer) => (layer.doubts ?? []).join(', ') || null, { isOnScreen: true }),
    ],
    result.layers,
    {
      caption: 'Layers',
      sort: [2, true],
      search: (layer) => `${layer.name} ${labelOf(layer)} ${layer.op} ${layer.detail ?? ''}`,
      searchHint: 'Search layers',
      filter: { label: 'Every op', value: (layer) => layer.op },
      detail: (layer) => layerDetail(result, layer),
    },
  );
  return {
    table,
    element: section(
      'layers',
      'Layers',
      'Click a heading to sort, a row for its details. A layer that runs inside another one’s step has no time of its own.',
      table.element,
    ),
  };
}

export function countTable(result) {
  const table = dataTable(
    [
      orderColumn(result.layers),
      nameColumn(result.layers),
      shareColumn(result.layers),
      textColumn('op', (layer) => layer.op),
      numberColumn(
        'MACs',
        (layer) => layer.macs,
        (v) => si(v),
      ),
      ...costs,
      numberColumn('weights', (layer) => layer.parameter_bytes, bytes),
      numberColumn('activations', (layer) => layer.activation_bytes, bytes),
      textColumn('note', (layer) => layer.note ?? (layer.answer === 'unknown' ? 'not counted' : null)),
    ],
    result.layers,
    {
      caption: 'Layers',
      sort: [2, true],
      search: (layer) => `${layer.name} ${labelOf(layer)} ${layer.op}`,
      searchHint: 'Search layers',
      filter: { label: 'Every op', value: (layer) => layer.op },
    },
  );
  return {
    table,
    element: section('layers', 'Layers', 'What each layer costs, counted without running it.', table.element),
  };
}
