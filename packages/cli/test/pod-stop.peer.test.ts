import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { isAlive, needsPrograms, RunningProgram, unless, until } from '@kube-dns/testkit';
import { LocalPod } from './support/local-pod.js';
import { PROGRAM } from './support/run-command.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const READY = /is ready after [0-9.]+ s\. In another shell/;

let pod: LocalPod;
let command: RunningProgram;

beforeEach(async () => {
  pod = new LocalPod();
  await pod.prepare();
});

afterEach(async () => {
  for (const pid of containers().filter(isAlive)) process.kill(pid, 'SIGKILL');
  if (command.isRunning) process.kill(-command.pid, 'SIGKILL');
  await pod.close();
});

/** Starts the pod as a shell does: in a process group of its own. */
async function start(...words: string[]): Promise<void> {
  const line = [...words, 'up', '--manifest', pod.manifest];
  command = new RunningProgram('kube-dns', 'setsid', line, { inheritsEnv: true, cwd: ROOT });
  await command.waitForLine(READY);
}

/** The processes of the containers, from the headers of their log lines. */
const containers = () =>
  [...command.output.matchAll(/^\w+ +\| [IWE]\d+ [\d:.]+ +(\d+) /gm)].map(([, pid]) => Number(pid));

/** Those lines of a log that are no information. */
const warnings = (log: string) => log.split('\n').filter((line) => /\| [^I]\d{4} /.test(line));

unless(needsPrograms('setsid'), describe)('the pod of `npm start`', () => {
  it.each([
    ['kube-dns', [process.execPath, PROGRAM], 0],
    // npm ends by the signal that its shell ended by.
    ['npx', ['npx', 'kube-dns'], 'SIGINT'],
  ])('ends after Ctrl-C at %s without a warning', async (_what, words, expected) => {
    await start(...words);
    process.kill(-command.pid, 'SIGINT');
    const end = await command.ended;
    const [, stopping = 'nothing'] = command.output.split('stopping; press Ctrl-C again');
    expect(warnings(stopping)).toEqual([]);
    expect(command.stderr).not.toMatch(/error/i);
    expect(end).toBe(expected);
    expect(containers().filter(isAlive)).toEqual([]);
  });

  it('ends when npx gets SIGTERM', async () => {
    await start('npx', 'kube-dns');
    command.signal('SIGTERM');
    await until('the end of all', () => !containers().some(isAlive));
  });

  it('ends when kube-dns is killed', async () => {
    await start(process.execPath, PROGRAM);
    command.signal('SIGKILL');
    await until('the end of all', () => !containers().some(isAlive));
  });
});
