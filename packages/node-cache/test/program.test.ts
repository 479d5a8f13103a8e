import { existsSync, readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  ask,
  freePort,
  needsIpv6,
  ownedBy,
  QueryLoad,
  type RunningProgram,
  unless,
  until,
} from '@kube-dns/testkit';
import { ProgramTestbed } from './support/program-testbed.js';

const opened = ownedBy(afterEach);
/** Each client has a port of its own: with this many, two processes get some each. */
const CLIENTS = 6;

const get = async (url: string) => {
  const response = await fetch(url);
  return [response.status, await response.text()];
};

describe('node-cache', () => {
  let testbed: ProgramTestbed;
  let program: RunningProgram;
  beforeAll(async () => {
    testbed = await ProgramTestbed.create();
    program = await testbed.start('--query-log=text,name=example');
  });
  afterAll(() => testbed.close());

  it('answers, is healthy and ready, and has written its Corefile and its process ID', async () => {
    const { port, httpPort } = testbed;
    expect((await testbed.answer('a.example')).texts).toEqual(['A 10.0.0.1']);
    expect(program.stderr).toContain(`cluster.local.:${port} on 127.0.0.1`);
    expect(readFileSync(testbed.file('Corefile'), 'utf8')).toContain('bind 127.0.0.1');
    await until(() => existsSync(testbed.file('pid')));
    expect(readFileSync(testbed.file('pid'), 'utf8')).toBe(`${program.pid}\n`);
    const url = `http://127.0.0.1:${httpPort}`;
    expect(await get(`${url}/health`)).toEqual([200, 'OK']);
    await until(async () => (await get(`${url}/ready`))[0] === 200);
  });

  it('writes the query log as the flag says, and as the key of the ConfigMap says once it is there', async () => {
    const { port, upstream, config } = testbed;
    const lines = () => program.stdout.split('\n').slice(0, -1);
    const text = /^127\.0\.0\.1:\d+ - \d+ "A IN a\.example\. udp .*" NOERROR qr,rd,ra \d+ [\d.]+s$/;
    await until(() => lines().some((line) => text.test(line)));
    await config.put({ queryLog: 'json,name=example' });
    await until(async () => {
      await ask(port, 'a.example');
      return lines().at(-1)!.startsWith('{');
    });
    const last = JSON.parse(lines().at(-1)!) as Record<string, unknown>;
    expect([last.qname, last.source]).toEqual(['a.example.', 'cache']);
    await testbed.answer('b.example');
    const server = `"source":"upstream","server":"127.0.0.1#${upstream.port}"`;
    await until(() => lines().some((line) => line.includes(server)));
  });

  it('goes on with the last good Corefile when the template is broken, names the line, and takes the next one', async () => {
    const { port } = testbed;
    await testbed.putTemplate({ maxTtl: 1_000, more: 'x.example {\n    autopath\n}\n' });
    await program.waitForLine(/reload failed: .*line \d+.*autopath/);
    const { ttls } = await testbed.answer('c.example');
    expect(ttls[0]).toBeGreaterThan(1_000);
    await testbed.putTemplate({ maxTtl: 2_000 });
    await until(async () => (await ask(port, `${Math.random()}.example`)).ttls[0] === 2_000);
  });

  it('takes a stub domain from the ConfigMap as soon as it is there, and loses no question by it', async () => {
    const { port, upstream } = testbed;
    const load = new QueryLoad(port, (n) => `n${n % 500}.example`);
    try {
      await until(() => load.asked > 500);
      await testbed.config.put({ stubDomains: { corp: [`127.0.0.1:${upstream.port}`] } });
      await until(async () => {
        const before = upstream.requests.length;
        await ask(port, `x${before}.corp`);
        return readFileSync(testbed.file('Corefile'), 'utf8').includes(`corp:${port} {`);
      });
      expect((await testbed.answer('a.corp')).texts).toEqual(['A 10.9.9.9']);
      await load.stop();
      expect(load.unanswered).toBe(0);
    } finally {
      await load.close();
    }
  });

  it('ends with 0 on SIGTERM, and takes the file with its process ID away', async () => {
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);
    expect(program.stderr).toContain('SIGTERM: Shutting down servers then terminating');
    expect(existsSync(testbed.file('pid'))).toBe(false);
  });
});

