// assay.profile/1
import { breakdownSection } from '../breakdown.js';
import { h, shortened } from '../dom.js';
import { bytes, capital, digits, interval, isNumber, modelTitle, percent, plural, rate, si, time, whole } from '../format.js';
import { graphSection } from '../graph.js';
import { latencySection } from '../latency.js';
import { isBetweenSteps, labelOf } from '../layers.js';
import { memorySection } from '../memory.js';
import { card, cards, chip, section, warningsSection } from '../parts.js';
import { rooflineSection } from '../roofline.js';
import { boundName } from '../theme.js';
import { devicesSection } from './devices.js';
import { profileTable } from './layer_table.js';

const threadsText = (count) => plural(count, 'thread');

export function setting(result) {
  const { options, machine } = result;
  const engine = result.imported ? `imported from ${options.engine}` : `${options.engine} engine`;
  const threads = result.imported && !isNumber(result.imported.threads) ? null : threadsText(options.threads);
  return [`batch ${options.batch}`, threads, engine, machine?.processor]
    .filter(Boolean)
    .join(' · ');
}

function slowest(result) {
  return result.layers
    .filter((layer) => !isBetweenSteps(layer) && isNumber(layer.time_ms))
    .sort((a, b) => b.time_ms - a.time_ms)[0];
}

export function plusMinus(latency) {
  const up = (latency.ci95_high_ms - latency.median_ms) / latency.median_ms;
  const down = (latency.median_ms - latency.ci95_low_ms) / latency.median_ms;
  if (!isNumber(up) || !isNumber(down)) return null;
  const text = (share) => (100 * share).toFixed(1);
  return text(up) === text(down) ? `±${text(up)} %` : `−${text(down)} / +${text(up)} %`;
}

function intervalText(latency) {
  return isNumber(latency.ci95_low_ms) ? ` (95 % interval ${interval(latency.ci95_low_ms, latency.ci95_high_ms)})` : '';
}

// Where imported times come from, and how much of them belongs to nodes.
function importedText({ imported }) {
  if (!imported) return '';
  const share = (part) => percent(part / imported.kernel_ms);
  const rest =
    imported.unattributed_kernels > 0
      ? ` ${share(imported.unattributed_ms)} of it, in ${plural(imported.unattributed_kernels, 'kernel')}, is not attributed to a node.`
      : '';
  return ` The times are those of ${imported.runtime}, read from ${shortened(imported.file, 80)}: ${share(imported.by_name_ms)} of kernel time was joined with nodes by name, ${share(imported.by_position_ms)} by order and kind of op.${rest}`;
}

// The interval of the latency, as samples a second.
function throughputRange({ throughput_sps: median, latency }) {
  const at = (ms) => rate((median * latency.median_ms) / ms);
  return isNumber(latency.ci95_low_ms) ? `${at(latency.ci95_high_ms)} to ${at(latency.ci95_low_ms)}` : '–';
}

function verdictText(result) {
  const { latency } = result;
  const onThreads =
    result.imported && !isNumber(result.imported.threads) ? '' : ` on ${threadsText(result.options.threads)}`;
  const first = slowest(result);
  const gap = isNumber(result.percent_of_ceiling)
    ? ` It reaches ${result.percent_of_ceiling.toFixed(0)} % of what this machine allows; ${boundName(result.bottleneck)} limits it${result.headroom_ms > 0 ? `, and at its ceiling a run would take ${time(Math.max(0, (result.typical_run_ms ?? latency.median_ms) - result.headroom_ms))}` : ''}.`
    : '';
  const best = (result.advice ?? []).find((one) => !one.once && one.gain_ms > 0);
  return [
    `A run of ${modelTitle(result.model.name)} takes ${time(latency.median_ms)}${intervalText(latency)}: ${rate(result.throughput_sps)} samples a second${onThreads}.`,
    importedText(result),
    gap,
    first ? ` The slowest layer, ${shortened(labelOf(first), 80)}, takes ${percent(first.share)} of the time.` : '',
    ` It needs ${bytes(result.memory.peak_bytes)} for weights and activations.`,
    best ? ` The first advice below could save ${time(best.gain_ms)}.` : '',
  ].join('');
}

