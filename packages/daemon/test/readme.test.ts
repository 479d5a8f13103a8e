import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { expect, it } from '@jest/globals';

import { until } from '@kube-dns/testkit';
import { processFamilies } from '../src/metrics/process-families.js';

const folder = fileURLToPath(new URL('..', import.meta.url));

const readme = readFileSync(`${folder}README.md`, 'utf8');

it('names every metric of the process in the README, and no other', () => {
  const served = processFamilies().map(({ name }) => name);
  const section = readme.slice(
    readme.indexOf('## Metrics'),
    readme.indexOf('## Configuration directory'),
  );
  const named = [...section.matchAll(/`(process_\w+)`/g)].map((match) => match[1]!);
  expect(named.sort()).toEqual(served.sort());
});

it('runs the example of the README', async () => {
  const example = /```js\n([^]*?)```/.exec(readme)![1]!.replace('portFlag(10055,', 'portFlag(0,');
  const child = spawn(process.execPath, ['--input-type=module', '--eval', example], {
    cwd: folder,
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const exit = once(child, 'close');
  try {
    await until(() => stderr.includes('serving /metrics on port'));
    const port = /serving \/metrics on port (\d+)/.exec(stderr)![1]!;
    const response = await fetch(`http://127.0.0.1:${port}/metrics`);
    const text = await response.text();
    expect(text).toContain('example_answer 42\n');
    expect(text).toContain('process_start_time_seconds');
    child.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
  } finally {
    child.kill('SIGKILL');
    await exit;
  }
});
