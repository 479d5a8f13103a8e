import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer, type Manifest } from '@kube-dns/apiserver';
import { endPrograms, Kubedns, ScriptedNameServer, TemporaryFolder } from '@kube-dns/testkit';
import { parseAllDocuments } from 'yaml';
import { explainUsage } from '../../src/explain/options.js';
import { startCommand, type Ran, runHere } from '../support/run-command.js';
import { COREDNS_ROWS } from './support/coredns-rows.js';

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const CLUSTER = new URL('cluster.yaml', import.meta.url);
/** Set to print the outputs for the README. */
const IS_PRINTING = process.env.PRINT_EXPLAIN === '1';
const QUESTIONS = 10;
const ADDRESSES: ReadonlyMap<string, string> = new Map([
  ['www.example.com', '192.0.2.80'],
  ['payments.example.com', '192.0.2.81'],
  ['vpn.corp.example', '10.9.0.1'],
]);
let api: ApiServer;
let upstream: ScriptedNameServer;
let kubedns: Kubedns;
const config = new TemporaryFolder();
const tools = new TemporaryFolder();

beforeAll(async () => {
  api = await createApiServer();
  const documents = parseAllDocuments(readFileSync(CLUSTER, 'utf8'));
  await api.apply(documents.map((document) => document.toJS() as Manifest));
  upstream = await ScriptedNameServer.start(({ question: { name, type } }) => {
    const data = ADDRESSES.get(name);
    if (data === undefined) return { rcode: 'NXDOMAIN' };
    return type === 'A' ? { answers: [{ type: 'A', ttl: 60, data }] } : {};
  });
  const server = `127.0.0.1:${upstream.port}`;
  config.file('stubDomains', JSON.stringify({ 'corp.example': [server] }));
  config.file('upstreamNameservers', JSON.stringify([server]));
  kubedns = await Kubedns.start({
    flags: [`--kube-master-url=${api.url}`, `--config-dir=${config.path}`],
  });
  await kubedns.ready(60_000);
});

afterAll(async () => {
  await endPrograms();
  await Promise.all([api.close(), upstream.close(), config.close(), tools.close()]);
});

const run = (args: readonly string[]) => runHere(['explain', ...args]);

/** Asks kubedns alone, where this test has it. */
function explain(...args: string[]): Promise<Ran> {
  const { readiness } = kubedns.ports;
  return run([...args, `--kubedns=${readiness}`, '--dnsmasq=0', '--node-cache=0']);
}

/** An output with the versions, times and ports of the README. */
function normal(text: string): string {
  return text
    .replace(/version \d+/g, 'version 4711')
    .replace(/\d+(?:\.\d+)? ms/g, '0.4 ms')
    .replaceAll(`127.0.0.1#${upstream.port}`, '10.0.0.53#53')
    .replaceAll(config.path, '/kube-dns-config');
}

/** Lines are broken where the words of this run end, also between a time and its unit. */
function words(text: string): string {
  return normal(text.replace(/\s+/g, ' ')).trim();
}

const EXAMPLES = [...README.matchAll(/```console\n\$ npx kube-dns explain (.*)\n([^]*?)```/g)].map(
  ([, args = '', output = '']) => [args, output] as const,
);

describe('the questions in the README', () => {
  it('are ten', () => {
    expect(EXAMPLES.length).toBe(QUESTIONS);
  });

  it.each(EXAMPLES)('kube-dns explain %s', async (args, output) => {
    const { stdout, stderr } = await explain(...args.split(' '));
    if (IS_PRINTING) process.stderr.write(`\n@@@ ${args}\n${normal(stdout)}`);
    expect([words(stdout), stderr]).toEqual([words(output), '']);
  });
});

describe('what explain says that CoreDNS would say', () => {
  it.each(COREDNS_ROWS)('is there for %s %s: %s', async (name, type, note) => {
    const { stdout } = await explain(`${name}.`, type, '--json');
    const { coredns } = JSON.parse(stdout) as { coredns: string[] };
    expect(coredns.join('; ')).toContain(note);
  });
});

