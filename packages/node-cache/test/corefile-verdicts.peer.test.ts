import { afterAll, expect, it } from '@jest/globals';
import {
  findCoreDns,
  freePort,
  needsCoreDns,
  RunningProgram,
  TemporaryFolder,
  unless,
} from '@kube-dns/testkit';
import { corefileWith, VERDICTS, type Verdict } from './support/corefile-verdicts.js';

/** CoreDNS prints its version when it serves. */
const ANSWER = /^CoreDNS-|\[ERROR\] Recovered/m;

const folder = new TemporaryFolder();
afterAll(() => folder.close());

async function isTakenByCoreDns(corefile: string): Promise<boolean> {
  const path = folder.file('Corefile', corefile);
  const program = new RunningProgram('coredns', findCoreDns()!, ['-conf', path]);
  try {
    return await program.waitForLine(ANSWER).then(
      () => true,
      () => false,
    );
  } finally {
    await program.close();
  }
}

unless(needsCoreDns(), it)(
  'what a Corefile may say is what CoreDNS takes, but for the rows that say that only it does',
  async () => {
    const port = await freePort();
    const others: [string, Verdict][] = [];
    for (const [directives, verdict] of VERDICTS) {
      const isTaken = await isTakenByCoreDns(corefileWith(directives, port));
      if (isTaken !== (verdict !== 'refused')) others.push([directives, verdict]);
    }
    expect(others).toEqual([]);
  },
  180_000,
);
