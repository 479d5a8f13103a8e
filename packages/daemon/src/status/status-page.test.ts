import { describe, expect, it } from '@jest/globals';
import { boolFlag, listFlag, stringFlag } from '@kube-dns/base';
import type { LocalAnswer } from '../local/local-page.js';
import { RecentNotices, type StatusSource } from './status-report.js';
import { statusPages } from './status-page.js';

const MAX_BYTES = 1024 * 1024;
const notices = new RecentNotices();
const about = {
  program: 'test',
  version: '1.2.3',
  flags: {
    domain: stringFlag('cluster.local.', 'zone'),
    probe: listFlag(String, 'probe'),
    wildcards: boolFlag(true, 'wildcards'),
  },
  given: new Map([['probe', ['a', 'b']]]),
  notices,
  unexpectedErrors: () => 0,
};

const get = async (path: string, source: Partial<StatusSource> = {}): Promise<LocalAnswer> =>
  statusPages(about, { sections: () => ({}), ...source }).get(path)!(new URLSearchParams());

interface Report {
  readonly isReady: boolean | null;
  readonly notReady: readonly string[];
  readonly problems: readonly string[];
  readonly sections: Readonly<Record<string, unknown>>;
  readonly more: Readonly<Record<string, number>>;
}

const report = async (source: Partial<StatusSource>) =>
  JSON.parse((await get('/status', source)).body) as Report;
const headline = async (source: Partial<StatusSource>) =>
  /<h1>(.*?)<\/h1>/.exec((await get('/', source)).body)?.[1];

const longName = (i: number) => `${i}.${'long.'.repeat(100)}`;

/** 10,000 rows; `nameOf` is called when a name is read. */
const rowsOf = (nameOf: (i: number) => string) =>
  Array.from({ length: 10_000 }, (_, i) => ({
    get name() {
      return nameOf(i);
    },
    count: i,
  }));

describe('the status page', () => {
  it('says first whether all is well, and if not, what is wrong', async () => {
    expect(await headline({})).toBe('All is well');
    expect(await headline({ notReady: () => [] })).toBe('All is well');
    expect(await headline({ problems: () => ['x is down'] })).toBe(
      'Running, but one thing needs attention',
    );
    const source = { notReady: () => [], problems: () => ['x', 'y'] };
    expect(await headline(source)).toBe('Ready, but 2 things need attention');
    const page = await get('/', { notReady: () => ['no list yet'], problems: () => ['x is down'] });
    expect(page.body).toContain(
      '<h1>Not ready</h1><ul><li>no list yet</li><li>x is down</li></ul>',
    );
  });

  it('says where each setting is from, and what was refused', async () => {
    const { problems, sections } = await report({
      settings: () => [{ setting: 'PORT', value: '1', from: 'environment' }],
      configuration: () => ({
        source: '/config',
        version: 'abcdef0123456789',
        appliedMs: 1,
        refused: { atMs: 2, reasons: ['stubDomains: no', 'more'] },
        warnings: ['the key "stubDomain" has no effect'],
        settings: [{ setting: 'stubDomains', value: '{}', from: '/config' }],
      }),
    });
    expect(problems).toEqual([
      'the configuration of /config is refused: stubDomains: no, and 1 more mistake; the last good one is active',
      '/config: the key "stubDomain" has no effect',
    ]);
    expect(sections.Settings).toEqual([
      { setting: 'PORT', value: '1', from: 'environment' },
      { setting: 'stubDomains', value: '{}', from: '/config' },
      { setting: '--probe', value: 'a, b', from: 'command line' },
      { setting: '--domain', value: 'cluster.local.', from: 'default' },
      { setting: '--wildcards', value: 'true', from: 'default' },
    ]);
    expect(sections['Configuration applied']).toEqual({
      source: '/config',
      version: 'abcdef012345',
      appliedAt: '1970-01-01T00:00:00.001Z',
      refusedAt: '1970-01-01T00:00:00.002Z',
      reason: 'stubDomains: no; more',
    });
  });

  it('shows text from outside as text, whatever it is', async () => {
    const evil = `</style></title><script>alert(1)</script><img src=x onerror='1'>"&`;
    const { body } = await get('/', {
      notReady: () => [evil],
      problems: () => [evil],
      settings: () => [{ setting: evil, value: evil, from: evil }],
      sections: () => ({ [evil]: { [evil]: evil }, rows: [{ name: evil }] }),
    });
    expect(body).not.toMatch(/<(?:script|img)|<\/style>[^]*<\/style>/);
    expect(body).toContain(
      '&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=&#39;1&#39;',
    );
  });

  it('loads nothing, and its policy allows one style by its hash', async () => {
    const { body, headers, type } = await get('/');
    expect(type).toBe('text/html');
    expect(body).not.toMatch(/(?:src|action)=|@import|url\(|style="|<link|http-equiv/);
    expect(headers?.['Content-Security-Policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; frame-ancestors 'none'; base-uri 'none'; form-action 'none'$/,
    );
    expect(headers?.['Referrer-Policy']).toBe('no-referrer');
  });

  it('is below 1 MiB with 10,000 rows of long texts in each section, and says how many it left out', async () => {
    const source = {
      problems: () => Array.from({ length: 10_000 }, (_, i) => longName(i)),
      sections: () => ({ 'Top names': rowsOf(longName), 'Top clients': rowsOf(longName) }),
    };
    const { body } = await get('/', source);
    expect(body.length).toBeLessThan(MAX_BYTES);
    expect(body).toContain('<p class="more">and 9900 more</p>');
    expect((await report(source)).more).toEqual({ 'Top names': 9_900, 'Top clients': 9_900 });
  });

  it('looks only at the rows that it shows', async () => {
    const read = new Set<number>();
    const rows = rowsOf((i) => String(read.add(i).size));
    await get('/', { sections: () => ({ Rows: rows }) });
    expect([...read]).toEqual(Array.from({ length: 100 }, (_, i) => i));
  });
});
