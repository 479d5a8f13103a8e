import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { queryFor, readAnswer } from '@kube-dns/resolver/testing';
import { threadCpuMs } from '@kube-dns/testkit';
import { recordedLog } from '../../test/recorded-log.js';
import { parseOptions } from '../options/parse-options.js';
import { LocalData } from './local-data.js';

const LINES = 100_000;
/**
 * Processor time of the thread in one turn: wall time includes other programs, and the time of the process
 * its other threads, which compile and collect garbage while the loop goes on.
 */
const MAX_STALL_MS = 100;
/** A collection of garbage may fall into any turn, but not into one of each reading. */
const READINGS = 3;
/** Each reading computes for a quarter of a second: ten times as long beside much other work. */
const LIMIT_MS = 60_000;

let folder: string;
let hosts: string;
let local: LocalData;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dnsmasq-hosts-'));
  hosts = join(folder, 'hosts');
  local = new LocalData({ options: parseOptions([]), log: recordedLog(), etcHosts: hosts });
});

afterEach(() => {
  local.close();
  rmSync(folder, { recursive: true });
});

const line = (i: number) =>
  `10.${i >> 16}.${(i >> 8) & 255}.${i & 255} host-${i}.big.example h${i}\n`;
const manyLines = () => Array.from({ length: LINES }, (_, i) => line(i)).join('');

const out = Buffer.alloc(4_096);

function answerTo(name: string): string | undefined {
  const length = local.answer(queryFor({ name }), out);
  return length === 0 ? undefined : readAnswer(Buffer.from(out.subarray(0, length))).texts.join();
}

/** Reads the files while the loop goes on, and calls back in each of its turns meanwhile. */
async function reloadCalling(onTurn: () => void): Promise<void> {
  let isLoading = true;
  const loading = local.reload().finally(() => (isLoading = false));
  const turn = () => {
    onTurn();
    if (isLoading) setImmediate(turn);
  };
  setImmediate(turn);
  await loading;
}

describe('a hosts file of 100,000 lines', () => {
  it(
    'is read without holding up answers',
    async () => {
      writeFileSync(hosts, manyLines());
      const stallsMs: number[] = [];
      let turns = 0;
      for (let reading = 0; reading < READINGS; reading++) {
        let last = threadCpuMs();
        let longestMs = 0;
        await reloadCalling(() => {
          const now = threadCpuMs();
          longestMs = Math.max(longestMs, now - last);
          last = now;
          turns++;
        });
        stallsMs.push(longestMs);
      }
      expect(answerTo(`host-${LINES - 1}.big.example`)).toBe('A 10.1.134.159');
      expect(answerTo('h70000')).toBe('A 10.1.17.112');
      expect(Math.min(...stallsMs)).toBeLessThan(MAX_STALL_MS);
      expect(turns).toBeGreaterThan(20 * READINGS);
    },
    LIMIT_MS,
  );

  it(
    'becomes active as a whole; the previous data is answered until then',
    async () => {
      writeFileSync(hosts, '10.9.9.9 one.x\n');
      await local.reload();
      writeFileSync(hosts, `10.8.8.8 one.x\n${manyLines()}`);
      const seen: string[] = [];
      await reloadCalling(() => {
        seen.push(`${answerTo('one.x')} ${answerTo('h0')} ${answerTo(`h${LINES - 1}`)}`);
      });
      seen.push(`${answerTo('one.x')} ${answerTo('h0')} ${answerTo(`h${LINES - 1}`)}`);
      expect(
        seen.filter((each) => each === 'A 10.9.9.9 undefined undefined').length,
      ).toBeGreaterThan(20);
      expect([...new Set(seen)]).toEqual([
        'A 10.9.9.9 undefined undefined',
        'A 10.8.8.8 A 10.0.0.0 A 10.1.134.159',
      ]);
    },
    LIMIT_MS,
  );

  it('may have all its names in one line', async () => {
    writeFileSync(hosts, `10.0.0.1 ${Array.from({ length: 9_000 }, (_, i) => `n${i}`).join(' ')}`);
    await local.reload();
    expect(answerTo('n8999')).toBe('A 10.0.0.1');
  });
});
