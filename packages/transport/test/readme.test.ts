import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

describe('README', () => {
  it('has an example that prints what it says', async () => {
    const readme = await readFile('README.md', 'utf8');
    const example = /^```js\n(.*?)^```/ms.exec(readme)?.[1] ?? '';
    const said = [...example.matchAll(/^ *console\.log\(.*\); \/\/ (.*)$/gm)].map(
      ([, text]) => text,
    );
    const args = ['--input-type=module', '--eval', example];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 10_000 });
    expect(said.length).toBeGreaterThan(0);
    expect(stdout.trimEnd().split('\n')).toEqual(said);
  });
});
