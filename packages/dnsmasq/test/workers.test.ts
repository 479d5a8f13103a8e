import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RCODE } from '@kube-dns/wire';
import { type Answer, ask, askTcp, exchangeUdp, readAnswer, statistic } from './client.js';
import { ConfigVolume } from './config-volume.js';
import { FakeUpstream } from './fake-upstream.js';
import { addressRecords, queryMessage, type Question, soaRecord } from './messages.js';
import { endProcesses, runDnsmasq, serve, type Serving } from './processes.js';
import { QueryLoad } from './query-load.js';
import { until } from './until.js';

/** Each question comes from a port of its own: of so many, no thread of three is left out. */
const MANY = 90;

const SOA = soaRecord(100, 'example', 100);

/** Hits, denials, local data, and what only the leader answers. */
const QUESTIONS: readonly Question[] = [
  { name: 'a.example' },
  { name: 'a.example', ednsBytes: 4096 },
  { name: 'A.eXample' },
  { name: 'x.example' },
  { name: 'host.test' },
  { name: '1.0.5.10.in-addr.arpa', type: 'PTR' },
  { name: 'no.local' },
  { name: 'made.example' },
  { name: 'host.test', type: 'TXT' },
  { name: 'version.bind', type: 'TXT', class: 'CH' },
  { name: 'nothing.bind', type: 'TXT', class: 'CH' },
  { name: 'a.example', isRecursionDesired: false },
  { name: 'a.example', ednsBytes: 1232, isDnssecOk: true },
];

let folder: string;
let hosts: string;
let upstream: FakeUpstream;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dnsmasq-workers-'));
  hosts = join(folder, 'hosts');
  await writeFile(hosts, '10.5.0.1 host.test\n');
  upstream = await FakeUpstream.start(({ name }) =>
    name[1] === 'x'.charCodeAt(0)
      ? { rcode: RCODE.NXDOMAIN, authorities: [SOA] }
      : { answers: addressRecords(100, '10.0.0.1') },
  );
});
afterEach(async () => {
  await endProcesses();
  await upstream.close();
  await rm(folder, { recursive: true });
});

/** Serves with some threads, all of them, hosts and metrics. */
async function start(
  workers: number,
  options: readonly string[] = [],
  nanny: readonly string[] = [],
): Promise<Serving> {
  const server = [`--server=${upstream.text}`, '--no-resolv', '--cache-size=1000'];
  const local = ['--no-hosts', `--addn-hosts=${hosts}`];
  const own = [...server, ...local, `--workers=${workers}`, ...options];
  const serving = await serve(own, ['--metrics-addr=127.0.0.1:0', ...nanny]);
  await serving.process.says('serving /metrics on port');
  return serving;
}

/** The values of a metric, in the order of its series. */
async function values({ process }: Serving, metric: string): Promise<number[]> {
  const port = /serving \/metrics on port (\d+)/.exec(process.stderr)![1];
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  const lines = (await response.text()).split('\n').filter((line) => line.startsWith(metric));
  return lines.map((line) => Number(line.split(' ').at(-1)));
}

/** What many clients are told, each other answer once. */
async function answersOf(port: number, question: Question, count = MANY, address = '127.0.0.1') {
  const seen = new Set<string>();
  for (let i = 0; i < count; i += 10) {
    const some = Array.from({ length: 10 }, async () =>
      readAnswer(await exchangeUdp(port, queryMessage(question), { address })),
    );
    for (const { rcode, texts } of await Promise.all(some)) seen.add(texts.join() || rcode);
  }
  return [...seen];
}

const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0);

