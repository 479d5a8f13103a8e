import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { decodeSnapshot, encodeSnapshot, renderFamilies } from '@kube-dns/daemon';
import {
  addressRecords,
  ask,
  encodeQuery,
  encodeReply,
  ownedBy,
  ScriptedNameServer,
  type Response,
  type Script,
  soaRecord,
  TemporaryFolder,
  until,
} from '@kube-dns/testkit';
import { explainPages, type Explanation, Telemetry } from '@kube-dns/telemetry';
import { CLUSTER_VERSION_BYTES, EDNS_OPTION, readUint16 } from '@kube-dns/wire';
import { explainAnswer } from '../src/explainer.js';
import { metricFamilies } from '../src/metric-families.js';
import { nodeCacheStatus } from '../src/status.js';
import { holdTime } from './support/held-time.js';
import { CLUSTER, Testbed, WORLD } from './support/testbed.js';

const opened = ownedBy(afterEach);
holdTime();
const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

/** An expired answer of the cluster is given after so long, and a question takes no longer than this. */
const STALE_MS = 80;
const TIMEOUT_MS = 4_500;
const WRITE_MS = 30_000;
/** Over UDP: a server over TCP that does not reply is another matter. */
const COREFILE = CLUSTER.replace('force_tcp', '');
const KIND = 'node-cache';

const address = (data = '10.0.0.1'): Response => ({ answers: addressRecords(30, data) });
const denial: Response = { rcode: 'NXDOMAIN', authorities: [soaRecord(30, 'cluster.local')] };

let folder: TemporaryFolder;
let file: string;
beforeEach(() => {
  folder = opened(new TemporaryFolder());
  file = join(folder.path, 'snapshot');
});

/** The second block has a server of its own. */
const start = async (script: Script) => {
  const testbed = opened(await Testbed.create(script, file));
  const world = opened(await ScriptedNameServer.start(script));
  await testbed.serve(COREFILE + WORLD.replace('UPSTREAM', world.hostPort));
  // The start waits for half a second.
  await until('it is read', () => testbed.server.snapshot!.isRead);
  return testbed;
};
/** Asks; the time goes on until there is an answer. */
const answerOf = async ({ port }: Testbed, name: string, type = 'A', ms = STALE_MS) => {
  const asked = ask(port, { name, type, ednsBytes: 1_232 });
  let isAnswered = false;
  void asked.finally(() => (isAnswered = true));
  await until('an answer', async () => {
    if (!isAnswered) await pass(ms / 4);
    return isAnswered;
  });
  const answer = await asked;
  const options = answer.additionals.flatMap((each) => (each.type === 'OPT' ? each.options : []));
  const error = options.find(({ code }) => (code as number) === EDNS_OPTION.EXTENDED_ERROR);
  const reason = error === undefined || !('data' in error) ? -1 : readUint16(error.data!, 0);
  return { rcode: answer.rcode, texts: answer.texts, reason };
};
const STALE = { rcode: 'NOERROR', texts: ['A 10.0.0.1'], reason: 3 };
const FAILED = { rcode: 'SERVFAIL', texts: [] };

/** The lines of the file. */
async function linesOf(): Promise<[stored: number, expired: number, message: string][]> {
  const rules = { kind: KIND, maxAgeMs: Infinity };
  const lines = [];
  for await (const line of decodeSnapshot(readFileSync(file), rules).lines)
    lines.push(JSON.parse(line) as [number, number, string]);
  return lines;
}

/** Writes a file with these lines, as if another process had. */
async function put(lines: readonly unknown[], more: object = {}): Promise<void> {
  const header = { kind: KIND, writtenMs: Date.now(), zones: ['cluster.local'], cluster: '' };
  const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
  const pieces: Buffer[] = [];
  for await (const piece of encodeSnapshot(Object.assign(header, more), texts)) pieces.push(piece);
  writeFileSync(file, Buffer.concat(pieces));
}

/** A line for an answer that was stored and expired so many seconds ago. */
function lineOf(
  name: string,
  response = address(),
  { stored = 40, expired = 10, type = 'A' } = {},
): unknown[] {
  const message = Buffer.from(encodeReply(encodeQuery({ name, type }), response));
  const nowMs = Date.now();
  return [nowMs - stored * 1_000, nowMs - expired * 1_000, message.toString('base64')];
}

const entriesOf = ({ server }: Testbed) => server.snapshot!.facts();

