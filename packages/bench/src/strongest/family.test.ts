import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, it } from '@jest/globals';
import { ownedBy, until } from '@kube-dns/testkit';
import { familyOf, familyUsage } from './family.js';

const own = ownedBy(afterEach);
const NO_PID = 2 ** 22 + 1;

/** A shell with a child that sleeps, after one that has used CPU time and ended. */
function startFamily() {
  const work = 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done';
  const shell = spawn('sh', ['-c', `sh -c '${work}'; sleep 60; :`], { stdio: 'ignore' });
  const close = async () => {
    for (const pid of familyOf(shell.pid!).toReversed()) process.kill(pid, 'SIGKILL');
    await once(shell, 'exit');
  };
  own({ close });
  return shell.pid!;
}

it('a family is a process with all below it, and has the CPU time of those that have ended', async () => {
  const pid = startFamily();
  await until(
    'the sleeping child',
    () => familyUsage([pid]).userMs > 0 && familyOf(pid).length === 2,
  );
  expect(familyOf(pid)[0]).toBe(pid);
});

it('a family has the CPU time of those that run, in parts of a tick', () => {
  const own = () => familyUsage([process.pid]).threadMs.get(`${process.pid}`)!;
  const before = own();
  const endMs = performance.now() + 20;
  while (performance.now() < endMs);
  const usedMs = own() - before;
  expect(usedMs).toBeGreaterThan(0);
  expect(usedMs % 10).not.toBe(0);
});

it('a process that has ended has no family and no CPU time', () => {
  expect(familyOf(NO_PID)).toEqual([]);
  expect(familyUsage([NO_PID])).toEqual({ userMs: 0, systemMs: 0, threadMs: new Map() });
});
