import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import type { ApiServer } from '../src/index.js';
import {
  closeAll,
  CONFIG_MAPS,
  configMap,
  get,
  startServer,
  textOf,
  TestWatch,
  type Answer,
} from './harness.js';

let server: ApiServer;
/** The version before the first ConfigMap; each of those has the next one. */
let base: number;

beforeEach(async () => {
  server = await startServer({ freshnessWaitMs: 20 });
  base = Number(server.resourceVersion);
  await server.apply(['a', 'b', 'c', 'd', 'e'].map((name) => configMap(name)));
});
afterEach(closeAll);

function list(query: string, path = CONFIG_MAPS): Promise<Answer> {
  return get(server, `${path}?${query}`);
}

/** The version of a list as it is counted from `base`, and the names. */
function shown({ body }: Answer): string {
  const items = body.items as unknown as { metadata: { name: string } }[];
  const version = Number(body.metadata?.resourceVersion) - base;
  return `${version} ${items.map(({ metadata }) => metadata.name).join('')}`;
}

function token(rv: unknown, start: unknown, v = 'meta.k8s.io/v1'): string {
  return Buffer.from(JSON.stringify({ v, rv, start })).toString('base64url');
}

describe('a limit', () => {
  it.each([
    ['with version 0', 'limit=2&resourceVersion=0', '5 abcde'],
    [
      'with version 0 and NotOlderThan',
      'limit=2&resourceVersion=0&resourceVersionMatch=NotOlderThan',
      '5 abcde',
    ],
    ['that is negative', 'limit=-1', '5 abcde'],
    ['that is 0', 'limit=0', '5 abcde'],
  ])('%s is ignored', async (_title, query, expected) => {
    const answer = await list(query);
    expect(shown(answer)).toBe(expected);
    expect(answer.body.metadata).not.toHaveProperty('continue');
  });

  it('with a version shows the state at this version', async () => {
    const answer = await list(`limit=2&resourceVersion=${base + 3}`);
    expect(shown(answer)).toBe('3 ab');
    expect(answer.body.metadata?.remainingItemCount).toBe(1);
    const rest = await list(`limit=2&continue=${textOf(answer.body.metadata?.continue)}`);
    expect(shown(rest)).toBe('3 c');
  });

  it('with a version and NotOlderThan shows the present state', async () => {
    const query = `limit=2&resourceVersion=${base + 3}&resourceVersionMatch=NotOlderThan`;
    expect(shown(await list(query))).toBe('5 ab');
  });

  it('with a selector may leave a last page without objects, and never counts the remaining', async () => {
    const first = await list('limit=4&fieldSelector=metadata.name!%3De');
    expect(shown(first)).toBe('5 abcd');
    expect(first.body.metadata).not.toHaveProperty('remainingItemCount');
    const next = textOf(first.body.metadata?.continue);
    const last = await list(`limit=4&fieldSelector=metadata.name!%3De&continue=${next}`);
    expect(shown(last)).toBe('5 ');
    expect(last.body.metadata).not.toHaveProperty('continue');
  });
});

describe('a compaction', () => {
  it('leaves pages and exact versions that the watch cache has', async () => {
    const first = await list('limit=2');
    server.delete('ConfigMap', 'default', 'd');
    server.compact();
    const next = textOf(first.body.metadata?.continue);
    expect(shown(await list(`limit=2&continue=${next}`))).toBe('5 cd');
    const exact = `resourceVersionMatch=Exact&resourceVersion=`;
    expect(shown(await list(exact + String(base + 1)))).toBe('1 a');
    expect(shown(await list(exact + String(base)))).toBe('0 ');
  });

  it('expires what only etcd has after a restart', async () => {
    const exact = `resourceVersionMatch=Exact&resourceVersion=${base + 1}`;
    const first = await list(`limit=2&resourceVersion=${base + 3}`);
    server.delete('ConfigMap', 'default', 'd');
    await server.restart({ hasHistory: false });
    expect(shown(await list(exact))).toBe('1 a');
    server.compact();
    const { status, body } = await list(exact);
    expect([status, body.reason, body.message]).toEqual([
      410,
      'Expired',
      'The resourceVersion for the provided list is too old.',
    ]);
    const next = textOf(first.body.metadata?.continue);
    expect((await list(`limit=2&continue=${next}`)).status).toBe(410);
  });

  it('of the watch cache, too, expires pages, and names a token to continue nevertheless', async () => {
    const first = await list('limit=2');
    server.delete('ConfigMap', 'default', 'd');
    server.compact({ cache: true });
    const path = `limit=1&continue=${textOf(first.body.metadata?.continue)}`;
    const { status, body } = await list(path);
    expect([status, body.reason]).toEqual([410, 'Expired']);
    const rest = await list(`limit=1&continue=${textOf(body.metadata?.continue)}`);
    expect(shown(rest)).toBe('6 c');
    const last = await list(`limit=1&continue=${textOf(rest.body.metadata?.continue)}`);
    expect(shown(last)).toBe('6 e');
  });
});