describe('the snapshot of node-cache', () => {
  it('gives the answers of the cluster after a restart while its DNS is silent, and those alone', async () => {
    const first = await start(({ question }) =>
      question.name.startsWith('no.') ? denial : address(),
    );
    await answerOf(first, 'a.cluster.local');
    await answerOf(first, 'no.cluster.local');
    await answerOf(first, 'a.example');
    await first.close();
    const second = await start(() => null);
    expect(entriesOf(second)).toMatchObject({ entries: 1, read: 'restored 1' });
    expect(await answerOf(second, 'a.cluster.local')).toEqual(STALE);
    // Also when it is denied: it may exist by now.
    for (const name of ['no.cluster.local', 'a.example', 'other.cluster.local'])
      expect(await answerOf(second, name, 'A', TIMEOUT_MS)).toMatchObject(FAILED);
  });

  it('is read before the ports are there, where all would be refused', async () => {
    await put([lineOf('a.cluster.local')]);
    const testbed = opened(await Testbed.create(() => null, file));
    const { points, snapshot } = testbed.server;
    const open = points.open.bind(points);
    const started: boolean[] = [];
    jest.spyOn(points, 'open').mockImplementation((blocks) => {
      started.push(snapshot!.isStarted);
      return open(blocks);
    });
    await testbed.serve(COREFILE);
    expect(started).toEqual([true]);
  });

  it('gives way to each answer of a server, and to a denial', async () => {
    await put([lineOf('a.cluster.local'), lineOf('gone.cluster.local')]);
    let isSilent = false;
    const testbed = await start(({ question }) =>
      isSilent ? null : question.name.startsWith('gone') ? denial : address('10.0.0.2'),
    );
    expect(entriesOf(testbed)).toMatchObject({ entries: 2 });
    expect(await answerOf(testbed, 'a.cluster.local')).toEqual({
      rcode: 'NOERROR',
      texts: ['A 10.0.0.2'],
      reason: -1,
    });
    expect(await answerOf(testbed, 'gone.cluster.local')).toMatchObject({ rcode: 'NXDOMAIN' });
    isSilent = true;
    await pass(31_000);
    expect(await answerOf(testbed, 'a.cluster.local')).toMatchObject({ texts: ['A 10.0.0.2'] });
    expect(await answerOf(testbed, 'gone.cluster.local', 'A', TIMEOUT_MS)).toMatchObject(FAILED);
  });

  it('is written every 30 s when something was stored, and not else', async () => {
    const testbed = await start(() => address());
    await answerOf(testbed, 'a.cluster.local');
    const written = async (count: number) => {
      await until('a file', () => entriesOf(testbed).written === `ok ${count}`);
      return linesOf();
    };
    await pass(WRITE_MS);
    const [[storedMs, expiredMs] = []] = await written(1);
    expect(expiredMs! - storedMs!).toBe(30_000);
    await pass(3 * WRITE_MS);
    await answerOf(testbed, 'b.cluster.local');
    await pass(WRITE_MS);
    // The first one has expired more than a minute ago.
    expect(await written(2)).toHaveLength(1);
  });

  it('holds what was used last where there is more than 4 MiB', async () => {
    const testbed = await start(() => ({
      answers: [{ type: 'TXT', ttl: 30, data: 'x'.repeat(250) }],
    }));
    const { resolver, replies } = testbed.server.blocks.all[0]!;
    const COUNT = 9_000;
    for (let i = 0; i < COUNT; i++) {
      const answers = [0, 1].map(() => ({ type: 'TXT' as const, ttl: 30, data: 'x'.repeat(250) }));
      const query = encodeQuery({ name: `n${i}.cluster.local`, type: 'TXT' });
      const answer = replies!.readAnswer(Buffer.from(encodeReply(query, { answers })))!;
      expect(resolver.cache.store(answer, () => false)).toBe(true);
    }
    await testbed.close();
    const lines = await linesOf();
    const bytes = lines.reduce((sum, line) => sum + JSON.stringify(line).length + 1, 0);
    expect(bytes).toBeLessThanOrEqual(4 * 1024 * 1024);
    expect(bytes).toBeGreaterThan(3.5 * 1024 * 1024);
    const names = lines.map(([, , message]) =>
      Buffer.from(message, 'base64').toString('latin1', 13, 18),
    );
    expect([names.at(-1), lines.length < COUNT]).toEqual([`n${COUNT - 1}`, true]);
    const second = await start(() => null);
    expect(entriesOf(second)).toMatchObject({ entries: lines.length });
  });

  it('keeps its times through several restarts', async () => {
    await put([lineOf('a.cluster.local', address(), { stored: 35, expired: 5 })]);
    const [[stored, expired] = []] = await linesOf();
    for (let i = 0; i < 2; i++) {
      const testbed = await start(() => address());
      await answerOf(testbed, `b${i}.cluster.local`);
      await testbed.close();
      const kept = (await linesOf()).find(([, , message]) =>
        Buffer.from(message, 'base64').includes('\x01a\x07cluster'),
      );
      // By the clock of the cache, which is not that of the file.
      expect(Math.abs(kept![0] - stored!)).toBeLessThan(5_000);
      expect(Math.abs(kept![1] - expired!)).toBeLessThan(5_000);
    }
  });

  it.each<[string, () => unknown, string]>([
    ['of a name that is not of the cluster', () => lineOf('a.example'), 'outside'],
    ['of the root', () => lineOf('.'), 'outside'],
    [
      'that expired more than a minute ago',
      () => lineOf('a.cluster.local', address(), { stored: 100, expired: 61 }),
      'outdated',
    ],
    [
      'of a time to come',
      () => lineOf('a.cluster.local', address(), { stored: -5, expired: -35 }),
      'outdated',
    ],
    [
      'that was stored hours ago',
      () => lineOf('a.cluster.local', address(), { stored: 7_200 }),
      'outdated',
    ],
    ['that says NXDOMAIN', () => lineOf('a.cluster.local', denial), 'outdated'],
    [
      'that expired before it was stored',
      () => lineOf('a.cluster.local', address(), { stored: 5 }),
      'unsound',
    ],
    [
      'that is a query',
      () =>
        [0, 0, Buffer.from(encodeQuery({ name: 'a.cluster.local' })).toString('base64')].map(
          (each) => (each === 0 ? Date.now() - 5_000 : each),
        ),
      'unsound',
    ],
    ['that is a failure', () => lineOf('a.cluster.local', { rcode: 'SERVFAIL' }), 'unsound'],
    ['without records or a SOA', () => lineOf('a.cluster.local', {}), 'unsound'],
    [
      'whose records are of another name',
      () =>
        lineOf('a.cluster.local', {
          answers: [{ type: 'A', name: 'b.cluster.local', ttl: 30, data: '10.6.6.6' }],
        }),
      'unsound',
    ],
    ['that is no JSON', () => '{', 'unsound'],
    ['that is JSON of another kind', () => ({ a: 1 }), 'unsound'],
    ['without a message', () => [1, 2], 'unsound'],
    ['of a few bytes', () => [1, 2, 'AAAA'], 'unsound'],
    [
      'with endless times',
      () => `[-1e999,1e999,${JSON.stringify(lineOf('a.cluster.local')[2])}]`,
      'outdated',
    ],
  ])('leaves out a line %s', async (_what, line, result) => {
    await put([
      lineOf('good.cluster.local'),
      line(),
      lineOf('good.cluster.local', address('10.6.6.6')),
    ]);
    const testbed = await start(() => null);
    expect(entriesOf(testbed).read).toContain(`${result} ${result === 'outdated' ? 2 : 1}`);
    expect(entriesOf(testbed)).toMatchObject({ entries: 1, failure: null });
    expect(await answerOf(testbed, 'good.cluster.local')).toEqual(STALE);
    expect(await answerOf(testbed, 'a.cluster.local', 'A', TIMEOUT_MS)).toMatchObject(FAILED);
  });

  it.each<[string, () => Promise<void>, RegExp]>([
    ['of another kind', () => put([lineOf('a.cluster.local')], { kind: 'kubedns' }), /kubedns/],
    [
      'of hours ago',
      () => put([lineOf('a.cluster.local')], { writtenMs: Date.now() - 8e6 }),
      /older than 3660 s/,
    ],
    [
      'that is too long',
      () => put([lineOf('a.cluster.local'), 'x'.repeat(4_200_000)]),
      /more than 4194304 bytes/,
    ],
    [
      'that is torn',
      async () => {
        await put([lineOf('a.cluster.local')]);
        writeFileSync(file, readFileSync(file).subarray(0, -1));
      },
      /checksum/,
    ],
    [
      'that is empty',
      () => {
        writeFileSync(file, '');
        return Promise.resolve();
      },
      /no snapshot/,
    ],
  ])('does not use a file %s, and says so once', async (_what, prepare, reason) => {
    await prepare();
    const testbed = await start(() => null);
    const lines = testbed.lines.filter((line) => line.includes('snapshot'));
    expect(lines).toEqual([expect.stringMatching(reason)]);
    expect(lines[0]).toContain(file);
    expect(entriesOf(testbed)).toMatchObject({
      entries: 0,
      failure: expect.stringMatching(reason),
    });
    expect(testbed.server.snapshot!.problems()).toEqual([expect.stringContaining(file)]);
    expect(await answerOf(testbed, 'a.cluster.local', 'A', TIMEOUT_MS)).toMatchObject(FAILED);
  });

  it('is missed by nobody where there is none, and a folder that is not there costs a line', async () => {
    const testbed = await start(() => address());
    expect(testbed.lines.filter((line) => line.includes('snapshot'))).toEqual([]);
    expect(entriesOf(testbed)).toMatchObject({ failure: null, ageSeconds: null });
    await folder.close();
    for (let i = 0; i < 2; i++) {
      await answerOf(testbed, `a${i}.cluster.local`);
      await testbed.server.snapshot!.write();
    }
    expect(testbed.lines.filter((line) => line.includes('snapshot'))).toHaveLength(1);
    expect(entriesOf(testbed)).toMatchObject({ written: 'failed 2' });
  });

  it('is of no use once the DNS of the cluster announces its changes, and says where it is of another one', async () => {
    const version = new Uint8Array(CLUSTER_VERSION_BYTES).fill(7);
    const identity = '07'.repeat(8);
    for (const [cluster, count] of [
      [identity, 0],
      ['08'.repeat(8), 1],
    ] as const) {
      await put([lineOf('a.cluster.local')], { cluster });
      const testbed = await start(() => null);
      const { snapshot } = testbed.server;
      expect(await answerOf(testbed, 'a.cluster.local')).toEqual(STALE);
      snapshot!.onLive({ version });
      expect(entriesOf(testbed)).toMatchObject({ entries: 0 });
      expect(await answerOf(testbed, 'a.cluster.local', 'A', TIMEOUT_MS)).toMatchObject(FAILED);
      const lines = testbed.lines.filter((line) => line.includes('is of another cluster'));
      expect(lines).toHaveLength(count);
    }
    const last = await start(() => address());
    last.server.snapshot!.onLive({ version });
    await answerOf(last, 'a.cluster.local');
    await last.close();
    const rules = { kind: KIND, maxAgeMs: Infinity };
    const { header } = decodeSnapshot(readFileSync(file), rules);
    expect(header).toMatchObject({ zones: ['cluster.local'], cluster: identity });
  });

  it('shows what is of it: explanation, status page and metrics', async () => {
    await put([lineOf('a.cluster.local'), lineOf('a.example')]);
    const testbed = await start(() => null);
    const { server } = testbed;
    const options = { points: server.points, subscriptions: server.subscriptions, corefile: '' };
    const page = explainPages((asked) => explainAnswer(options, asked)).get('/explain')!;
    const shown = page(new URLSearchParams({ name: 'a.cluster.local', type: 'A' }));
    await pass(STALE_MS);
    const { steps } = JSON.parse((await shown).body) as Explanation;
    expect(steps.find(({ step }) => step === 'cache')?.text).toMatch(
      /^The cache has 1 A record from the snapshot, stored 4\d s ago, which expired 1\d s ago\. Clients get it if no server/,
    );
    const parts = { server, telemetry: new Telemetry() };
    const network = { state: { hasRules: false } as never };
    const status = nodeCacheStatus({
      ...parts,
      network,
      corefile: '',
      source: { applied: undefined, refused: undefined, warnings: [] },
    });
    expect((await status.sections()).Snapshot).toEqual({
      file,
      entries: 1,
      ageSeconds: 0,
      read: 'restored 1, outside 1',
      written: '',
      failure: null,
    });
    const errors = { iptables: 0, iptables_lock: 0, interface_add: 0, interface_check: 0 };
    const text = await renderFamilies(
      metricFamilies({
        ...parts,
        facts: { version: '1.2.3', unexpectedErrors: () => 0 },
        source: { errors: { configmap: 0, refused: 0 } },
        network: Object.assign(network, { errors }),
      }),
    );
    for (const line of [
      'snapshot_entries 1',
      'snapshot_lines_total{result="restored"} 1',
      'snapshot_lines_total{result="outside"} 1',
      'snapshot_writes_total{result="ok"} 0',
    ])
      expect(text).toContain(`\nnodecache_${line}\n`);
    expect(text).toMatch(/\nnodecache_snapshot_last_write_timestamp_seconds \d{10}\n/);
  });
});