unless(needsIpv6(), it)(
  'serves both families, and its pages at an IPv6 address that is written without brackets',
  async () => {
    const testbed = opened(await ProgramTestbed.create());
    const { port, httpPort } = testbed;
    const [metricsPort, setupPort] = [await freePort(), await freePort()];
    await testbed.putTemplate({ pages: '::1' });
    const program = await testbed.start(
      '-localip=127.0.0.1,::1',
      `-prometheus-listen-address=::1:${metricsPort}`,
      `-metrics-listen-address=::1:${setupPort}`,
    );
    expect(program.stderr).toContain(`cluster.local.:${port} on ::1`);
    expect((await testbed.answer('a.example')).texts).toEqual(['A 10.0.0.1']);
    const page = async (at: number, path: string) =>
      (await fetch(`http://[::1]:${at}${path}`)).text();
    expect(await page(httpPort, '/health')).toBe('OK');
    await until(async () => (await page(httpPort, '/ready')) === 'OK');
    expect(await page(metricsPort, '/metrics')).toContain('coredns_');
    expect(await page(setupPort, '/metrics')).toContain('coredns_nodecache_');
  },
);

it('knows the answers of the cluster after a restart, whether it was ended or killed', async () => {
  const testbed = opened(await ProgramTestbed.create());
  const { port, upstream } = testbed;
  testbed.env = {
    KUBE_DNS_SERVICE_HOST: '127.0.0.1',
    KUBE_DNS_SERVICE_PORT: `${upstream.port}`,
  };
  const flag = `-snapshot-file=${testbed.file('snapshot')}`;
  const first = await testbed.start(flag);
  await testbed.answer('a.cluster.local');
  first.signal('SIGTERM');
  expect(await first.ended).toBe(0);
  await upstream.close();
  for (const signal of ['SIGKILL', 'SIGTERM', 'SIGTERM'] as const) {
    const program = await testbed.start(flag);
    const known = await ask(port, 'a.cluster.local');
    expect([known.texts, known.ttls]).toEqual([['A 10.0.0.1'], [5]]);
    expect((await ask(port, 'b.cluster.local')).rcode).toBe('SERVFAIL');
    program.signal(signal);
    await program.ended;
  }
});

it('gives its port to another process, which loses no question that is asked twice', async () => {
  const testbed = opened(await ProgramTestbed.create());
  const { port, httpPort, metricsPort } = testbed;
  const first = await testbed.start('--reuse-port');
  const loads = Array.from(
    { length: CLIENTS },
    (_, i) => new QueryLoad(port, (n) => `n${n % 60}.client${i}.example`),
  );
  const asked = () => loads.reduce((total, load) => total + load.asked, 0);
  const isOk = async (url: string) => (await get(url).catch(() => [0]))[0] === 200;
  try {
    await until(() => asked() > 300);
    const second = await testbed.start('--reuse-port');
    first.signal('SIGTERM');
    expect(await first.ended).toBe(0);
    const before = asked();
    await until(() => asked() > before + 300);
    expect(second.isRunning).toBe(true);
    await Promise.all(loads.map((load) => load.stop()));
    expect(loads.map(({ unanswered }) => unanswered)).toEqual(loads.map(() => 0));
    // The ports of health and of metrics are free again for it.
    await until(() => isOk(`http://127.0.0.1:${httpPort}/ready`));
    await until(() => isOk(`http://127.0.0.1:${metricsPort}/metrics`));
  } finally {
    await Promise.all(loads.map((load) => load.close()));
  }
});
