// Where time, bytes and memory go: a treemap by module or by op.
import { chart, tip, tooltip } from './chart.js';
import { choice, h } from './dom.js';
import { bytes, isNumber, percent, si, time } from './format.js';
import { bytesMoved, labelOf, moduleTree, opTree } from './layers.js';
import { numberColumn, section, textColumn } from './parts.js';
import { dataTable } from './table.js';
import { ink, PALETTE, SERIES } from './theme.js';

const MEASURES = {
  time: { name: 'Time', value: (layer) => layer.time_ms, text: time },
  flops: { name: 'FLOPs', value: (layer) => layer.flops, text: (v) => si(v, 'FLOPs') },
  bytes: { name: 'Bytes moved', value: bytesMoved, text: bytes },
  weights: { name: 'Weights', value: (layer) => layer.parameter_bytes, text: bytes },
  activations: { name: 'Activations', value: (layer) => layer.activation_bytes, text: bytes },
};

const LIGHT = new Set([PALETTE.orange, PALETTE.sky, PALETTE.purple]);
const DEEP = 300; // layers beyond which the inner levels open by a click

// ECharts copies these objects, so they name layers by position. Colours belong to the outermost modules.
function coloured(children, positions) {
  const sorted = [...children].sort((a, b) => b.value - a.value);
  const paint = (node, colour) => {
    node.itemStyle = { color: colour, borderColor: ink().surface };
    node.label = { color: LIGHT.has(colour) ? '#1a1a1e' : '#ffffff' };
    if (node.layers) node.at = node.layers.map((layer) => positions.get(layer));
    delete node.layers;
    node.children?.forEach((child) => paint(child, colour));
  };
  sorted.forEach((child, i) => paint(child, SERIES[i % SERIES.length]));
  return sorted;
}

// A module that is nearly everything shows its parts instead.
function topLevel(tree) {
  const whole = tree.children.reduce((sum, child) => sum + child.value, 0);
  return tree.children.flatMap((child) =>
    child.children?.length > 1 && child.value > 0.6 * whole
      ? child.children.map((inner) => ({ ...inner, name: `${child.name}.${inner.name}` }))
      : [child],
  );
}

export function breakdownSection(result, select) {
  const available = Object.entries(MEASURES).filter(([, measure]) =>
    result.layers.some((layer) => isNumber(measure.value(layer)) && measure.value(layer) > 0),
  );
  if (available.length === 0) return null;
  const positions = new Map(result.layers.map((layer, i) => [layer, i]));
  const layersOf = (data) => (data?.at ?? []).map((i) => result.layers[i]);
  let measureKey = available[0][0];
  let by = 'module';
  const tree = () => {
    const { value } = MEASURES[measureKey];
    return by === 'module' ? { children: topLevel(moduleTree(result.layers, value)) } : opTree(result.layers, value);
  };
  const total = (data) => data.children.reduce((sum, child) => sum + child.value, 0);
  const option = (width) => {
    const data = tree();
    const whole = total(data);
    const { surface, text: text1 } = ink();
    const text = MEASURES[measureKey].text;
    return {
      tooltip: tooltip((item) =>
        tip(layersOf(item.data).length === 1 ? labelOf(layersOf(item.data)[0]) : item.name, [
          [MEASURES[measureKey].name.toLowerCase(), text(item.data.value)],
          ['share', percent(item.data.value / whole)],
          layersOf(item.data).length > 0 && ['op', layersOf(item.data)[0].op],
        ]),
      ),
      series: [
        {
          type: 'treemap',
          left: 0,
          right: 0,
          top: 0,
          bottom: 34,
          roam: false,
          nodeClick: 'zoomToNode',
          leafDepth: result.layers.length > DEEP || width < 520 ? 2 : undefined,
          data: coloured(data.children, positions),
          visibleMin: width < 520 ? 500 : 150,
          name: 'all',
          label: {
            fontSize: 11.5,
            lineHeight: 15,
            overflow: 'truncate',
            formatter: (item) => `${item.name}\n${percent(item.value / whole)}`,
          },
          upperLabel: {
            show: true,
            height: 20,
            color: text1,
            fontSize: 11.5,
            fontWeight: 600,
            formatter: (item) => (item.name ? `${item.name}  ${percent(item.value / whole)}` : ''),
          },
          itemStyle: { borderColor: surface, gapWidth: 1, borderWidth: 1 },
          levels: [
            { itemStyle: { borderWidth: 0, gapWidth: 4 }, upperLabel: { show: false } },
            { itemStyle: { gapWidth: 2, borderWidth: 2 } },
            { itemStyle: { gapWidth: 1, borderWidth: 1 } },
          ],
          breadcrumb: {
            bottom: 2,
            height: 24,
            itemStyle: { color: ink().grid, borderColor: ink().frame, textStyle: { color: ink().text } },
            emphasis: { itemStyle: { color: ink().frame } },
          },
        },
      ],
    };
  };
  const table = () => {
    const data = tree();
    const whole = total(data);
    const text = MEASURES[measureKey].text;
    return dataTable(
      [
        textColumn(by === 'module' ? 'module' : 'op', (row) => row.name, { isName: true }),
        numberColumn(MEASURES[measureKey].name, (row) => row.value, text),
        numberColumn('share', (row) => row.value / whole, percent),
      ],
      data.children,
      { caption: `${MEASURES[measureKey].name} by ${by}`, sort: [1, true] },
    ).element;
  };
  const drawn = chart({
    label: 'Where time, bytes and memory go, as a treemap',
    option,
    height: 440,
    renderer: 'canvas',
    table: () => {
      holder.replaceChildren(table());
      return holder;
    },
    onClick: (item) => {
      if (layersOf(item.data).length === 1 && !item.data.children) select?.(layersOf(item.data)[0]);
    },
    controls: h(
      'div.choices',
      choice(
        'Show',
        available.map(([key, measure]) => [key, measure.name]),
        measureKey,
        (key) => {
          measureKey = key;
          refresh();
        },
      ),
      choice(
        'by',
        [
          ['module', 'module'],
          ['op', 'kind of op'],
        ],
        by,
        (value) => {
          by = value;
          refresh();
        },
      ),
    ),
  });
  const holder = h('div');
  function refresh() {
    drawn.redraw();
    if (holder.isConnected) holder.replaceChildren(table());
  }
  return section(
    'breakdown',
    'Where it goes',
    'Each rectangle is a module or a layer, as large as its share. Click a module to open it; click a layer to find its row.',
    drawn.element,
  );
}
