import { writeFileSync } from 'node:fs';
import type { Owned } from '../owned.js';
import { describeMachine } from '../report/machine.js';
import { Report } from '../report/report.js';
import type { Options, OptionValues } from './command-options.js';
import type { Command, ProgramValues } from './command.js';

const EXIT_MISSED = 1;

/** Runs a command and prints its report; returns the exit status. Closes `owned`. */
export async function measure<T extends Options>(
  command: Command<T>,
  values: OptionValues<T>,
  { owned, progress }: { readonly owned: Owned; readonly progress: (text: string) => void },
): Promise<number> {
  // Every command has these options; a measurement also has `strict`.
  const { node, json, strict } = values as unknown as ProgramValues & { readonly strict?: boolean };
  const isStrict = command.isStrict ?? strict === true;
  const report = new Report(command.name, await describeMachine(node), values);
  try {
    await command.run(values, { report, owned, progress });
  } finally {
    await owned.close();
  }
  process.stdout.write(command.format === 'markdown' ? report.toMarkdown() : report.toText());
  if (json !== '') writeFileSync(json, `${JSON.stringify(report, undefined, 2)}\n`);
  for (const { name } of report.missed) progress(`missed: ${name}`);
  return isStrict && report.missed.length > 0 ? EXIT_MISSED : 0;
}
