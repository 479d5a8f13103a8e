import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { freePort } from './free-port.js';

const MODULE = fileURLToPath(new URL('../../dist/process/free-port.js', import.meta.url));

it('a free port is given once, also when several ask at the same time', async () => {
  const ports = await Promise.all(Array.from({ length: 100 }, freePort));
  expect(new Set(ports).size).toBe(100);
});

it('a free port is one that no other process was given', async () => {
  const taken = new Set(await Promise.all(Array.from({ length: 40 }, freePort)));
  // It begins where this process did.
  const script = `Object.defineProperty(process, 'pid', { value: ${process.pid} });
    const { freePort } = await import(${JSON.stringify(MODULE)});
    for (let i = 0; i < 40; i++) console.log(await freePort());`;
  const args = ['--input-type=module', '-e', script];
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const others = stdout.trim().split('\n').map(Number);
  expect(others).toHaveLength(40);
  expect(others.filter((port) => taken.has(port))).toEqual([]);
});
