import { join } from 'node:path';
import { hint, parseArguments, UsageError } from '@kube-dns/daemon';
import { compare } from './compare/compare.js';
import { convert } from './convert/convert.js';
import { CliError } from './errors.js';
import { up } from './up/up.js';

interface Command {
  readonly summary: string;
  /** Resolves with the process's status. */
  readonly run: (args: readonly string[], repository: string) => Promise<number>;
}

const COMMANDS: ReadonlyMap<string, Command> = new Map([
  ['up', { summary: 'run the DNS pod on this machine', run: up }],
  ['compare', { summary: 'show where two name servers answer differently', run: compare }],
  ['convert', { summary: 'between kube-dns and CoreDNS, and manifests to ours', run: convert }],
]);

/** The bundle is packages/cli/dist/kube-dns.cjs of the repository. */
const REPOSITORY = join(__dirname, '..', '..', '..');
const EXIT_USAGE = 2;
/** How long the process waits at most for a reader to take the last lines of output. */
const FLUSH_MS = 1_000;

function usage(): string {
  const commands = [...COMMANDS].map(([name, { summary }]) => `  ${name.padEnd(10)}${summary}`);
  return [
    'Usage: kube-dns COMMAND [flags]',
    '',
    'Commands:',
    ...commands,
    '',
    'Flags:',
    '  -h, --help     show this text, or that of a command',
    '  --version      show the version',
    '',
  ].join('\n');
}

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  const command = COMMANDS.get(name ?? '');
  if (command !== undefined) return command.run(rest, REPOSITORY);
  if (name !== undefined && !name.startsWith('-')) {
    throw new UsageError(`unknown command ${name}${hint(name, COMMANDS.keys(), 'kube-dns')}`);
  }
  const options = { help: { type: 'boolean', short: 'h' }, version: { type: 'boolean' } } as const;
  const { values } = parseArguments({ args: [...args], options }, 'kube-dns');
  if (values.help === true) process.stdout.write(usage());
  else if (values.version === true) {
    process.stdout.write(`kube-dns ${process.env.KUBE_DNS_VERSION ?? 'unknown'}\n`);
  } else {
    const names = [...COMMANDS.keys()].join(', ');
    throw new UsageError(`a command is missing: ${names}; see kube-dns --help`);
  }
  return 0;
}

function reportError(error: unknown): number {
  const isUsage = error instanceof UsageError;
  if (!isUsage && !(error instanceof CliError)) throw error;
  process.stderr.write(`kube-dns: ${error.message}\n`);
  return isUsage ? EXIT_USAGE : error.exitCode;
}

// A reader that closes the pipe (`kube-dns … | head`) is no reason for a stack trace.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

void main(process.argv.slice(2))
  .catch(reportError)
  .then((status) => {
    process.exitCode = status;
    setTimeout(() => process.exit(status), FLUSH_MS).unref();
  });
