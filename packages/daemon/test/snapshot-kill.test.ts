import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { TemporaryFolder } from '@kube-dns/testkit';
import { SnapshotFile, type SnapshotHeader } from '../src/snapshot.js';

const LINES = 2_000;
const LINE = 'x'.repeat(200);
const KILLS = 30;
const AT_A_TIME = 4;
const MAX_DELAY_MS = 100;

/** Writes one snapshot after the other until it is killed; says when the first one is written. It loads no more than it needs. */
const WRITER = `
  import { SnapshotFile } from './dist/snapshot.js';
  const log = { info() {}, warn: console.error };
  const file = new SnapshotFile({ path: process.argv[1], kind: 'test', maxAgeMs: Infinity, log });
  for (let n = 0; ; n++) {
    const lines = Array.from({ length: ${LINES} }, (_, i) => n + ' ' + i + '${LINE}');
    await file.write({ kind: 'test', writtenMs: Date.now(), n }, lines);
    if (n === 0) console.log('written');
  }
`;

/** A process that is killed at a moment of its writing. */
async function killedWriter(path: string): Promise<void> {
  const args = ['--input-type=module', '--eval', WRITER, path];
  const cwd = fileURLToPath(new URL('..', import.meta.url));
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  try {
    await Promise.race([once(child.stdout, 'data'), ended]);
    await setTimeout(Math.random() * MAX_DELAY_MS);
  } finally {
    child.kill('SIGKILL');
  }
  expect(await ended).toEqual([null, 'SIGKILL']);
}

it('is whole after a process was killed while it wrote it, at any moment', async () => {
  const folder = new TemporaryFolder();
  const path = join(folder.path, 'snapshot');
  const said: string[] = [];
  const log = { info: (line: string) => said.push(line), warn: (line: string) => said.push(line) };
  let kills = 0;
  const killer = async () => {
    while (kills < KILLS) {
      kills++;
      await killedWriter(path);
      const file = new SnapshotFile({ path, kind: 'test', maxAgeMs: 3_600_000, log });
      const snapshot = await file.read<SnapshotHeader & { n: number }>();
      const lines: string[] = [];
      for await (const line of snapshot?.lines ?? []) lines.push(line);
      expect(said).toEqual([]);
      const { n } = snapshot!.header;
      expect(lines).toHaveLength(LINES);
      expect(lines.every((line, i) => line === `${n} ${i}${LINE}`)).toBe(true);
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_A_TIME }, killer));
  } finally {
    await folder.close();
  }
});
