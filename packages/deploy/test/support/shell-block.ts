import { RunningProgram } from '@kube-dns/testkit';
import { ROOT } from './root.js';

/** The commands of the first `sh` block of a section of a Markdown text, one a line, without comments. */
export function shellBlock(markdown: string, heading: string): string[] {
  return shellBlocks(markdown, heading)[0] ?? [];
}

/** As {@link shellBlock}, of every block of the section; throws where there is none. */
export function shellBlocks(markdown: string, heading: string): string[][] {
  const section = markdown.split(/^## /m).find((each) => each.startsWith(`${heading}\n`));
  const blocks = [...(section ?? '').matchAll(/```sh\n(.*?)```/gs)].map(([, text = '']) => text);
  if (blocks.length === 0) throw new Error(`no commands under "${heading}"`);
  return blocks.map(commandsOf);
}

function commandsOf(block: string): string[] {
  return block
    .replaceAll(/\s*\\\n\s*/g, ' ')
    .split('\n')
    .map((line) => line.replace(/(^|\s)#.*/, '').trim())
    .filter((line) => line !== '');
}

/** The one command of a block that has this word, or runs this program. */
export function commandWith(commands: readonly string[], word: string): string {
  const [found, ...others] = commands.filter((line) =>
    line.split(' ').some((each) => each === word || each.endsWith(`.bin/${word}`)),
  );
  if (found === undefined || others.length > 0) throw new Error(`not one command with ${word}`);
  return found;
}

/** Parts of a command (ports, files, addresses) and their replacements in a test. */
export type Replacements = ReadonlyMap<string, string>;

/** A command with these replacements, except within longer words. */
export function replaceAll(command: string, replacements: Replacements): string {
  const keys = [...replacements.keys()].map((key) => key.replace(/[$.]/g, '\\$&'));
  const pattern = new RegExp(`(?<![\\w.])(?:${keys.join('|')})(?![\\w])`, 'g');
  return command.replace(pattern, (key) => replacements.get(key) ?? key);
}

/** Programs of the repository, started as a README's `NAME=value node_modules/.bin/PROGRAM ARGUMENTS &` has it. */
export class CheckoutCommands {
  readonly #programs: RunningProgram[] = [];

  start(command: string, ...more: readonly string[]): void {
    const match = /^((?:\w+=\S+ )*)node_modules\/\.bin\/(\w+) (.*?)(?: &)?$/.exec(command);
    if (match === null) throw new Error(`no program: ${command}`);
    const [, assignments = '', name = '', words = ''] = match;
    const variables = [...assignments.matchAll(/(\w+)=(\S+)/g)].map(
      ([, variable = '', value = '']): [string, string] => [variable, value],
    );
    const program = `${ROOT}packages/${name}/dist/${name}.cjs`;
    const args = [program, ...words.split(' '), ...more];
    const options = { env: Object.fromEntries(variables), inheritsEnv: true };
    this.#programs.push(new RunningProgram(name, process.execPath, args, options));
  }

  /** The output of all of them. */
  get log(): string {
    return this.#programs.map(({ output }) => output).join('');
  }

  async close(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.close('SIGTERM')));
  }
}
