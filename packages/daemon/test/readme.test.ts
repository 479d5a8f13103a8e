import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { expect, it } from '@jest/globals';

import { until } from './until.js';

const folder = fileURLToPath(new URL('..', import.meta.url));

it('runs the example of the README', async () => {
  const readme = readFileSync(`${folder}README.md`, 'utf8');
  const example = /```js\n([^]*?)```/.exec(readme)![1]!.replace('intFlag(10055,', 'intFlag(0,');
  const child = spawn(process.execPath, ['--input-type=module', '--eval', example], {
    cwd: folder,
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const exit = once(child, 'close');
  try {
    await until(() => stderr.includes('metrics on port'));
    const port = /metrics on port (\d+)/.exec(stderr)![1]!;
    const response = await fetch(`http://127.0.0.1:${port}/metrics`);
    expect(await response.text()).toContain('process_start_time_seconds');
    child.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
  } finally {
    child.kill('SIGKILL');
    await exit;
  }
});
