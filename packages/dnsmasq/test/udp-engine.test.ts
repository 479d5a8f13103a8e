import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  ask,
  endPrograms,
  type RunningProgram,
  ScriptedNameServer,
  startBundle,
} from '@kube-dns/testkit';
import { messagesOf, PROGRAM } from './processes.js';

const WITHOUT_KOFFI = 'the batch UDP engine needs koffi, which is not installed';
let folder: string;

/** Runs a copy of the program from where there is no node_modules. */
async function runAlone(...args: readonly string[]): Promise<RunningProgram> {
  folder = await mkdtemp(join(tmpdir(), 'udp-engine-'));
  const program = join(folder, 'dnsmasq.cjs');
  await copyFile(PROGRAM, program);
  const common = ['--conf-file=/dev/null', '--no-resolv', '--listen-address=127.0.0.1', '--port=0'];
  return startBundle('dnsmasq', [...common, ...args], { program });
}

afterEach(async () => {
  await endPrograms();
  await rm(folder, { recursive: true, force: true });
});

describe('a program without koffi', () => {
  it('serves with the plain engine and logs the reason', async () => {
    const upstream = await ScriptedNameServer.start(() => ({
      answers: addressRecords(30, '10.0.0.1'),
    }));
    try {
      const run = await runAlone(`--server=${upstream.text}`);
      await run.waitForLine('serving on port');
      expect(messagesOf(run)).toContain(`UDP engine: dgram (${WITHOUT_KOFFI})`);
      const port = Number(/serving on port (\d+)/.exec(run.stderr)![1]);
      expect((await ask(port, 'a.example')).texts).toEqual(['A 10.0.0.1']);
    } finally {
      await upstream.close();
    }
  });

  it('ends with one line when it shall be the batch engine', async () => {
    const run = await runAlone('--udp-engine=batch');
    expect(await run.ended).toBe(5);
    expect(run.stderr).toContain(WITHOUT_KOFFI);
  });

  it('refuses an engine that there is not', async () => {
    const run = await runAlone('--udp-engine=raw');
    expect(await run.ended).toBe(1);
    expect(run.stderr).toContain('--udp-engine: "raw" is none of auto, batch, dgram');
  });
});
