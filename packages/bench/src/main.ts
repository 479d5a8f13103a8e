import { writeFileSync } from 'node:fs';
import {
  describeOptions,
  parseOptions,
  type Options,
  type OptionValues,
} from './command-options.js';
import type { Command, CommonValues } from './commands/command.js';
import { KUBEDNS_CHANGES } from './commands/kubedns-changes.js';
import { KUBEDNS_QUERIES } from './commands/kubedns-queries.js';
import { KUBEDNS_SCALE } from './commands/kubedns-scale.js';
import { BenchError, messageOf, UsageError } from './errors.js';
import { Owned } from './owned.js';
import { describeMachine } from './report/machine.js';
import { Report } from './report/report.js';

const EXIT_MISSED = 1;
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

type Runner = (args: readonly string[]) => Promise<number>;

const owned = new Owned();
let isInterrupted = false;

function progress(text: string): void {
  process.stderr.write(`bench: ${text}\n`);
}

/** A command with its options parsed and its report told. */
function runnerOf<T extends Options>(command: Command<T>): Runner {
  return async (args) => {
    const values = parseOptions(args, command.options);
    if (values === undefined) {
      process.stdout.write(`usage: bench ${command.name} [options]\n\n${command.summary}\n\n`);
      process.stdout.write(describeOptions(command.options));
      return 0;
    }
    return measure(command, values);
  };
}

async function measure<T extends Options>(
  command: Command<T>,
  values: OptionValues<T>,
): Promise<number> {
  // Every command has the common options.
  const { node, json, strict } = values as unknown as CommonValues;
  const report = new Report(command.name, await describeMachine(node), values);
  try {
    await command.run(values, { report, owned, progress });
  } finally {
    await owned.close();
  }
  process.stdout.write(report.toText());
  if (json !== '') writeFileSync(json, `${JSON.stringify(report, undefined, 2)}\n`);
  for (const { name } of report.missed) progress(`missed: ${name}`);
  return strict && report.missed.length > 0 ? EXIT_MISSED : 0;
}

const RUNNERS: ReadonlyMap<string, { readonly summary: string; readonly run: Runner }> = new Map([
  [KUBEDNS_SCALE.name, { summary: KUBEDNS_SCALE.summary, run: runnerOf(KUBEDNS_SCALE) }],
  [KUBEDNS_CHANGES.name, { summary: KUBEDNS_CHANGES.summary, run: runnerOf(KUBEDNS_CHANGES) }],
  [KUBEDNS_QUERIES.name, { summary: KUBEDNS_QUERIES.summary, run: runnerOf(KUBEDNS_QUERIES) }],
]);

function usage(): string {
  const rows = [...RUNNERS].map(([name, { summary }]) => `  ${name.padEnd(18)}${summary}\n`);
  return `usage: bench COMMAND [options], bench COMMAND --help\n\n${rows.join('')}`;
}

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === '--help' || name === '-h') {
    process.stdout.write(usage());
    return 0;
  }
  const command = RUNNERS.get(name ?? '');
  if (command) return command.run(args);
  throw new UsageError(name === undefined ? 'no command' : `no command "${name}"`);
}

for (const [signal, status] of Object.entries(SIGNALS)) {
  process.once(signal, () => {
    isInterrupted = true;
    void owned.close().then(() => process.exit(status));
  });
}

main(process.argv.slice(2)).then(
  (status) => (process.exitCode = status),
  (error: unknown) => {
    // What was interrupted fails in consequence, and the signal's status says all.
    if (isInterrupted) return;
    process.stderr.write(`bench: ${messageOf(error)}\n`);
    if (error instanceof UsageError) process.stderr.write(usage());
    if (!(error instanceof BenchError) && error instanceof Error) {
      process.stderr.write(`${error.stack ?? ''}\n`);
    }
    process.exitCode = error instanceof BenchError ? error.exitCode : 1;
  },
);