describe('kube-dns explain', () => {
  it('prints JSON with what each program says, and ends with 0 when there are records, else with 1', async () => {
    const { stdout, status } = await explain('web.shop', '-o', 'json');
    const data = JSON.parse(stdout) as {
      lookup: { name: string; outcome: string }[];
      explanations: { program: string; verdict: { answers: string[] } }[];
    };
    expect(status).toBe(0);
    expect(data).toMatchObject({
      question: { name: 'web.shop', type: 'A' },
      outcome: 'answered',
      decidedBy: 'web.shop.svc.cluster.local.',
      resolver: { ndots: 5, order: 'searched' },
      notAsked: [],
    });
    expect(data.lookup.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
      'web.shop.default.svc.cluster.local. no-name',
      'web.shop.svc.cluster.local. answered',
    ]);
    expect(data.explanations.map(({ program, verdict }) => [program, verdict.answers])).toEqual([
      ['kubedns', ['web.shop.svc.cluster.local. 30 IN A 10.96.20.1']],
    ]);
    expect((await explain('none.shop', '--json')).status).toBe(1);
  });

  it('asks as a pod does whose dnsConfig it reads', async () => {
    const { stdout } = await explain('vpn', '--from=shop/report', `--api=${api.url}`);
    expect(stdout).toMatch(/^vpn has the address 10\.9\.0\.1, as vpn\.corp\.example\.\n/);
    expect(words(stdout)).toContain(
      'The pod shop/report has dnsPolicy ClusterFirst. Its dnsConfig adds the search domains corp.example. Its dnsConfig sets ndots to 2.',
    );
  });

  it('says what is wrong and what to do when nothing can be asked', async () => {
    const none = await run(['web', '--kubedns=9', '--dnsmasq=9', '--node-cache=0']);
    expect(none.status).toBe(2);
    expect(none.stderr).toMatch(
      /^kube-dns: no program can be asked: dnsmasq \(127\.0\.0\.1:9: connection refused\); kubedns \(.*; start kube-dns up, give --pod, or run this in the DNS pod\n$/,
    );
    const missing = await explain('web', '--from=shop/none', `--api=${api.url}`);
    expect(missing.stderr).toMatch(/^kube-dns: there is no pod shop\/none at http:/);
    const wrong = async (...args: string[]) => (await explain(...args)).stderr;
    expect(await wrong()).toBe('kube-dns: a name is missing: kube-dns explain NAME [TYPE]\n');
    expect(await wrong('web', 'B')).toBe('kube-dns: "B" is no record type\n');
    expect(await wrong('a..b')).toBe('kube-dns: "a..b" is no name: empty label\n');
    expect(await wrong('web', '--from=a/b/c')).toBe(
      'kube-dns: --from a/b/c: must be a namespace, or NAMESPACE/POD\n',
    );
  });

  it('names a program that cannot be asked beside those that can', async () => {
    const { readiness } = kubedns.ports;
    const { stdout } = await run([
      'web.shop.',
      `--kubedns=${readiness}`,
      '--dnsmasq=9',
      '--node-cache=0',
    ]);
    expect(words(stdout)).toContain(
      'Not asked - dnsmasq (127.0.0.1:9: connection refused): a stock manifest does not open its port: add -metrics-addr=127.0.0.1:10056 to the arguments of the nanny.',
    );
  });

  it('forwards the ports of a pod with kubectl, and ends that', async () => {
    const log = join(tools.path, 'log');
    const script = `#!/bin/sh
printf '%s\\n' "$*" >>${log}
echo "Forwarding from 127.0.0.1:${kubedns.ports.readiness} -> 8081"
trap 'echo ended >>${log}; exit' TERM
while :; do sleep 0.1; done
`;
    const kubectl = tools.file('kubectl', script);
    chmodSync(kubectl, 0o755);
    const runProcess = async (path: string) => {
      const args = ['explain', 'web.shop', '--pod=dns-1', '--dnsmasq=0', '--node-cache=0'];
      const command = startCommand(args, { env: { PATH: path } });
      return { status: await command.ended, stdout: command.stdout, stderr: command.stderr };
    };
    const path = `${tools.path}:${process.env.PATH ?? ''}`;
    const { stdout, status } = await runProcess(path);
    expect([stdout.split('\n')[0], status]).toEqual([
      'web.shop has the address 10.96.20.1, as web.shop.svc.cluster.local.',
      0,
    ]);
    expect(readFileSync(log, 'utf8').split('\n')[0]).toBe(
      '-n kube-system port-forward --address=127.0.0.1 pod/dns-1 :8081',
    );
    tools.file(
      'kubectl',
      `#!/bin/sh
echo "E1129 06:09:07.414913   21648 memcache.go:265] couldn't get current server API group list" >&2
echo 'Error from server (NotFound): pods "dns-1" not found' >&2
exit 1
`,
    );
    const missing = await runProcess(path);
    expect([missing.stderr, missing.status]).toEqual([
      'kube-dns: cannot forward ports of the pod kube-system/dns-1: Error from server (NotFound): pods "dns-1" not found\n',
      2,
    ]);
    const without = await runProcess('/nowhere');
    expect(without.stderr).toMatch(/: kubectl is not on PATH\n$/);
  });

  it('has a usage that fits a terminal', () => {
    const long = explainUsage()
      .split('\n')
      .filter((line) => line.length > 100);
    expect(long).toEqual([]);
  });
});
