import { hideUrlSecrets, hint, type Options, switchOption, UsageError } from '@kube-dns/base';
import {
  flagRows,
  helpFlag,
  parseCommand,
  type Command,
  type CommandContext,
  type Commands,
} from './command.js';
import { check } from './check/check.js';
import { CHECK_FLAGS } from './check/options.js';
import { compare } from './compare/compare.js';
import { COMPARE_FLAGS } from './compare/options.js';
import { bashCompletion, fishCompletion, zshCompletion } from './completion.js';
import { convert, CONVERT_FLAGS } from './convert/convert.js';
import { CliError } from './errors.js';
import { explain } from './explain/explain.js';
import { EXPLAIN_FLAGS } from './explain/options.js';
import { TAIL_FLAGS, TOP_FLAGS } from './queries/options.js';
import { tail } from './queries/tail.js';
import { top } from './queries/top.js';
import { up, UP_FLAGS } from './up/up.js';

const EXIT_USAGE = 2;

/** The program `kube-dns` with these arguments: resolves with its status, after one line on stderr for an error of the user. */
export async function kubeDns(args: readonly string[], context: CommandContext): Promise<number> {
  try {
    return await run(args, context);
  } catch (error) {
    const isUsage = error instanceof UsageError;
    if (!isUsage && !(error instanceof CliError)) throw error;
    context.stderr.write(`kube-dns: ${hideUrlSecrets(error.message)}\n`);
    return isUsage ? EXIT_USAGE : error.exitCode;
  }
}

async function run(args: readonly string[], context: CommandContext): Promise<number> {
  const [name, ...rest] = args;
  if (name !== undefined && !name.startsWith('-')) return commandOf(name).run(rest, context);
  const given = parseCommand('kube-dns', PROGRAM_FLAGS, args);
  if (given === 'help') context.stdout.write(usage());
  else if (given.values.version) {
    context.stdout.write(`kube-dns ${process.env.KUBE_DNS_VERSION ?? 'unknown'}\n`);
  } else {
    const names = [...COMMANDS.keys()].join(', ');
    throw new UsageError(`a command is missing: ${names}; see kube-dns --help`);
  }
  return 0;
}

/** The flags of the program itself. */
export const PROGRAM_FLAGS = {
  help: helpFlag('show this text, or that of a command'),
  version: switchOption('show the version'),
} satisfies Options;

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;
const ONLY_HELP = { help: helpFlag() };

const PROGRAMS = new Map<string, Command>([
  ['up', { summary: 'run the DNS pod on this machine', flags: UP_FLAGS, run: up }],
  [
    'check',
    {
      summary: 'say what is wrong with the DNS of a cluster',
      flags: CHECK_FLAGS,
      operand: { value: 'FILE' },
      run: check,
    },
  ],
  [
    'compare',
    {
      summary: 'show where two name servers answer differently',
      flags: COMPARE_FLAGS,
      run: compare,
    },
  ],
  [
    'explain',
    {
      summary: 'say why a name is answered as it is',
      flags: EXPLAIN_FLAGS,
      operand: { value: 'NAME' },
      run: explain,
    },
  ],
  ['top', { summary: 'show who asks most, and for which names', flags: TOP_FLAGS, run: top }],
  [
    'tail',
    {
      summary: 'print each answer as it is given',
      flags: TAIL_FLAGS,
      operand: { value: 'NAME' },
      run: tail,
    },
  ],
  [
    'convert',
    {
      summary: 'between kube-dns and CoreDNS, and manifests to ours',
      flags: CONVERT_FLAGS,
      operand: { value: 'FILE' },
      run: convert,
    },
  ],
]);

/** The commands of `kube-dns`. */
export const COMMANDS: Commands = new Map<string, Command>([
  ...PROGRAMS,
  [
    'help',
    {
      summary: 'show this text, or that of a command',
      flags: ONLY_HELP,
      operand: { value: 'COMMAND', choices: [...PROGRAMS.keys(), 'completion'] },
      run: help,
    },
  ],
  [
    'completion',
    {
      summary: 'print what makes a shell complete commands, flags and files',
      flags: ONLY_HELP,
      operand: { value: 'SHELL', choices: Object.keys(SHELLS) },
      run: completion,
    },
  ],
]);

/** The command of this name; throws a UsageError that suggests another. */
function commandOf(name: string): Command {
  const command = COMMANDS.get(name);
  if (command !== undefined) return command;
  const known = [...COMMANDS.keys(), '--version'];
  throw new UsageError(`unknown command ${name}${hint(name, known, 'kube-dns')}`);
}

function usage(): string {
  const commands = [...COMMANDS].map(([name, { summary }]) => `  ${name.padEnd(12)}${summary}`);
  return `Usage: kube-dns COMMAND [flags]

Commands:
${commands.join('\n')}

Flags:
${flagRows(PROGRAM_FLAGS)}
`;
}

function help(args: readonly string[], context: CommandContext): number | Promise<number> {
  const name = operandOf('help', args);
  if (name !== undefined && name !== 'help') return commandOf(name).run(['--help'], context);
  context.stdout.write(usage());
  return 0;
}

function completion(args: readonly string[], { stdout }: CommandContext): number {
  const shells = Object.keys(SHELLS);
  const shell = operandOf('completion', args);
  if (shell === 'help') {
    stdout.write(COMPLETION_USAGE);
    return 0;
  }
  if (shell === undefined) throw new UsageError(`a shell is missing: ${shells.join(', ')}`);
  const script = Object.entries(SHELLS).find(([name]) => name === shell)?.[1];
  if (script === undefined) {
    throw new UsageError(`unknown shell ${shell}${hint(shell, shells, 'kube-dns completion')}`);
  }
  stdout.write(script({ commands: COMMANDS, flags: PROGRAM_FLAGS }));
  return 0;
}

const COMPLETION_USAGE = `Usage: kube-dns completion ${Object.keys(SHELLS).join('|')}

Prints what makes the shell complete the commands, flags and files of kube-dns.

  bash    source <(kube-dns completion bash)       in ~/.bashrc
  zsh     source <(kube-dns completion zsh)        in ~/.zshrc, after compinit
  fish    kube-dns completion fish | source        in ~/.config/fish/config.fish
`;

/** The one argument of a command; 'help' for `--help`. */
function operandOf(command: string, args: readonly string[]): string | undefined {
  const given = parseCommand(`kube-dns ${command}`, ONLY_HELP, args, 1);
  return given === 'help' ? given : given.operands[0];
}
