import { parseArguments, UsageError } from '@kube-dns/base';
import type { CommandContext } from './command.js';
import { commandOf, COMMANDS, PROGRAM_FLAGS, usage } from './commands.js';
import { CliError } from './errors.js';

const EXIT_USAGE = 2;

/** The program `kube-dns` with these arguments: resolves with its status, after one line on stderr for an error of the user. */
export async function kubeDns(args: readonly string[], context: CommandContext): Promise<number> {
  try {
    return await run(args, context);
  } catch (error) {
    const isUsage = error instanceof UsageError;
    if (!isUsage && !(error instanceof CliError)) throw error;
    context.stderr.write(`kube-dns: ${error.message}\n`);
    return isUsage ? EXIT_USAGE : error.exitCode;
  }
}

async function run(args: readonly string[], context: CommandContext): Promise<number> {
  const [name, ...rest] = args;
  if (name !== undefined && !name.startsWith('-')) return commandOf(name).run(rest, context);
  const { values } = parseArguments({ args: [...args], options: PROGRAM_FLAGS }, 'kube-dns');
  if (values.help === true) context.stdout.write(usage());
  else if (values.version === true) {
    context.stdout.write(`kube-dns ${process.env.KUBE_DNS_VERSION ?? 'unknown'}\n`);
  } else {
    const names = [...COMMANDS.keys()].join(', ');
    throw new UsageError(`a command is missing: ${names}; see kube-dns --help`);
  }
  return 0;
}
