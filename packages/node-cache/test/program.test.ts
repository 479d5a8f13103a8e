import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ask, QueryLoad } from '@kube-dns/resolver/testing';
import {
  ConfigVolume,
  endPrograms,
  freePort,
  needsPrograms,
  needsIpv6,
  ownedBy,
  readDnstap,
  RunningProgram,
  ScriptedNameServer,
  TemporaryFolder,
  unless,
  until,
} from '@kube-dns/testkit';

const PROGRAM = fileURLToPath(new URL('../dist/node-cache.cjs', import.meta.url));
const opened = ownedBy(afterEach);
/** Each client has a port of its own: with this many, two processes get some each. */
const CLIENTS = 8;

let folder: TemporaryFolder;
let upstream: ScriptedNameServer;
let template: ConfigVolume;
let config: ConfigVolume;
let port: number;
let httpPort: number;
let metricsPort: number;

beforeEach(async () => {
  folder = opened(new TemporaryFolder());
  upstream = opened(
    await ScriptedNameServer.start(({ question }) => ({
      answers: [
        { type: 'A', ttl: 100, data: question.name.endsWith('.corp') ? '10.9.9.9' : '10.0.0.1' },
      ],
    })),
  );
  port = await freePort();
  httpPort = await freePort();
  metricsPort = await freePort();
  template = opened(await ConfigVolume.create({ 'Corefile.base': corefile(30) }));
  config = opened(await ConfigVolume.create({}));
});
afterEach(() => endPrograms());

/** The standard Corefile in short; `seconds` is the longest TTL of the world. */
const corefile = (seconds: number) => `
cluster.local:${port} {
    errors
    cache
    bind __PILLAR__LOCAL__DNS__
    forward . 127.0.0.1:${upstream.port} {
        force_tcp
    }
    health 127.0.0.1:${httpPort}
    ready 127.0.0.1:${httpPort}
}
.:${port} {
    errors
    cache ${seconds}
    bind __PILLAR__LOCAL__DNS__
    forward . 127.0.0.1:${upstream.port}
}
`;

async function start(...more: string[]): Promise<RunningProgram> {
  const args = [
    '-localip=127.0.0.1',
    '-setupinterface=false',
    '-setupiptables=false',
    `-basecorefile=${join(template.path, 'Corefile.base')}`,
    `-conf=${join(folder.path, 'Corefile')}`,
    `-kubednscm=${config.path}`,
    `-dns.port=${port}`,
    `-metrics-listen-address=127.0.0.1:${metricsPort}`,
    '-drain-time=200ms',
    `-pidfile=${join(folder.path, 'pid')}`,
    ...more,
  ];
  const program = new RunningProgram('node-cache', process.execPath, [PROGRAM, ...args]);
  await program.waitForLine('Running configuration SHA512');
  return program;
}

const get = async (path: string, at = httpPort) => {
  const response = await fetch(`http://127.0.0.1:${at}${path}`);
  return [response.status, await response.text()];
};

it('answers, is healthy and ready, and has written its Corefile and its process ID', async () => {
  const program = await start();
  expect((await ask(port, 'a.example')).texts).toEqual(['A 10.0.0.1']);
  expect(program.stderr).toContain(`cluster.local.:${port} on 127.0.0.1`);
  expect(readFileSync(join(folder.path, 'Corefile'), 'utf8')).toContain('bind 127.0.0.1');
  await until(() => existsSync(join(folder.path, 'pid')));
  expect(readFileSync(join(folder.path, 'pid'), 'utf8')).toBe(`${program.pid}\n`);
  expect(await get('/health')).toEqual([200, 'OK']);
  await until(async () => (await get('/ready'))[0] === 200);
  program.signal('SIGTERM');
  expect(await program.ended).toBe(0);
  expect(program.stderr).toContain('SIGTERM: Shutting down servers then terminating');
  expect(existsSync(join(folder.path, 'pid'))).toBe(false);
});

it('writes the query log as the flag says, and as the key of the ConfigMap says once it is there', async () => {
  const program = await start('--query-log=text,name=example');
  const lines = () => program.stdout.split('\n').slice(0, -1);
  await ask(port, 'a.example');
  await until(() => lines().length === 1);
  expect(lines()[0]).toMatch(
    /^127\.0\.0\.1:\d+ - \d+ "A IN a\.example\. udp .*" NOERROR qr,rd,ra \d+ [\d.]+s$/,
  );
  await config.put({ queryLog: 'json,name=example' });
  await until(async () => {
    await ask(port, 'a.example');
    return lines().at(-1)!.startsWith('{');
  });
  const last = JSON.parse(lines().at(-1)!) as Record<string, unknown>;
  expect([last.qname, last.source]).toEqual(['a.example.', 'cache']);
  await ask(port, 'b.example');
  const server = `127.0.0.1#${upstream.port}`;
  await until(() =>
    lines().some((line) => line.includes(`"source":"upstream","server":"${server}"`)),
  );
});

