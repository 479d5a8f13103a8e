import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readQuery } from '@kube-dns/wire';
import { decodeMessage, encodeQuery, TemporaryFolder } from '@kube-dns/testkit';
import { recordedLog } from '../../test/recorded-log.js';
import { parseOptions } from '../options/parse-options.js';
import { HostsTable, readHostsFiles } from './hosts-files.js';
import { LocalData } from './local-data.js';

const LINES = 10_000;
/** The clock is looked at after 32 names, and the fourth look ends a turn; two pieces of the file may meet in one. */
const MAX_NAMES_PER_TURN = 2 * 4 * 32 + 2;

let folder: TemporaryFolder;

beforeEach(() => {
  folder = new TemporaryFolder();
});

afterEach(() => folder.close());

const line = (i: number) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255} h${i}.big.example\n`;
const manyLines = () => Array.from({ length: LINES }, (_, i) => line(i)).join('');

/** Does some work while the loop goes on, and calls back in each of its turns. */
async function callEachTurn(work: Promise<void>, onTurn: () => void): Promise<void> {
  const state = { isDone: false };
  const done = work.finally(() => (state.isDone = true));
  while (!state.isDone) {
    await nextTurn();
    onTurn();
  }
  await done;
}

describe('a large hosts file', () => {
  it.each([
    ['many lines', manyLines],
    ['one line', () => `10.0.0.1 ${Array.from({ length: 9_000 }, (_, i) => `n${i}`).join(' ')}`],
  ])('of %s is read a few names at a time, between which queries are answered', async (_, text) => {
    const table = new HostsTable();
    let nowMs = 0;
    const paths = [folder.file('hosts', text())];
    const log = recordedLog();
    const reading = readHostsFiles(table, { paths, domain: '', log, now: () => nowMs++ });
    let before = 0;
    let most = 0;
    await callEachTurn(reading, () => {
      most = Math.max(most, table.size - before);
      before = table.size;
    });
    expect(most).toBeLessThanOrEqual(MAX_NAMES_PER_TURN);
    expect(log.messages[0]).toMatch(/ - (?:10000|9000) names$/);
  });

  it('becomes active as a whole; the previous data is answered until then', async () => {
    const hosts = folder.file('hosts', '10.9.9.9 one.x\n');
    const log = recordedLog();
    const local = new LocalData({ options: parseOptions([]), log, etcHosts: hosts });
    const out = Buffer.alloc(512);
    const answerTo = (name: string) => {
      const length = local.answer(readQuery(encodeQuery({ name })), out);
      return length === 0 ? '' : decodeMessage(Buffer.from(out.subarray(0, length))).texts.join();
    };
    const seen = new Map<string, number>();
    const look = () => {
      const text = ['one.x', 'h0.big.example', 'h9999.big.example'].map(answerTo).join('|');
      seen.set(text, (seen.get(text) ?? 0) + 1);
    };
    try {
      await local.reload();
      folder.file('hosts', `10.8.8.8 one.x\n${manyLines()}`);
      await callEachTurn(local.reload(), look);
      look();
      expect([...seen.keys()]).toEqual(['A 10.9.9.9||', 'A 10.8.8.8|A 10.0.0.0|A 10.0.39.15']);
      // At least one turn for each piece of the file that is read.
      expect(seen.get('A 10.9.9.9||')).toBeGreaterThan(5);
    } finally {
      local.close();
    }
  });
});
