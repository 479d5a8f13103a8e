import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { freePort, TemporaryFolder, until } from '@kube-dns/testkit';
import { CLASSES } from '../../src/compare/tally.js';
import { compareAsJson, runCompare } from './support/compare-run.js';
import { ScriptedServer } from './support/scripted-server.js';

const ANSWER = { answers: [{ type: 'A', data: '10.0.0.1' }] } as const;
const PATIENCE = ['--timeout', '60'];

const open: { close(): unknown }[] = [];
let folder: TemporaryFolder;
let server: ScriptedServer;

async function serve(script: Parameters<typeof ScriptedServer.start>[0]): Promise<ScriptedServer> {
  const started = await ScriptedServer.start(script);
  open.push(started);
  return started;
}

beforeEach(async () => {
  folder = new TemporaryFolder();
  open.push(folder);
  server = await serve(() => ANSWER);
});

afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

const both = () => ['--left', server.address, '--right', server.address];

async function expectRefusal(args: readonly string[], message: string | RegExp): Promise<void> {
  const { status, stdout, stderr } = await runCompare(args);
  expect(stderr).toMatch(message);
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr.trimEnd().split('\n').length).toBeLessThanOrEqual(2);
}

describe('kube-dns compare ends with 2 and one line for', () => {
  it('a side that does not listen', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    await expectRefusal(
      ['--left', server.address, '--right', address, '--questions', folder.file('q', 'a.test A')],
      `kube-dns: right ${address} does not answer: connection refused\n`,
    );
  });

  it('a side that never answers, after a second try', async () => {
    const silent = await serve(() => undefined);
    await expectRefusal(
      [
        ...['--left', silent.address, '--right', server.address, '--timeout', '0.05'],
        ...['--questions', folder.file('q', 'a.test A\nb.test A')],
      ],
      `kube-dns: left ${silent.address} does not answer: no reply within 50 ms\n`,
    );
    await until('two tries of two questions', () => silent.asked === 4);
  });

  it('a side that stops answering', async () => {
    let left = 10;
    const tired = await serve(() => (left-- > 0 ? ANSWER : 'end'));
    const names = Array.from({ length: 1_000 }, (_, i) => `n${i}.test A\n`);
    await expectRefusal(
      [
        ...['--left', server.address, '--right', tired.address, ...PATIENCE, '--over', 'tcp'],
        ...['--rate', '100000', '--questions', folder.file('q', names.join(''))],
      ],
      `kube-dns: right ${tired.address} stopped answering: connection closed before the reply\n`,
    );
  });

  it('an API server that does not listen', async () => {
    const api = `http://127.0.0.1:${await freePort()}`;
    await expectRefusal(
      [...both(), '--api', api],
      `kube-dns: cannot read /api/v1/services of ${api}: connection refused\n`,
    );
  });

  it.each([
    [401, 'the credentials of the context here are not accepted'],
    [403, 'it needs list on services: see the ClusterRole in manifests/kube-dns/rbac.yaml'],
  ])('an API server that refuses with %i', async (code, advice) => {
    const api = createServer((_, response) => response.writeHead(code).end('{}'));
    open.push({ close: () => api.close() });
    await once(api.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
    const config = {
      clusters: [{ name: 'c', cluster: { server: url } }],
      users: [{ name: 'me', user: { token: 'old' } }],
      contexts: [{ name: 'here', context: { cluster: 'c', user: 'me' } }],
      'current-context': 'here',
    };
    await expectRefusal(
      [...both(), '--kubeconfig', folder.file('config', JSON.stringify(config))],
      `kube-dns: cannot read /api/v1/services of ${url}: HTTP status ${code}; ${advice}\n`,
    );
  });

  it('a kubeconfig that is not there, or is none', async () => {
    await expectRefusal(
      [...both(), '--kubeconfig', '/nowhere/config'],
      'kube-dns: cannot read the kubeconfig /nowhere/config: no such file or directory\n',
    );
    const file = folder.file('config', 'just text');
    await expectRefusal(
      [...both(), '--kubeconfig', file],
      /^kube-dns: cannot read the kubeconfig \S+: .+\n$/,
    );
  });

  it('a question file that is missing or malformed', async () => {
    await expectRefusal(
      [...both(), '--questions', '/nowhere/names'],
      'kube-dns: cannot read the question file /nowhere/names: no such file or directory\n',
    );
    const file = folder.file('names', '; fine\na.test A\nb.test WHAT\n');
    await expectRefusal(
      [...both(), '--questions', file],
      `kube-dns: ${file}: line 3: "b.test WHAT" is not a name and a record type\n`,
    );
  });

  it('a log without a question', async () => {
    const log = folder.file('log', 'Lorem ipsum\n\u0000\u0001\u0002\n');
    await expectRefusal(
      [...both(), '--from-log', log],
      `kube-dns: there is no question to ask; ${log}: 2 lines: 0 with a question, ` +
        '0 without one, 2 are not of a query log\n',
    );
  });

  it('a page that cannot be written, before anything is asked', async () => {
    const questions = ['--questions', folder.file('q', 'a.test A')];
    await expectRefusal(
      [...both(), ...questions, '--html', '/nowhere/page.html'],
      'kube-dns: cannot write the page /nowhere/page.html: no such file or directory\n',
    );
    expect(server.asked).toBe(0);
  });

  it('a page that is a folder', async () => {
    const questions = ['--questions', folder.file('q', 'a.test A')];
    await expectRefusal(
      [...both(), ...questions, '--html', folder.path],
      `kube-dns: cannot write the page ${folder.path}: is a directory\n`,
    );
    expect(server.asked).toBe(0);
  });

  it('anything, and leaves no empty page', async () => {
    const page = join(folder.path, 'page.html');
    const address = `127.0.0.1:${await freePort()}`;
    const sides = ['--left', server.address, '--right', address];
    const questions = ['--questions', folder.file('q', 'a.test A')];
    await expectRefusal([...sides, ...questions, '--html', page], /does not answer/);
    expect(existsSync(page)).toBe(false);
    const before = folder.file('before.html', 'the page of yesterday');
    await expectRefusal([...sides, ...questions, '--html', before], /does not answer/);
    expect(readFileSync(before, 'utf8')).toBe('the page of yesterday');
  });

  it.each([
    [[], '--left is missing'],
    [['--left', '127.0.0.1'], '--right is missing'],
    [
      ['--left', 'ns.test', '--right', '127.0.0.1'],
      '--left ns.test: must be an IP address, with a port if it is not 53',
    ],
    [
      ['--left', '127.0.0.1:99999', '--right', '127.0.0.1'],
      '--left 127.0.0.1:99999: must be an IP address, with a port if it is not 53',
    ],
    [
      ['--left', '127.0.0.1', '--right', '::1'],
      'nothing to ask: give --kubeconfig, --api, --external, --questions or --from-log',
    ],
    [['--rate', '0'], '--rate 0: must be a whole number from 1 to 1000000'],
    [['--concurrency', '1.5'], '--concurrency 1.5: must be a whole number from 1 to 10000'],
    [['--timeout', 'soon'], '--timeout soon: must be seconds from 0.001 to 3600'],
    [['--over', 'udp,quic'], '--over udp,quic: must be of udp, tcp, edns'],
    [['--external', 'a..b'], '--external a..b: is not a name'],
    [['--html', ''], '--html needs a value'],
    [
      ['--ignore', 'ra-flg'],
      `--ignore ra-flg: must be of ${Object.keys(CLASSES).join(', ')}; did you mean ra-flag?`,
    ],
    [['--fail-on', 'ttl,x'], `--fail-on x: must be of ${Object.keys(CLASSES).join(', ')}`],
    [
      ['--ignore', 'ttl', '--fail-on', 'rcode', '--fail-on', 'ttl'],
      '--ignore ttl and --fail-on ttl contradict each other',
    ],
    [['--colour'], 'unknown flag --colour; see kube-dns compare --help'],
    [['--rihgt=::1'], 'unknown flag --rihgt; did you mean --right?'],
    [['here'], '"here" is one argument too many'],
  ])('%j', async (args, message) => {
    const isAboutSides = /^--left|^--right|^nothing/.test(message);
    const sides = isAboutSides ? [] : [...both(), '--api', 'http://127.0.0.1:1'];
    await expectRefusal([...sides, ...args], `kube-dns: ${message}\n`);
  });
});