unless(needsPrograms('dnstap-read'), it)(
  '--dnstap has a message for each query of a client, each answer, and each exchange with a server',
  async () => {
    const path = join(folder.path, 'tap');
    const program = await start(`--dnstap=file:${path}`);
    for (const name of ['a.example', 'a.example', 'a.cluster.local']) await ask(port, name);
    program.signal('SIGTERM');
    await program.ended;
    const rows = await readDnstap(path);
    const ours = `127.0.0.1:${port}`;
    const theirs = `127.0.0.1:${upstream.port}`;
    const client = [`CQ ${ours} UDP`, `CR ${ours} UDP`];
    // Whether the cluster's DNS answers is asked, too, for the root.
    const asked = rows.filter(({ question }) => question !== './IN/NS');
    expect(asked.map((row) => `${row.type} ${row.answerer} ${row.protocol}`)).toEqual([
      ...[`FQ ${theirs} UDP`, `FR ${theirs} UDP`, ...client, ...client],
      ...[`FQ ${theirs} TCP`, `FR ${theirs} TCP`, ...client],
    ]);
  },
);

unless(needsIpv6(), it)(
  'serves both families, and its pages at an IPv6 address that is written without brackets',
  async () => {
    const [metricsPort, setupPort] = [await freePort(), await freePort()];
    const pages = `    prometheus __PROMETHEUS__ENDPOINT__\n    health ::1:${httpPort}\n    ready ::1:${httpPort}`;
    const text = corefile(30).replace(/ +health.*\n +ready.*/, pages);
    await template.put({ 'Corefile.base': text });
    const program = await start(
      '-localip=127.0.0.1,::1',
      `-prometheus-listen-address=::1:${metricsPort}`,
      `-metrics-listen-address=::1:${setupPort}`,
    );
    expect(program.stderr).toContain(`cluster.local.:${port} on ::1`);
    expect((await ask(port, 'a.example')).texts).toEqual(['A 10.0.0.1']);
    const page = async (at: number, path: string) =>
      (await fetch(`http://[::1]:${at}${path}`)).text();
    expect(await page(httpPort, '/health')).toBe('OK');
    await until(async () => (await page(httpPort, '/ready')) === 'OK');
    expect(await page(metricsPort, '/metrics')).toContain('coredns_');
    expect(await page(setupPort, '/metrics')).toContain('coredns_nodecache_');
  },
);

it('takes a stub domain from the ConfigMap as soon as it is there, and loses no question by it', async () => {
  await start();
  const load = new QueryLoad(port, (n) => `n${n % 500}.example`);
  try {
    await until(() => load.asked > 500);
    await config.put({ stubDomains: { corp: [`127.0.0.1:${upstream.port}`] } });
    const isServed = async () => {
      const before = upstream.requests.length;
      await ask(port, `x${before}.corp`);
      return readFileSync(join(folder.path, 'Corefile'), 'utf8').includes(`corp:${port} {`);
    };
    await until(isServed);
    expect((await ask(port, 'a.corp')).texts).toEqual(['A 10.9.9.9']);
    await load.stop();
    expect(load.unanswered).toBe(0);
  } finally {
    await load.close();
  }
});

it('goes on with the last good Corefile when the template is broken, names the line, and takes the next one', async () => {
  const program = await start();
  await template.put({ 'Corefile.base': `${corefile(30)}x.example {\n    autopath\n}\n` });
  await program.waitForLine(/reload failed: .*line \d+.*autopath/);
  expect((await ask(port, 'a.example')).ttls).toEqual([30]);
  await template.put({ 'Corefile.base': corefile(20) });
  await until(async () => (await ask(port, `${Math.random()}.example`)).ttls[0] === 20);
});

it('gives its port to another process, which loses no question that is asked twice', async () => {
  const first = await start('--reuse-port');
  const loads = Array.from(
    { length: CLIENTS },
    (_, i) => new QueryLoad(port, (n) => `n${n % 60}.client${i}.example`),
  );
  const asked = () => loads.reduce((total, load) => total + load.asked, 0);
  try {
    await until(() => asked() > 1_000);
    const second = await start('--reuse-port');
    first.signal('SIGTERM');
    expect(await first.ended).toBe(0);
    const before = asked();
    await until(() => asked() > before + 1_000);
    expect(second.isRunning).toBe(true);
    await Promise.all(loads.map((load) => load.stop()));
    expect(loads.map(({ unanswered }) => unanswered)).toEqual(loads.map(() => 0));
    // The ports of health and of metrics are free again for it.
    await until(async () => (await get('/ready').catch(() => [0]))[0] === 200);
    await until(async () => (await get('/metrics', metricsPort).catch(() => [0]))[0] === 200);
  } finally {
    await Promise.all(loads.map((load) => load.close()));
  }
});