describe.each(['auto', 'dgram'])('the threads of --workers=3 with the engine %s', (engine) => {
  const startThree = (...options: string[]) => start(3, [`--udp-engine=${engine}`, ...options]);

  it('all answer, from the same memory, and what they count adds up', async () => {
    const serving = await startThree();
    const { port, process } = serving;
    expect(process.messages).toContain('3 threads serve the UDP port');
    expect(await answersOf(port, { name: 'host.test' })).toEqual(['A 10.5.0.1']);
    expect(await answersOf(port, { name: 'a.example' })).toEqual(['A 10.0.0.1']);
    expect(await answersOf(port, { name: 'x.example' })).toEqual(['NXDOMAIN']);
    expect((await askTcp(port, { name: 'a.example' })).texts).toEqual(['A 10.0.0.1']);
    // Those that come together are asked once.
    expect(upstream.names.sort()).toEqual(['a.example', 'x.example']);
    const messages = () => values(serving, 'dnsmasq_worker_messages_total{');
    await until(async () => sum(await messages()) === 3 * MANY);
    const byThread = await messages();
    expect(byThread).toHaveLength(3);
    expect(Math.min(...byThread)).toBeGreaterThan(0);
    expect(await values(serving, 'dnsmasq_messages_total{')).toEqual([3 * MANY, 1]);
    expect(sum(await values(serving, 'dnsmasq_answers_total{'))).toBe(3 * MANY + 1);
    expect(await values(serving, 'dnsmasq_hits_total')).toEqual([3 * MANY - 2]);
    expect(await values(serving, 'dnsmasq_misses_total')).toEqual([2]);
    // A stored answer is told to workers at once: only the first few of many are handed over.
    const [handed] = await values(serving, 'dnsmasq_worker_handed_total');
    expect(handed).toBeLessThan(2 * MANY - 60);
    expect(await statistic(port, 'hits.bind')).toBe(3 * MANY - 2);
    process.kill('SIGUSR1');
    await process.says(`queries forwarded 2, queries answered locally ${3 * MANY - 1}`);
  });

  it('answer what is under way when they are to end', async () => {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    upstream.script = async () => {
      await released;
      return { answers: addressRecords(30, '10.0.0.2') };
    };
    const { port, process } = await startThree();
    const asked = Array.from({ length: 30 }, (_, i) => ask(port, `n${i}.example`));
    await until(() => upstream.asked.length === 30);
    process.kill('SIGTERM');
    await process.says('SIGTERM');
    release();
    for (const { texts } of await Promise.all(asked)) expect(texts).toEqual(['A 10.0.0.2']);
    expect(await process.exit).toBe(0);
    expect(process.messages.join('\n')).not.toMatch(/has ended/);
  });
});

