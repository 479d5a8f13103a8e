import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { USAGE } from '../src/program-options.js';
import { closeAll, get, onClose, send, startServer } from './harness.js';

const run = promisify(execFile);

function readme(): Promise<string> {
  return readFile(new URL('../README.md', import.meta.url), 'utf8');
}

afterEach(closeAll);

describe('the README', () => {
  it('has an example that prints the values in its comments', async () => {
    const [, example = ''] = /```js\n(.*?)```/s.exec(await readme()) ?? [];
    const built = new URL('../dist/index.js', import.meta.url).href;
    const folder = await mkdtemp(join(tmpdir(), 'apiserver-readme-'));
    onClose(() => rm(folder, { recursive: true }));
    const file = join(folder, 'example.mjs');
    await writeFile(file, example.replace('@kube-dns/apiserver', built));
    const { stdout } = await run(process.execPath, [file]);
    const expected = [...example.matchAll(/console\.log.*\/\/ (.*)$/gm)].map(([, text]) => text);
    expect(expected).toHaveLength(2);
    expect(stdout.trim().split('\n')).toEqual(expected);
  });

  it('names the flags that the program has', async () => {
    const flagsOf = (text: string) => new Set(text.match(/--[a-z][a-z-]+/g));
    const table = /## The program\n\n(.*?)\n\n/s.exec(await readme())?.[1] ?? '';
    expect(flagsOf(table)).toEqual(flagsOf(USAGE));
  });

  it('names switches that exist', async () => {
    const server = await startServer();
    const section = /## Switches for tests(.*?)\n## /s.exec(await readme())?.[1] ?? '';
    const rows = section
      .split('\n')
      .filter((line) => line.startsWith('| `') && !line.includes('GET'));
    const names = rows.flatMap((row) =>
      [...row.split('|')[2]!.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name!),
    );
    expect(names).toHaveLength(12);
    for (const name of names) {
      expect((await send(server, 'POST', `/_test/${name}`)).status).not.toBe(404);
      if (name === 'hang') server.unhang();
      if (name === 'restart')
        await until('the end of the restart', () => get(server, '/readyz').catch(() => false));
    }
  });
});
