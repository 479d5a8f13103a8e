import { fileURLToPath } from 'node:url';
import { errorText } from '@kube-dns/base';
import {
  commandEntry,
  formatValue,
  partsOption,
  numberOption,
  type OptionValues,
  PROGRAM_OPTIONS,
  Remote,
  type CommandContext,
  textOption,
} from '@kube-dns/testkit';
import { BUSY_OPTION } from '../program-options.js';
import type { FuzzProcessMethods } from './fuzz-process.js';
import { endedRun, type FuzzRunResult, MAX_INPUT_BYTES, MAX_INPUT_US } from './fuzz-run.js';
import { PARSERS } from './parsers.js';

const ENTRY = new URL('./fuzz-process.js#FuzzProcess', import.meta.url);
const CORPUS = fileURLToPath(new URL('../../corpus', import.meta.url));
/** A large young generation: allocation is measured as its use, until a collection. */
const NODE_FLAGS = ['--max-semi-space-size=64'];
const HEADER = [
  'parser',
  'inputs',
  'inputs/s',
  'accepted',
  'slowest',
  'bytes',
  'largest',
  'corpus',
];

const PARSER_NAMES = PARSERS.map(({ name }) => name);

const OPTIONS = {
  inputs: numberOption(200_000, 'inputs of each parser', { min: 1 }),
  'text-inputs': numberOption(0, 'inputs of those of texts; as many as the others unless given'),
  only: partsOption(PARSER_NAMES, 'parsers'),
  seed: numberOption(1, 'what the inputs follow from', { max: 2 ** 31 }),
  seconds: numberOption(0, 'the longest that one parser has; without an end unless given'),
  'max-us': numberOption(MAX_INPUT_US, 'microseconds that an input may take, on this machine', {
    min: 1,
  }),
  jobs: numberOption(2, 'parsers at the same time', { min: 1, max: 64 }),
  corpus: textOption(CORPUS, 'FOLDER', 'where past findings are and new ones go'),
  ...BUSY_OPTION,
  json: PROGRAM_OPTIONS.json,
};

type Values = OptionValues<typeof OPTIONS>;

async function run(values: Values, { report, owned, progress }: CommandContext): Promise<void> {
  const parsers = PARSERS.filter(({ name }) => values.only.includes(name));
  const { busy } = values;
  const maxUs = values['max-us'];
  const waiting = [...parsers];
  const results = new Map<string, FuzzRunResult>();
  const work = async () => {
    let process: Remote<FuzzProcessMethods> | undefined;
    for (let parser = waiting.shift(); parser; parser = waiting.shift()) {
      const { name, times } = parser;
      process ??= owned.add(new Remote(name, ENTRY, { nodeFlags: NODE_FLAGS }));
      const { seed, seconds, corpus } = values;
      const inputs = parser.isPacket ? values.inputs : values['text-inputs'] || values.inputs;
      const result = await process
        .call('fuzz', {
          parser: name,
          inputs,
          seconds,
          seed,
          corpus,
          maxUs: times * maxUs,
          isMeasured: !busy,
        })
        .catch((error: unknown) => endedRun(errorText(error)));
      if (!busy || result.inputs === 0) {
        await process.close();
        process = undefined;
      }
      results.set(name, result);
      progress(`${name}: ${result.inputs} inputs, ${result.findings.length} findings`);
      for (const { kind, detail, file } of result.findings) {
        progress(`${name}: ${kind}: ${detail}${file && ` (${file})`}`);
      }
    }
  };
  await Promise.all(Array.from({ length: values.jobs }, work));

  const ordered = parsers.map(({ name, times }) => ({ name, times, ...results.get(name)! }));
  report.addSection({ title: 'Parsers', header: HEADER, rows: ordered.map(rowOf) }, ordered);
  for (const { name, times, slowestUs, largestBytes, findings } of ordered) {
    report.add(`${name}, findings`, findings.length, '', 0);
    if (busy) continue;
    report.add(`${name}, slowest input`, slowestUs, 'µs', times * maxUs);
    report.add(`${name}, largest allocation`, largestBytes / 1024, 'KiB', MAX_INPUT_BYTES / 1024);
  }
}

function rowOf(result: FuzzRunResult & { readonly name: string }): string[] {
  const { name, inputs, accepted, seconds, slowestUs, meanBytes, largestBytes, corpusSize } =
    result;
  return [
    name,
    inputs.toLocaleString('en'),
    Math.round(inputs / seconds).toLocaleString('en'),
    `${((100 * accepted) / inputs).toFixed(1)} %`,
    Number.isNaN(slowestUs) ? '-' : `${Math.round(slowestUs)} µs`,
    formatValue(Math.round(meanBytes)),
    formatValue(Math.round(largestBytes)),
    String(corpusSize),
  ];
}

/** Hostile input for every parser. */
export const FUZZ = commandEntry({
  name: 'fuzz',
  summary: 'hostile bytes for every parser that reads what others send',
  options: OPTIONS,
  format: 'markdown',
  isStrict: true,
  run,
});