describe('the threads of --workers=3', () => {
  it('answer byte by byte as one thread does', async () => {
    const rules = ['--local=/local/', '--address=/made.example/10.7.0.1'];
    const [one, three] = await Promise.all([start(1, rules), start(3, rules)]);
    // The TTLs may have gone down by one.
    const exchange = async ({ port }: Serving, question: Question) => {
      const answer = await exchangeUdp(port, queryMessage(question));
      return answer.toString('hex').replaceAll(/0000006[34]/g, 'ttl');
    };
    for (const question of QUESTIONS) {
      const expected = await exchange(one, question);
      for (let i = 0; i < 20; i++) {
        expect([question, await exchange(three, question)]).toEqual([question, expected]);
      }
    }
  });

  it('serve every address that is asked for', async () => {
    const others = ['--listen-address=127.0.0.2', '--listen-address=::1'];
    const serving = await start(3, others);
    for (const address of ['127.0.0.1', '127.0.0.2', '::1']) {
      const answers = await answersOf(serving.port, { name: 'host.test' }, 30, address);
      expect(answers).toEqual(['A 10.5.0.1']);
    }
    await until(async () => sum(await values(serving, 'dnsmasq_worker_messages_total{')) === 90);
  });

  it('serve addresses that come and go', async () => {
    const serving = await start(3, ['--bind-dynamic', '--interface=lo']);
    expect(await answersOf(serving.port, { name: 'host.test' })).toEqual(['A 10.5.0.1']);
    const messages = () => values(serving, 'dnsmasq_worker_messages_total{');
    await until(async () => sum(await messages()) === MANY);
    expect(Math.min(...(await messages()))).toBeGreaterThan(0);
  });

  it('know nothing of before once SIGHUP is through', async () => {
    const { port, process } = await start(3);
    await answersOf(port, { name: 'a.example' });
    await answersOf(port, { name: 'host.test' });
    for (const round of [2, 3, 4]) {
      upstream.script = () => ({ answers: addressRecords(100, `10.0.0.${round}`) });
      await writeFile(hosts, `10.5.0.${round} host.test\n`);
      const read = () => process.messages.filter((line) => line.startsWith(`read ${hosts}`));
      const before = read().length;
      process.kill('SIGHUP');
      await until(() => read().length > before);
      expect(await answersOf(port, { name: 'host.test' })).toEqual([`A 10.5.0.${round}`]);
      expect(await answersOf(port, { name: 'a.example' })).toEqual([`A 10.0.0.${round}`]);
    }
  });

  it('follow the directories of hosts files', async () => {
    const { port } = await start(3, [`--hostsdir=${folder}`]);
    await writeFile(join(folder, 'more'), '10.5.0.9 more.test\n');
    await until(async () => (await ask(port, 'more.test')).texts[0] === 'A 10.5.0.9');
    expect(await answersOf(port, { name: 'more.test' })).toEqual(['A 10.5.0.9']);
  });

  it('forget what is below a domain whose servers have changed', async () => {
    const others = await FakeUpstream.start(() => ({ answers: addressRecords(100, '10.0.0.9') }));
    const volume = await ConfigVolume.create();
    try {
      await volume.put({});
      const nanny = [`-configDir=${volume.path}`, '-restartDnsmasq=true'];
      const { port, process } = await start(3, [], nanny);
      expect(await answersOf(port, { name: 'a.corp.example' })).toEqual(['A 10.0.0.1']);
      expect(await answersOf(port, { name: 'a.example' })).toEqual(['A 10.0.0.1']);
      await volume.put({ stubDomains: { 'corp.example': [`127.0.0.1:${others.port}`] } });
      await process.says(`using nameserver ${others.text} for domain corp.example`);
      expect(await answersOf(port, { name: 'a.corp.example' })).toEqual(['A 10.0.0.9']);
      expect(await answersOf(port, { name: 'a.example' })).toEqual(['A 10.0.0.1']);
      expect(upstream.names.filter((name) => name === 'a.example')).toHaveLength(1);
    } finally {
      await volume.remove();
      await others.close();
    }
  });

  it('count every query of many clients once', async () => {
    const serving = await start(3);
    const loads = Array.from(
      { length: 12 },
      (_, client) => new QueryLoad(serving.port, (n) => `n${(n * 7 + client) % 60}.example`),
    );
    try {
      await until(() => loads.every(({ asked }) => asked > 500));
      await Promise.all(loads.map((load) => load.stop()));
      const asked = sum(loads.map((load) => load.asked));
      expect(loads.map(({ unanswered }) => unanswered)).toEqual(loads.map(() => 0));
      expect([...new Set(loads.flatMap(({ answers }) => [...answers.keys()]))]).toEqual([
        'A 10.0.0.1',
      ]);
      const messages = () => values(serving, 'dnsmasq_messages_total{protocol="udp"}');
      await until(async () => (await messages())[0] === asked);
      const [hits] = await values(serving, 'dnsmasq_hits_total');
      const [misses] = await values(serving, 'dnsmasq_misses_total');
      expect(hits! + misses!).toBe(asked);
      expect(misses).toBe(60);
      expect(upstream.asked).toHaveLength(60);
      expect(sum(await values(serving, 'dnsmasq_answers_total{'))).toBe(asked);
    } finally {
      await Promise.all(loads.map((load) => load.close()));
    }
  });

  it('log each query once', async () => {
    const { port, process } = await start(3, ['--log-queries']);
    await answersOf(port, { name: 'a.example' }, 30);
    const lines = process.messages.filter((line) => line.startsWith('query[A] a.example from'));
    expect(lines).toHaveLength(30);
  });

  it('ask again, once, for what is past its time', async () => {
    upstream.script = () => ({ answers: addressRecords(1, '10.0.0.1') });
    const { port } = await start(3, ['--use-stale-cache']);
    await ask(port, 'a.example');
    upstream.script = () => ({ answers: addressRecords(100, '10.0.0.2') });
    const text = ({ texts }: Answer) => texts[0];
    await until(async () => text(await ask(port, 'a.example')) === 'A 10.0.0.2');
    expect(upstream.asked).toHaveLength(2);
    expect(await answersOf(port, { name: 'a.example' })).toEqual(['A 10.0.0.2']);
  });
});

describe('--workers', () => {
  it.each(['0', '65', 'x'])('cannot be %s', async (count) => {
    const run = runDnsmasq('--', `--workers=${count}`);
    expect(await run.exit).toBe(1);
    expect(run.stderr).toMatch(/--workers: (?:it cannot be 0|bad number)/);
  });

  it('shares no port with another server', async () => {
    const { port } = await start(3);
    const options = ['--listen-address=127.0.0.1', '--no-resolv', '--workers=2'];
    const second = runDnsmasq('--', ...options, `--port=${port}`);
    expect(await second.exit).toBe(2);
    expect(second.stderr).toContain(`cannot listen on 127.0.0.1:${port} over TCP`);
  });
});
