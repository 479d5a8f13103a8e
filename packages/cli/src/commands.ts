import { hint, parseArguments, UsageError } from '@kube-dns/base';
import type { Command, CommandContext, Commands } from './command.js';
import { bashCompletion } from './completion/bash.js';
import { fishCompletion } from './completion/fish.js';
import { zshCompletion } from './completion/zsh.js';
import { compare } from './compare/compare.js';
import { COMPARE_FLAGS } from './compare/options.js';
import { convert } from './convert/convert.js';
import { CONVERT_FLAGS } from './convert/options.js';
import { explain } from './explain/explain.js';
import { EXPLAIN_FLAGS } from './explain/options.js';
import { flagRows, type FlagTable, HELP_FLAG } from './flag-table.js';
import { UP_FLAGS } from './up/options.js';
import { up } from './up/up.js';

/** The flags of the program itself. */
export const PROGRAM_FLAGS = {
  help: { ...HELP_FLAG, text: 'show this text, or that of a command' },
  version: { type: 'boolean', text: 'show the version' },
} as const satisfies FlagTable;

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;
const ONLY_HELP = { help: HELP_FLAG } as const;

const PROGRAMS = new Map<string, Command>([
  ['up', { summary: 'run the DNS pod on this machine', flags: UP_FLAGS, run: up }],
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
export function commandOf(name: string): Command {
  const command = COMMANDS.get(name);
  if (command !== undefined) return command;
  const known = [...COMMANDS.keys(), '--version'];
  throw new UsageError(`unknown command ${name}${hint(name, known, 'kube-dns')}`);
}

/** The text of `kube-dns --help`. */
export function usage(): string {
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
  const config = { args: [...args], allowPositionals: true, options: ONLY_HELP };
  const { values, positionals } = parseArguments(config, `kube-dns ${command}`);
  if (values.help === true) return 'help';
  const [operand, ...more] = positionals;
  if (more.length > 0) throw new UsageError(`${JSON.stringify(more[0])} is one argument too many`);
  return operand;
}
