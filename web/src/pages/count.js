// assay.count/1
import { breakdownSection } from '../breakdown.js';
import { h } from '../dom.js';
import { bytes, modelTitle, percent, shape, si } from '../format.js';
import { graphSection } from '../graph.js';
import { labelOf } from '../layers.js';
import { memorySection } from '../memory.js';
import { card, cards, genericTable, section, warningsSection } from '../parts.js';
import { countTable } from './layer_table.js';

function verdictText(result) {
  const { totals, memory } = result;
  const first = [...result.layers].sort((a, b) => (b.share ?? 0) - (a.share ?? 0))[0];
  const inputs = result.model.inputs.map((input) => `${input.name} ${shape(input.shape)}`).join(', ');
  return (
    `${modelTitle(result.model.name)} computes ${si(totals.macs, 'MACs')} (${si(totals.flops, 'FLOPs')}) for ${inputs}, with ${si(totals.parameters)} parameters in ${bytes(totals.parameter_bytes)}. Its activations need ${bytes(memory.peak_activation_bytes)} at once.` +
    (first?.share > 0
      ? ` The most expensive layer, ${labelOf(first).slice(0, 80)}, is ${percent(first.share)} of the work.`
      : '') +
    (totals.uncounted.length > 0
      ? ` ${totals.uncounted.length} nodes were not counted, so these totals are a lower bound.`
      : '')
  );
}

export function countPage(result) {
  const layers = countTable(result);
  const select = (layer) => layers.table.select(layer);
  const { totals, memory } = result;
  return {
    kind: 'Count',
    title: modelTitle(result.model.name),
    setting: `opset ${result.model.opset}${result.precision ? ` · stored as ${result.precision}` : ''}`,
    sections: [
      h(
        'section.plain',
        { id: 'verdict', 'aria-label': 'Verdict' },
        h('p.verdict', verdictText(result)),
        cards([
          card(
            'Parameters',
            si(totals.parameters),
            bytes(totals.parameter_bytes),
            'totals.parameters',
            totals.parameters,
          ),
          card('MACs', si(totals.macs), `${si(totals.effective_macs)} without padding`, 'totals.macs', totals.macs),
          card(
            'FLOPs',
            si(totals.flops),
            `${(totals.flops / Math.max(1, totals.bytes_read + totals.bytes_written)).toFixed(1)} per byte moved`,
            'totals.flops',
            totals.flops,
          ),
          card(
            'Bytes moved',
            bytes(totals.bytes_read + totals.bytes_written),
            `${bytes(totals.bytes_read)} read, ${bytes(totals.bytes_written)} written`,
          ),
          card(
            'Peak activations',
            bytes(memory.peak_activation_bytes),
            `no plan can do with less than ${bytes(memory.lower_bound_bytes)}`,
            'memory.peak_activation_bytes',
            memory.peak_activation_bytes,
          ),
          card(
            'Stored',
            bytes(memory.stored_bytes),
            'parameters, statistics, constants',
            'memory.stored_bytes',
            memory.stored_bytes,
          ),
        ]),
      ),
      warningsSection(result.warnings),
      breakdownSection(result, select),
      layers.element,
      memorySection({
        buffers: memory.buffers,
        steps: memory.steps,
        layers: result.layers,
        lead: `The planned arena takes ${bytes(memory.peak_activation_bytes)}.`,
      }),
      graphSection(result, select),
      totals.uncounted.length > 0 &&
        section('uncounted', 'Not counted', 'Ops without a rule.', genericTable(totals.uncounted, 'Not counted')),
    ],
    facts: [],
  };
}