function verdictSection(result) {
  const { latency, memory } = result;
  return h(
    'section.plain',
    { id: 'verdict', 'aria-label': 'Verdict' },
    h('p.verdict', chip(result.interrupted ? 'INTERRUPTED' : latency.verdict), verdictText(result)),
    cards([
      card(
        'Latency, median',
        time(latency.median_ms),
        isNumber(latency.ci95_low_ms)
          ? [plusMinus(latency), ` · ${interval(latency.ci95_low_ms, latency.ci95_high_ms)}`]
          : 'no interval: one figure',
        'latency_ms',
        result.latency_ms,
      ),
      card(
        'Throughput',
        `${rate(result.throughput_sps)} /s`,
        `${throughputRange(result)} · samples at batch ${result.options.batch}`,
        'throughput_sps',
        result.throughput_sps,
      ),
      isNumber(result.percent_of_ceiling) &&
        card(
          'Of the machine’s ceiling',
          `${result.percent_of_ceiling.toFixed(0)} %`,
          `${time(result.headroom_ms)} above it`,
          'percent_of_ceiling',
          result.percent_of_ceiling,
        ),
      card(
        'Executed',
        `${digits(result.executed_gflops_per_second)} GFLOP/s`,
        `${si(result.executed_flops, 'FLOPs')} of ${si(result.flops)} counted`,
        'executed_gflops_per_second',
        result.executed_gflops_per_second,
      ),
      card(
        'Memory',
        bytes(memory.peak_bytes),
        `${bytes(memory.weight_bytes)} weights, ${bytes(memory.arena_bytes)} activations${result.imported ? ', as planned' : ''}`,
        'memory.peak_bytes',
        memory.peak_bytes,
      ),
      card('Parameters', si(result.parameters), bytes(result.totals?.parameter_bytes), 'parameters', result.parameters),
      result.start_up &&
        card(
          'Start-up',
          time(result.start_up.compile_ms + result.start_up.first_run_ms),
          `${time(result.start_up.compile_ms)} to compile, first run ${time(result.start_up.first_run_ms)}`,
        ),
      result.energy &&
        card(
          'Energy',
          isNumber(result.energy.net_j_per_run ?? result.energy.energy_proxy_j)
            ? `${digits(1000 * (result.energy.net_j_per_run ?? result.energy.energy_proxy_j))} mJ`
            : '–',
          result.energy.energy_note,
        ),
    ]),
  );
}

export function adviceSection(result, select) {
  const list = [...(result.advice ?? [])].sort(
    (a, b) => Boolean(a.once) - Boolean(b.once) || (b.gain_ms ?? -1) - (a.gain_ms ?? -1),
  );
  if (list.length === 0) return null;
  const byName = new Map((result.layers ?? []).map((layer) => [layer.name, layer]));
  const link = (name) => {
    const layer = byName.get(name);
    const text = shortened(layer ? labelOf(layer) : name, 70);
    return layer && select
      ? h(
          'a',
          {
            href: '#layers',
            onclick: (event) => {
              event.preventDefault();
              select(layer);
            },
          },
          text,
        )
      : text;
  };
  return section(
    'advice',
    'Advice',
    'Ranked by what it could save; estimates, except where a measurement is named.',
    h(
      'ol.advice',
      list.map((one) =>
        h(
          'li',
          isNumber(one.gain_ms) && h('span.saves', `saves ${time(one.gain_ms)}${one.once ? ' once' : ''}`),
          one.rule && h('p.rule', capital(one.rule.replace(/-/g, ' '))),
          h('p', h('strong', capital(one.action))),
          h('p.quiet', one.reason),
          one.layers?.length > 0 &&
            h(
              'p.quiet',
              'Layers: ',
              one.layers.slice(0, 6).flatMap((name, i) => [i > 0 ? ', ' : '', link(name)]),
              one.layers.length > 6 ? ` and ${one.layers.length - 6} more` : '',
            ),
        ),
      ),
    ),
  );
}

export function profilePage(result) {
  const layers = profileTable(result);
  const select = (layer) => layers.table.select(layer);
  const { memory } = result;
  return {
    kind: 'Profile',
    title: modelTitle(result.model.name),
    setting: setting(result),
    sections: [
      verdictSection(result),
      warningsSection(result.warnings),
      rooflineSection(result, select),
      breakdownSection(result, select),
      layers.element,
      memorySection({
        buffers: memory.buffers,
        steps: memory.steps ?? result.steps.map((step) => step.name),
        layers: result.layers,
        lead: result.imported
          ? `assay plans ${bytes(memory.arena_bytes)} for them, node by node; ${result.imported.runtime} may need more or less.`
          : `${bytes(memory.arena_bytes)} are allocated for them, and ${bytes(memory.weight_bytes)} for weights.`,
      }),
      latencySection(result.latency),
      adviceSection(result, select),
      graphSection(result, select),
      devicesSection(result),
    ],
    facts: [
      ['engine', result.options.engine],
      ...(result.imported
        ? [['imported from', result.imported.file]]
        : [
            ['optimised for', result.options.optimize_for],
            ['seed', String(result.options.seed)],
            ['pinned threads', result.options.pinned ? 'yes' : 'no'],
          ]),
      ['warm-up', `${whole(result.latency.warmup_runs)} runs`],
    ],
  };
}
