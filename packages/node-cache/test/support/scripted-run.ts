import { type CommandResult, NOT_INSTALLED, type Run } from '../../src/network/command.js';

/** What a command that starts with these words ends with: its stdout, or more of it. */
export type Script = Readonly<Record<string, string | Partial<CommandResult>>>;

/** A machine on which each command is recorded and ends as a script says; without a line there, as not installed. */
export class ScriptedRun {
  /** The commands in order; input follows after ` <<< `. */
  readonly commands: string[] = [];
  #script: Script;

  constructor(script: Script) {
    this.#script = script;
  }

  readonly run: Run = (words, input) => {
    const command = words.join(' ');
    this.commands.push(input === undefined ? command : `${command} <<< ${input}`);
    // The longest line that fits.
    const [start] = Object.keys(this.#script)
      .filter((each) => command.startsWith(each))
      .sort((a, b) => b.length - a.length);
    const result = start === undefined ? { status: NOT_INSTALLED } : this.#script[start]!;
    const given = typeof result === 'string' ? { stdout: result } : result;
    return Promise.resolve({ status: 0, stdout: '', stderr: '', ...given });
  };

  /** From now on these lines are different. */
  change(script: Script): void {
    this.#script = { ...this.#script, ...script };
  }

  /** The commands so far; the next call returns later ones. */
  take(): readonly string[] {
    return this.commands.splice(0);
  }
}