describe('a continue token', () => {
  it('has the form that kube-apiserver gives it', async () => {
    const decoded = async (path: string) => {
      const { body } = await list('limit=2', path);
      return JSON.parse(
        Buffer.from(textOf(body.metadata?.continue), 'base64url').toString(),
      ) as object;
    };
    const v = 'meta.k8s.io/v1';
    expect(await decoded('/api/v1/configmaps')).toEqual({ v, rv: base + 5, start: '/default/b\0' });
    expect(await decoded(CONFIG_MAPS)).toEqual({ v, rv: base + 5, start: '/b\0' });
    expect(await decoded('/api/v1/namespaces')).toMatchObject({ start: '/kube-node-lease\0' });
  });

  it('of a negative version continues in the present state', async () => {
    expect(shown(await list(`continue=${token(-1, 'c\0')}`))).toBe('5 de');
  });

  it('with version 0 has no limit', async () => {
    const query = `limit=1&resourceVersion=0&continue=${token(base + 3, 'a\0')}`;
    expect(shown(await list(query))).toBe('3 bc');
  });

  it('begins with its key, where there is one', async () => {
    expect(shown(await list(`limit=1&continue=${token(base + 3, 'b')}`))).toBe('3 b');
  });

  it.each([
    ['is no JSON', 'x', ''],
    [
      'is of another form',
      token(5, 'a', 'v2'),
      ': server does not recognize this encoded version v2',
    ],
    [
      'has no version',
      token(0, 'a'),
      ': incorrect encoded start resourceVersion (version meta.k8s.io/v1)',
    ],
    ['has no key', token(5, ''), ': encoded start key empty (version meta.k8s.io/v1)'],
    ['leads elsewhere', token(5, '../a'), ': ../a'],
    ['is no path', token(5, 'a//b'), ': a//b'],
  ])('that %s is refused with 400', async (_title, text, why) => {
    const { status, body } = await list(`continue=${text}`);
    expect([status, body.reason]).toEqual([400, 'BadRequest']);
    expect(body.message).toBe(`invalid continue token: continue key is not valid${why}`);
  });

  it('excludes a version', async () => {
    const { status } = await list(`resourceVersion=1&continue=${token(base + 3, 'a')}`);
    expect(status).toBe(400);
  });
});

describe('a version that is yet to come', () => {
  it.each([
    ['a list', 'resourceVersion=', ''],
    ['a page', 'limit=1&resourceVersion=', ''],
    ['an exact list', 'resourceVersionMatch=Exact&resourceVersion=', ''],
    ['a list that may be newer', 'resourceVersionMatch=NotOlderThan&resourceVersion=', ''],
    ['an object', 'resourceVersion=', '/a'],
    ['an object that does not exist', 'resourceVersion=', '/none'],
  ])('is a 504 for %s', async (_title, query, name) => {
    const { status, headers, body } = await list(`${query}${base + 9}`, CONFIG_MAPS + name);
    expect([status, headers.get('retry-after')]).toEqual([504, '1']);
    expect(body).toMatchObject({
      reason: 'Timeout',
      message: `Timeout: Too large resource version: ${base + 9}, current: ${base + 5}`,
      details: {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: 1,
      },
    });
  });

  it('is a 504 for a continue token', async () => {
    expect((await list(`continue=${token(base + 9, 'a')}`)).status).toBe(504);
  });

  it('is waited for', async () => {
    const { port } = (server = await startServer({ freshnessWaitMs: 60_000 }));
    expect(port).toBeGreaterThan(0);
    const wanted = Number(server.resourceVersion) + 1;
    const query = `resourceVersion=${wanted}`;
    const answers = [list(query), list(query, `${CONFIG_MAPS}/a`)];
    const path = `${CONFIG_MAPS}?watch=1&${query}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`;
    const watch = TestWatch.open(server, path);
    await until('the requests', () => server.requests.count('watch', 'configmaps') === 1);
    await until('the requests', () => server.requests.count('get', 'configmaps') === 1);
    await server.apply(configMap('a'));
    for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
    expect(await (await watch).names(1)).toEqual(['ADDED a']);
  });
});

describe('what a list may ask for', () => {
  const FIELD = 'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden';
  it.each([
    ['resourceVersionMatch=Exact', `${FIELD} unless resourceVersion is provided`],
    [
      'resourceVersionMatch=Exact&resourceVersion=0',
      'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    ],
    [
      'resourceVersionMatch=x&resourceVersion=1',
      'resourceVersionMatch: Unsupported value: "x": supported values: "Exact", "NotOlderThan", ""',
    ],
    [
      'resourceVersionMatch=Exact&resourceVersion=1&continue=x',
      `${FIELD} when continue is provided`,
    ],
    [
      'sendInitialEvents=true',
      'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list',
    ],
    [
      'resourceVersionMatch=Exact&continue=x',
      `[${FIELD} unless resourceVersion is provided, ${FIELD} when continue is provided]`,
    ],
  ])('does not include %s', async (query, why) => {
    const { status, body } = await list(query);
    expect([status, body.reason]).toEqual([422, 'Invalid']);
    expect(body.message).toBe(`ListOptions.meta.k8s.io "" is invalid: ${why}`);
    expect(body.details).toMatchObject({ group: 'meta.k8s.io', kind: 'ListOptions' });
  });

  it.each([
    ['limit=x', 'strconv.ParseInt: parsing "x": invalid syntax'],
    ['limit=', 'strconv.ParseInt: parsing "": invalid syntax'],
    [
      'timeoutSeconds=9223372036854775808',
      'strconv.ParseInt: parsing "9223372036854775808": value out of range',
    ],
    [
      'resourceVersion=-1',
      'invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax',
    ],
  ])('has to be a number in %s', async (query, message) => {
    const { status, body } = await list(query);
    expect([status, body.reason, body.message]).toEqual([400, 'BadRequest', message]);
  });

  it('has a version that is a number when it is one object or a watch', async () => {
    expect((await list('resourceVersion=x', `${CONFIG_MAPS}/a`)).status).toBe(500);
    expect((await list('watch=1&resourceVersion=x')).status).toBe(500);
  });

  it('includes a negative time', async () => {
    expect(shown(await list('timeoutSeconds=-1'))).toBe('5 abcde');
  });
});
