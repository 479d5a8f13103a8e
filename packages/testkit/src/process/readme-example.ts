import { MeasureError } from '../errors.js';
import { runProgram } from './running-program.js';

/** The output of an example of a README, and the expected output from the comments after its `console.log`. */
export interface ExampleLines {
  readonly printed: readonly string[];
  readonly expected: readonly string[];
}

/** Runs the first `js` block of a README, in the folder of this process; throws when it fails. */
export async function runExample(readme: string): Promise<ExampleLines> {
  const example = /^```js\n(.*?)^```/ms.exec(readme)?.[1] ?? '';
  const expected = [...example.matchAll(/^ *console\.log\(.*\); \/\/ (.*)$/gm)].map(
    ([, text = '']) => text,
  );
  const args = ['--input-type=module', '--eval', example];
  const { end, stdout, stderr } = await runProgram(process.execPath, args);
  if (end !== 0) throw new MeasureError(`the example ended with ${end}: ${stderr}`);
  return { printed: stdout.trimEnd().split('\n'), expected };
}
