// Where figures come from: program, command, machine, model and data.
import { h } from './dom.js';
import { bytes, digits, isNumber, plural, shape } from './format.js';
import { section } from './parts.js';
import { factTable } from './table.js';

function machineFacts(machine) {
  if (!machine) return [];
  const peaks = Object.entries(machine.peaks_gflops ?? {}).map(([name, peak]) => {
    const isa = machine.instruction_sets?.[name];
    return `${name} ${digits(peak)} GFLOP/s${isa ? ` (${isa})` : ''}`;
  });
  const levels = (machine.levels ?? []).map(
    (level) =>
      `${level.level}${isNumber(level.bytes) && level.bytes > 0 ? ` ${bytes(level.bytes)}` : ''}: ${digits(level.read_gbps)} GB/s`,
  );
  return [
    ['processor', machine.processor],
    isNumber(machine.threads) && ['threads', plural(machine.threads, 'thread')],
    ['host', machine.host],
    ['machine', machine.fingerprint],
    ['peaks, measured', peaks.join(', ')],
    ['reading, measured', levels.join(', ')],
  ];
}

function modelFacts(model) {
  if (!model) return [];
  if (typeof model === 'string') return [['model', model]];
  return [
    ['model', model.name],
    ['SHA-256 of the model', model.sha256],
    model.opset && ['opset', String(model.opset)],
    ...(model.inputs ?? []).map((input) => ['input', `${input.name}: ${input.type} ${shape(input.shape)}`]),
  ];
}

// Who made a result; stored by the program that measured it.
function originFacts(origin) {
  if (!origin) return [];
  return [
    ['made by', `assay ${[origin.version, origin.commit && `(${origin.commit})`].filter(Boolean).join(' ')}`],
    ['command', origin.command],
    ['compiler', origin.compiler],
    ['libraries', origin.libraries],
    ['processor', origin.processor],
    ['system', origin.system],
    ['host', origin.host],
    ['SHA-256 of the model', origin.model_sha256],
    ['SHA-256 of the data', origin.data_sha256],
  ];
}

function factsOf({ name, result, record, page }) {
  const facts = [
    ['result', `${name} (${result.schema})`],
    ['figures', result.provenance],
    ...originFacts(record ?? result.made_by),
    ...modelFacts(result.model),
    ...machineFacts(result.machine),
    ...(page?.facts ?? []),
  ];
  const seen = new Set();
  return facts.filter((fact) => {
    if (!fact || !fact[1] || seen.has(fact.join('\n'))) return false;
    seen.add(fact.join('\n'));
    return true;
  });
}

export function provenanceSection(data, documents) {
  return section(
    'provenance',
    'Provenance',
    'Where these figures come from.',
    documents.map((document) => [
      documents.length > 1 && h('h3', document.name),
      factTable(factsOf(document), `Provenance of ${document.name}`),
    ]),
    h('h3', 'This page'),
    factTable(
      [
        ['written by', `assay ${data.version}`],
        data.command && ['command', data.command],
        ...(data.sources ?? []).map(({ path, sha256 }) => [`SHA-256 of ${path}`, sha256]),
      ],
      'This page',
    ),
  );
}
