import { describeOptions, parseOptions, type Options } from './command-options.js';
import type { Command } from './commands/command.js';
import { DNS } from './commands/dns.js';
import { DNSMASQ_LOAD } from './commands/dnsmasq-load.js';
import { KUBEDNS_CHANGES } from './commands/kubedns-changes.js';
import { KUBEDNS_QUERIES } from './commands/kubedns-queries.js';
import { KUBEDNS_SCALE } from './commands/kubedns-scale.js';
import { measure } from './commands/measure.js';
import { BenchError, messageOf, UsageError } from './errors.js';
import { Owned } from './owned.js';

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
    return measure(command, values, { owned, progress });
  };
}

function entryOf<T extends Options>(command: Command<T>) {
  return [command.name, { summary: command.summary, run: runnerOf(command) }] as const;
}

const RUNNERS: ReadonlyMap<string, { readonly summary: string; readonly run: Runner }> = new Map([
  entryOf(DNS),
  entryOf(DNSMASQ_LOAD),
  entryOf(KUBEDNS_SCALE),
  entryOf(KUBEDNS_CHANGES),
  entryOf(KUBEDNS_QUERIES),
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
