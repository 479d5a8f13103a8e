import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runChromium, TemporaryFolder, unless, needsChromium } from '@kube-dns/testkit';
import { runCompare } from './support/compare-run.js';
import { ScriptedServer } from './support/scripted-server.js';

const folder = new TemporaryFolder();
const page = join(folder.path, 'page.html');
const servers: ScriptedServer[] = [];

/** A record whose text would end the script of the page without escaping. */
const EVIL = '</script><b id="evil">';
const NAMES = Array.from({ length: 250 }, (_, i) => `n${i}.test`);

beforeAll(async () => {
  for (const last of [1, 2]) {
    servers.push(
      await ScriptedServer.start(({ name, type }) => {
        if (name === 'planted.test') {
          return last === 1
            ? { answers: [{ type: 'A', data: '192.0.2.77' }] }
            : { rcode: 'NXDOMAIN' };
        }
        if (type === 'TXT') return { answers: [{ type: 'TXT', data: `${EVIL}${last}` }] };
        return { answers: [{ type: 'A', data: `10.0.0.${last}` }] };
      }),
    );
  }
  const questions = [...NAMES, 'planted.test'].map((name) => `${name} A\n`);
  const file = folder.file('names', `${questions.join('')}evil.test TXT\n`);
  const [left, right] = servers.map(({ address }) => address);
  const { status, stderr } = await runCompare([
    ...['--left', left!, '--right', right!, '--questions', file],
    ...['--over', 'udp', '--rate', '5000', '--timeout', '60', '--html', page],
  ]);
  expect([status, stderr]).toEqual([1, '']);
});

afterAll(async () => {
  for (const server of servers) await server.close();
  await folder.close();
});

/** The document that Chromium makes of the page with this fragment. */
async function rendered(fragment: string): Promise<string> {
  const url = pathToFileURL(page).href + fragment;
  const stdout = await runChromium(folder.path, ['--dump-dom', url]);
  return stdout.replace(/<script[^]*?<\/script>/g, '');
}

let whole: Promise<string> | undefined;
const wholePage = () => (whole ??= rendered(''));

/** The questions that are shown. */
const headings = (dom: string) =>
  [...dom.matchAll(/<h4>(.*?) <small>/g)].map(([, heading]) => heading);
const SHOWN = /<p id="shown" role="status">(.*?)<\/p>/;

unless(needsChromium(), describe)('the page in Chromium', () => {
  it('finds a planted difference by what the list is filtered for', async () => {
    const dom = await rendered('#text=192.0.2.77&class=missing-answer');
    expect(headings(dom)).toEqual(['planted.test A']);
    expect(SHOWN.exec(dom)?.[1]).toBe('1 question of 252, 1 difference of 3');
    expect(dom).toContain('<pre>planted.test 30 A 192.0.2.77</pre><pre>none, NXDOMAIN</pre>');
  });

  it('shows the worst first, and of equal differences three and how many there are', async () => {
    const dom = await wholePage();
    expect(headings(dom)).toEqual([
      'planted.test A',
      'evil.test TXT',
      'n0.test A',
      'n1.test A',
      'n10.test A',
    ]);
    expect(dom).toContain('<button>Show 100 more of 250</button>');
    expect(SHOWN.exec(dom)?.[1]).toBe('252 questions of 252, 3 differences of 3');
  });

  it('shows as many as each filter promises, and totals that add up', async () => {
    const plain = await wholePage();
    const promised = [...plain.matchAll(/<option value="([^"]+)">[^<]* \((\d+)\)<\/option>/g)];
    expect(promised.map(([, value, count]) => [value, count])).toEqual([
      ['missing-answer', '1'],
      ['answer', '251'],
      ['given', '252'],
      ['udp', '252'],
    ]);
    const dom = await rendered('#class=answer');
    expect(SHOWN.exec(dom)?.[1]).toBe('251 questions of 252, 2 differences of 3');
    const [, totals = ''] = /<h2>Questions<\/h2><table.*?>(.*?)<\/table>/.exec(plain) ?? [];
    const counts = [...totals.matchAll(/<td>(\d+)<\/td>/g)].map(([, count]) => Number(count));
    expect(counts.slice(0, -1).reduce((sum, count) => sum + count, 0)).toBe(counts.at(-1));
    expect(counts.at(-1)).toBe(252);
  });

  it('shows what a name server says as text, whatever it is', async () => {
    const dom = await rendered('#text=evil.test');
    expect(headings(dom)).toEqual(['evil.test TXT']);
    expect(dom).not.toContain('<b id="evil">');
    expect(dom).toContain('&lt;b id=');
  });
});
