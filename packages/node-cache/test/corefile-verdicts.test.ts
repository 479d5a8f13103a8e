import { afterAll, describe, expect, it } from '@jest/globals';
import {
  findCoreDns,
  freePort,
  needsCoreDns,
  RunningProgram,
  TemporaryFolder,
  unless,
} from '@kube-dns/testkit';
import { CorefileError } from '../src/corefile/corefile-error.js';
import { readServerBlocks } from '../src/corefile/read-server-blocks.js';
import { VERDICTS, type Verdict } from './support/corefile-verdicts.js';

const TIMEOUT_MS = 180_000;
/** CoreDNS prints its version when it serves. */
const ANSWER = /^CoreDNS-|\[ERROR\] Recovered/m;

const folder = new TemporaryFolder();
afterAll(() => folder.close());

function isTakenHere(corefile: string): boolean {
  try {
    readServerBlocks(corefile, `${folder.path}/Corefile`);
    return true;
  } catch (error) {
    if (error instanceof CorefileError) return false;
    throw error;
  }
}

async function isTakenByCoreDns(corefile: string): Promise<boolean> {
  const path = folder.file('Corefile', corefile);
  const program = new RunningProgram('coredns', findCoreDns()!, ['-conf', path]);
  try {
    return await program.waitForLine(ANSWER, { limitMs: 30_000 }).then(
      () => true,
      () => false,
    );
  } finally {
    await program.close();
  }
}

const textOf = (directives: string, port: number) =>
  `.:${port} {\nbind 127.0.0.1\n${directives}\n}\n`;

describe('what a Corefile may say', () => {
  it.each(VERDICTS)('is decided by the table: %j is %s', (directives, verdict) => {
    expect(isTakenHere(textOf(directives, 53))).toBe(verdict === 'taken');
  });

  unless(needsCoreDns(), it)(
    'is what CoreDNS takes, but for the rows that say that only it does',
    async () => {
      const port = await freePort();
      const others: [string, Verdict][] = [];
      for (const [directives, verdict] of VERDICTS) {
        const isTaken = await isTakenByCoreDns(textOf(directives, port));
        if (isTaken !== (verdict !== 'refused')) others.push([directives, verdict]);
      }
      expect(others).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