describe('kube-dns compare goes on with', () => {
  it('an empty cluster, and says so', async () => {
    // Ours never is without the service kubernetes.
    const api = createServer((_request, response) => response.end('{"items":[]}'));
    api.listen(0, '127.0.0.1');
    await once(api, 'listening');
    open.push(api);
    const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
    const data = await compareAsJson([...both(), '--api', url, ...PATIENCE]);
    expect(data.status).toBe(0);
    expect(data.notes).toEqual(['the cluster has no services']);
    expect(data.questions).toMatchObject({ service: 0, endpoint: 0 });
    expect(data.questions.absent).toBeGreaterThan(4);
  });

  it('a log of both kinds with other lines in it, which it counts', async () => {
    const log = folder.file(
      'log',
      [
        '[INFO] 10.0.0.7:50759 - 29008 "A IN a.test. udp 21 false 512" NOERROR qr,aa 94 0.0001s',
        'Nov 21 10:00:00 dnsmasq[7]: query[AAAA] b.test from 10.0.0.8',
        'Nov 21 10:00:00 dnsmasq[7]: forwarded b.test to 10.0.0.9',
        'I1121 10:00:00.000001       1 nanny.go:1] query[A] a.test from 10.0.0.8',
        'Lorem ipsum',
      ].join('\n'),
    );
    const data = await compareAsJson([...both(), '--from-log', log, ...PATIENCE]);
    expect(data.status).toBe(0);
    expect(data.questions.total).toBe(2);
    expect(data.logs).toEqual([{ file: log, lines: 5, questions: 3, others: 1, strangers: 1 }]);
  });

  it('a side that answers over UDP only: the result is incomplete, which is a failure', async () => {
    const half = await serve(({ isOverTcp }) => (isOverTcp ? 'end' : ANSWER));
    const names = Array.from({ length: 100 }, (_, i) => `n${i}.test A\n`);
    const data = await compareAsJson([
      ...['--left', server.address, '--right', half.address, '--over', 'udp,tcp'],
      ...['--questions', folder.file('q', names.join('')), '--rate', '100000', ...PATIENCE],
    ]);
    expect([data.status, data.givenUp]).toEqual([
      1,
      [{ side: 'right', way: 'tcp', reason: 'connection closed before the reply' }],
    ]);
    expect(data.pairs.total + data.pairs.skipped).toBe(200);
    expect(data.pairs.skipped).toBeGreaterThan(0);
  });

  it('a file that fills the help of dnsperf: comments, escapes, types by number', async () => {
    const file = join(folder.path, 'names');
    folder.file('names', '# a\n\n a.test.\tA \n; b\na\\.b.test TYPE65 ; c\n. NS\nA.TEST a\n');
    const data = await compareAsJson([...both(), '--questions', file, ...PATIENCE]);
    expect(data.status).toBe(0);
    expect(data.questions.total).toBe(3);
  });
});
