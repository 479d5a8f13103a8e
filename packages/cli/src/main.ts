import { join } from 'node:path';
import { parseArguments, UsageError } from '@kube-dns/daemon';
import { commandOf, COMMANDS, PROGRAM_FLAGS, usage } from './commands.js';
import { CliError } from './errors.js';

/** The bundle is packages/cli/dist/kube-dns.cjs of the repository. */
const REPOSITORY = join(__dirname, '..', '..', '..');
const EXIT_USAGE = 2;
/** How long the process waits at most for a reader to take the last lines of output. */
const FLUSH_MS = 1_000;

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name !== undefined && !name.startsWith('-')) return commandOf(name).run(rest, REPOSITORY);
  const { values } = parseArguments({ args: [...args], options: PROGRAM_FLAGS }, 'kube-dns');
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
