import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TemporaryFolder } from '@kube-dns/testkit';
import { compareAsJson, runCompare } from './support/compare-run.js';
import { type ComparedReply, ScriptedServer } from './support/scripted-server.js';

const ANSWER: ComparedReply = { answers: [{ type: 'A', data: '10.0.0.1' }] };
const OTHER: ComparedReply = { answers: [{ type: 'A', data: '10.0.0.2' }] };

let folder: TemporaryFolder;
let left: ScriptedServer;
let right: ScriptedServer;
let args: string[];

/** Five names with another address, one without an answer, one without RA, one that is the same. */
function rightReply(name: string): ComparedReply {
  if (name.startsWith('other')) return OTHER;
  if (name.startsWith('gone')) return { rcode: 'NXDOMAIN' };
  return name.startsWith('plain') ? { ...ANSWER, isRecursionAvailable: false } : ANSWER;
}

beforeAll(async () => {
  folder = new TemporaryFolder();
  left = await ScriptedServer.start(() => ANSWER);
  right = await ScriptedServer.start(({ name }) => rightReply(name));
  const names = ['gone', 'plain', 'same', ...[1, 2, 3, 4, 5].map((n) => `other${n}`)];
  const file = folder.file('names', names.map((name) => `${name}.test A\n`).join(''));
  const sides = ['--left', left.address, '--right', right.address];
  args = [...sides, '--questions', file, '--over', 'udp', '--timeout', '60'];
});

afterAll(async () => {
  await left.close();
  await right.close();
  await folder.close();
});

describe('kube-dns compare', () => {
  it('says on top of text, JSON and page what matters, with totals that add up', async () => {
    const page = join(folder.path, 'page.html');
    const { status, stdout } = await runCompare([...args, '--html', page]);
    const verdict = '2 differences that a client can notice, 1 convention';
    expect(status).toBe(1);
    expect(stdout.split('\n')[0]).toBe(verdict);
    const html = readFileSync(page, 'utf8');
    expect(html).toMatch(new RegExp(`</h1>\\s*<p class="verdict noticed">${verdict}</p>`));
    for (const text of [left.address, right.address]) expect(html).toContain(`<td>${text}</td>`);
    expect(html).toMatch(/<th>Date<\/th><td>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC<\/td>/);
    // It holds everything that it shows.
    expect(html).not.toMatch(/(?:src|href)=|@import|url\(/);
    expect(html).toContain("default-src 'none'");
    const data = await compareAsJson(args);
    expect(Object.entries(data)[0]).toEqual(['verdict', verdict]);
    expect(data.totals).toEqual({ same: 1, known: 1, different: 6, notAsked: 0 });
    expect(data.aspects).toMatchObject({ 'missing-answer': 1, answer: 5 });
    expect(data.conventions).toMatchObject([
      { class: 'ra-flag', questions: 1, examples: ['plain.test A'] },
    ]);
  });

  it('prints equal differences once, with three of their names and how many more there are', async () => {
    const { stdout } = await runCompare(args);
    const [, below = ''] = stdout.split('\nanswer, ');
    expect(below.split('\n')).toEqual([
      '5 questions (A, kind given)',
      '  Clients connect to other addresses, depending on the side that they ask.',
      '  other1.test A  (over udp)',
      '    answer          left   other1.test 30 A 10.0.0.1',
      '                    right  other1.test 30 A 10.0.0.2',
      '  other2.test A',
      '  other3.test A',
      '  and 2 more: --json and --html have all',
      '',
    ]);
  });

  it.each([
    [['--ignore', 'answer'], 1, '1 difference that a client can notice, 1 convention, 1 ignored'],
    [
      ['--ignore', 'answer,ra-flag', '--ignore', 'missing-answer', '--ignore=rcode'],
      0,
      'no difference that a client can notice, 4 ignored',
    ],
    [['--fail-on', 'truncated'], 0, '2 differences that a client can notice, 1 convention'],
    [['--fail-on', 'truncated,answer'], 1, '2 differences that a client can notice, 1 convention'],
    [['--fail-on', 'ra-flag'], 1, '2 differences that a client can notice, 1 convention'],
    [
      ['--fail-on', 'missing-answer', '--ignore', 'answer'],
      1,
      '1 difference that a client can notice, 1 convention, 1 ignored',
    ],
  ])('with %j ends with %d and says %j', async (flags, status, verdict) => {
    const data = await compareAsJson([...args, ...flags]);
    expect([data.status, data.verdict]).toEqual([status, verdict]);
  });

  it('lists nothing of an ignored class, and counts it', async () => {
    const { stdout } = await runCompare([...args, '--ignore', 'answer']);
    expect(stdout).not.toContain('other1.test');
    expect(stdout).toMatch(/^Ignored\n +5 {2}answer: other records in the answer$/m);
    expect(stdout).toMatch(/^ +6 {2}conventions or ignored only$/m);
  });
});
