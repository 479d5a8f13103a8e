import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  ask,
  endPrograms,
  freePort,
  ScriptedNameServer,
  startBundle,
  until,
} from '@kube-dns/testkit';
import { runDnsmasq, type Serving, serve } from './processes.js';

let folder: string;
let upstream: ScriptedNameServer;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dnsmasq-metrics-'));
  upstream = await ScriptedNameServer.start(() => ({ answers: addressRecords(30, '10.0.0.1') }));
});
afterEach(async () => {
  await endPrograms();
  await upstream.close();
  rmSync(folder, { recursive: true });
});

const withMetrics = (options: readonly string[], ...nanny: string[]) =>
  serve(['--no-resolv', ...options], ['--metrics-addr=127.0.0.1:0', ...nanny]);

async function scrape({ process }: Serving): Promise<string> {
  await process.waitForLine('serving /metrics on port');
  const port = /serving \/metrics on port (\d+)/.exec(process.stderr)![1];
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect(response.status).toBe(200);
  return response.text();
}

describe('--metrics-addr', () => {
  it('serves the figures of cache, servers, answers and engine, each with a sentence', async () => {
    const serving = await withMetrics([`--server=${upstream.text}`, '--cache-size=77']);
    await ask(serving.port, 'a.example');
    await ask(serving.port, 'a.example');
    const text = await scrape(serving);
    for (const line of [
      'dnsmasq_hits_total 1',
      'dnsmasq_misses_total 1',
      'dnsmasq_cache_max_records 77',
      'dnsmasq_cache_records 1',
      'dnsmasq_cache_insertions_total 1',
      'dnsmasq_upstream_in_flight 0',
      `dnsmasq_upstream_server_queries_total{server="${upstream.text}"} 1`,
      `dnsmasq_upstream_server_latency_seconds_count{server="${upstream.text}"} 1`,
      `dnsmasq_upstream_server_failures_total{server="${upstream.text}",reason="timeout"} 0`,
      'dnsmasq_answers_total{rcode="NOERROR"} 2',
      'dnsmasq_messages_total{protocol="udp"} 2',
      'dnsmasq_tcp_connections_open 0',
    ]) {
      expect(text).toContain(`\n${line}\n`);
    }
    expect(text).toMatch(/^dnsmasq_udp_engine_info\{engine="\w+"\} 1$/m);
    expect(text).toMatch(/^process_start_time_seconds \d/m);
    expect(text).not.toContain('coredns_');
    // Every metric has a text that is a sentence.
    const names = [...text.matchAll(/^# TYPE (dnsmasq_\S+) /gm)].map((match) => match[1]);
    expect(names.length).toBeGreaterThan(20);
    expect(text.match(/^# HELP dnsmasq_\S+ [A-Z1].+\.$/gm)).toHaveLength(names.length);
  });

  it('serves them under CoreDNS’s names with -coredns-metrics', async () => {
    const serving = await withMetrics([`--server=${upstream.text}`], '-coredns-metrics=true');
    await ask(serving.port, 'a.example');
    await ask(serving.port, 'a.example');
    const text = await scrape(serving);
    const lines = text.split('\n').filter((line) => line.startsWith('coredns_'));
    const values = new Map(
      lines.map((line) => [line.replace(/ \S+$/, ''), line.split(' ').at(-1)]),
    );
    const server = /server="(dns:\/\/:\d+)"/.exec(text)?.[1];
    const cache = `{server="${server}",zones=".",view=""}`;
    const here = `server="${server}",zone=".",view=""`;
    expect(values.get(`coredns_cache_hits_total${cache}`)).toBe('1');
    expect(values.get(`coredns_cache_misses_total${cache}`)).toBe('1');
    expect(values.get(`coredns_cache_entries${cache}`)).toBe('1');
    expect(values.get(`coredns_dns_requests_total{${here},proto="udp"}`)).toBe('2');
    expect(values.get(`coredns_dns_responses_total{${here},rcode="NOERROR"}`)).toBe('2');
    const proxy = `{proxy_name="forward",to="${upstream.text}"}`;
    expect(values.get(`coredns_proxy_request_duration_seconds_count${proxy}`)).toBe('1');
    const names = [...text.matchAll(/^# TYPE (coredns_\S+) /gm)].map((match) => match[1]);
    const table = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    const shown = [...table.matchAll(/^\| `(coredns_\w+)`/gm)].map((match) => match[1]);
    expect(names).toEqual(shown.sort());
  });

  it('distinguishes servers without a listener from silent ones', async () => {
    const port = await freePort();
    const closed = `127.0.0.1#${port}`;
    upstream.script = () => null;
    const serving = await withMetrics([
      `--server=/closed.example/${closed}`,
      `--server=/silent.example/${upstream.text}`,
      '--query-timeout=100',
    ]);
    const answers = ['x.closed.example', 'x.silent.example'].map((name) => ask(serving.port, name));
    expect((await Promise.all(answers)).map(({ rcode }) => rcode)).toEqual([
      'SERVFAIL',
      'SERVFAIL',
    ]);
    const text = await scrape(serving);
    const failures = (server: string, reason: string) =>
      Number(
        new RegExp(`failures_total{server="${server}",reason="${reason}"} (\\d+)`).exec(text)?.[1],
      );
    expect(failures(closed, 'unreachable')).toBeGreaterThan(0);
    expect(failures(upstream.text, 'timeout')).toBeGreaterThan(0);
    expect(failures(upstream.text, 'unreachable')).toBe(0);
    expect(text).toContain('\ndnsmasq_upstream_failures_total 2\n');
    expect(text).toContain('\ndnsmasq_answers_total{rcode="SERVFAIL"} 2\n');
    expect(text).toContain(`\ndnsmasq_upstream_server_up{server="${closed}"} 0\n`);
    await serving.process.waitForLine(
      new RegExp(`nameserver ${closed} .* - not used until it does`),
    );
  });

  it('retains its counters over SIGHUP, which empties the cache', async () => {
    const serving = await withMetrics([`--server=${upstream.text}`]);
    await ask(serving.port, 'a.example');
    serving.process.signal('SIGHUP');
    await serving.process.waitForLine('cleared cache');
    const text = await scrape(serving);
    expect(text).toContain('\ndnsmasq_cache_records 0\n');
    expect(text).toContain('\ndnsmasq_cache_insertions_total 1\n');
  });

  it('reports which ConfigMap is active', async () => {
    const file = join(folder, 'upstreamNameservers');
    writeFileSync(file, '["10.1.1.1"]');
    const serving = await withMetrics([], '-restartDnsmasq=true', `-configDir=${folder}`);
    const first = await scrape(serving);
    expect(first).toMatch(/^dnsmasq_config_generation 1$/m);
    expect(first).toMatch(/^dnsmasq_config_info\{version="\w+"\} 1$/m);
    expect(first).toMatch(/^dnsmasq_config_applied_timestamp_seconds 1\d{9}/m);
    writeFileSync(file, '[]');
    await until(async () => /^dnsmasq_config_generation 2$/m.test(await scrape(serving)));
    writeFileSync(file, 'nonsense');
    await until(async () => /^dnsmasq_config_rejected_total 1$/m.test(await scrape(serving)));
    expect(await scrape(serving)).toMatch(/^dnsmasq_config_generation 2$/m);
  });

  it.each([
    ['', false],
    ['127.0.0.1:0', false],
    ['127.0.0.1:0', true],
  ])('loads what serves HTTP for %j when it is asked: %s', async (address, isAsked) => {
    const preload = join(folder, 'preload.cjs');
    writeFileSync(
      preload,
      `const Module = require('node:module');
       const load = Module._load;
       Module._load = function (name) {
         if (name === 'node:http') process.stderr.write('loaded\\n');
         return load.apply(this, arguments);
       };`,
    );
    const argv = [`--metrics-addr=${address}`, '--', '-R', '-p', '0', '-a', '127.0.0.1'];
    const run = startBundle('dnsmasq', argv, { nodeFlags: ['--require', preload] });
    await run.waitForLine('serving on port');
    if (address !== '') {
      const [, port] = await run.waitForLine(/serving \/metrics on port (\d+)/);
      if (isAsked) await fetch(`http://127.0.0.1:${port}/metrics`);
    }
    run.signal('SIGTERM');
    expect(await run.ended).toBe(0);
    expect(run.stderr.includes('loaded\n')).toBe(isAsked);
  });

  it('ends it with 2 and the reason when it is no address', async () => {
    const run = runDnsmasq('--metrics-addr=9153', '--');
    expect(await run.ended).toBe(2);
    expect(run.stderr).toContain('dnsmasq: --metrics-addr=9153: the port is missing');
  });
});
