import { chmodSync } from 'node:fs';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { ask, endPrograms, Kubedns, ScriptedNameServer, TemporaryFolder } from '@kube-dns/testkit';
import { kubeDns } from '../src/program.js';
import { LogText } from './support/log-text.js';
import { runHere, startCommand } from './support/run-command.js';
import { SilentPort } from './support/silent-port.js';

let api: ApiServer;
let upstream: ScriptedNameServer;
let kubedns: Kubedns;
const tools = new TemporaryFolder();
const ELSEWHERE = ['--dnsmasq=0', '--node-cache=0'];

beforeAll(async () => {
  api = await createApiServer();
  upstream = await ScriptedNameServer.start();
  kubedns = await Kubedns.start({
    flags: [`--kube-master-url=${api.url}`, `--nameservers=127.0.0.1:${upstream.port}`],
  });
  await kubedns.ready(60_000);
  // A way to kubedns for each pod.
  const { readiness } = kubedns.ports;
  const script = `#!/bin/sh
echo "Forwarding from 127.0.0.1:${readiness} -> 8081"
while :; do sleep 0.1; done
`;
  chmodSync(tools.file('kubectl', script), 0o755);
});

afterAll(async () => {
  await endPrograms();
  await Promise.all([api.close(), upstream.close(), tools.close()]);
});

const askFor = (name: string) => ask(kubedns.ports.dns, { name, type: 'A' });
const local = () => [`--kubedns=${kubedns.ports.readiness}`, ...ELSEWHERE];
const PODS = ['--pod=dns-1', '--pod=dns-2', ...ELSEWHERE];
const start = (...args: readonly string[]) =>
  startCommand(args, { env: { PATH: `${tools.path}:${process.env.PATH ?? ''}` } });

/** Asks until the command has ended; with what it printed. */
async function asking(name: string, command: ReturnType<typeof start>) {
  let status: number | string | null | undefined;
  void command.ended.then((end) => (status = end));
  while (status === undefined) await askFor(name);
  return { status, lines: command.stdout.trim().split('\n') };
}

describe('kube-dns top', () => {
  it('has who asks this machine most, and for what', async () => {
    for (let i = 0; i < 3; i++) await askFor('no.shop.svc.cluster.local');
    const { status, stdout } = await runHere(['top', ...local()]);
    expect([status, stdout.split('\n').slice(0, 3)]).toEqual([
      0,
      [
        'client 3 127.0.0.1',
        'name 3 no.shop.svc.cluster.local',
        'nxdomain 3 no.shop.svc.cluster.local',
      ],
    ]);
    const json = await runHere(['top', '-o', 'json', '--rows=1', ...local()]);
    expect(JSON.parse(json.stdout)).toEqual({
      programs: ['kubedns'],
      podsLeftOut: 0,
      failures: [],
      clients: [{ client: '127.0.0.1', questions: 3 }],
      names: [{ name: 'no.shop.svc.cluster.local', questions: 3 }],
      nxdomainNames: [{ name: 'no.shop.svc.cluster.local', questions: 3 }],
    });
  });

  it('adds up what the pods have that it reaches by kubectl', async () => {
    const command = start('top', ...PODS);
    expect(await command.ended).toBe(0);
    expect(command.stdout).toMatch(/^client 6 127\.0\.0\.1\nname 6 no\.shop/);
  });

  it('finds the running pods of the cluster by their label', async () => {
    const pod = (name: string, app: string, phase: string) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'kube-system', labels: { 'k8s-app': app } },
      spec: { containers: [{ name: 'dns', image: 'dns' }] },
      status: { phase },
    });
    await api.apply([
      pod('dns-1', 'kube-dns', 'Running'),
      pod('dns-2', 'node-local-dns', 'Running'),
      pod('dns-3', 'kube-dns', 'Pending'),
      pod('proxy-1', 'kube-proxy', 'Running'),
    ]);
    const config = tools.file(
      'config',
      `{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], clusters: [{name: a, cluster: {server: "${api.url}"}}], users: [{name: a, user: {}}]}`,
    );
    const args = ['--all-pods', `--kubeconfig=${config}`, '-o', 'json', ...ELSEWHERE];
    const command = start('top', ...args);
    expect([await command.ended, command.stderr]).toEqual([0, '']);
    expect(JSON.parse(command.stdout)).toMatchObject({
      programs: ['dns-1/kubedns', 'dns-2/kubedns'],
    });
  });

  it('draws its lists anew on a terminal', async () => {
    const [stdout, stderr] = [Object.assign(new LogText(), { isTTY: true }), new LogText()];
    const context = { repository: '', stdin: Readable.from([]), stdout, stderr };
    const args = ['top', '--count=2', '--interval=1', '--rows=1', ...local()];
    expect(await kubeDns(args, context)).toBe(0);
    expect(stdout.text.split('\u001b[H').slice(1)).toHaveLength(2);
    const screen = stdout.text.replaceAll('\u001b[K', '');
    expect(screen).toMatch(/Questions {2}Names that do not exist\n +3 {2}no\.shop/);
  });

  it('says where it looked when nothing is there', async () => {
    const { status, stderr } = await runHere(['top', '--kubedns=9', ...ELSEWHERE]);
    expect([status, stderr]).toEqual([
      2,
      'kube-dns: no program has the page /top at 127.0.0.1:9; start kube-dns up, give --pod or --all-pods, or run this in the DNS pod\n',
    ]);
  });
});

describe('kube-dns top and tail while dnsmasq hangs', () => {
  let silent: SilentPort;
  let ports: string[];
  let line: string;
  beforeAll(async () => {
    silent = await SilentPort.open();
    ports = [`--dnsmasq=${silent.port}`, `--kubedns=${kubedns.ports.readiness}`, '--node-cache=0'];
    line = `kube-dns: dnsmasq does not answer: 127.0.0.1:${silent.port}: no answer within 2 s; it hangs, or its machine is overloaded; see its log, and restart it\n`;
  });
  afterAll(() => silent.close());

  it('top says it beside the lists of kubedns', async () => {
    const { status, stderr } = await runHere(['top', ...ports]);
    expect([status, stderr]).toEqual([0, line]);
    const json = await runHere(['top', '-o', 'json', ...ports]);
    const { programs, failures } = JSON.parse(json.stdout) as Record<string, string[]>;
    expect([programs, failures]).toEqual([['kubedns'], [line.slice('kube-dns: '.length, -1)]]);
  });

  it('top says it alone where dnsmasq alone is meant', async () => {
    const { status, stdout, stderr } = await runHere(['top', '--program=dnsmasq', ...ports]);
    expect([status, stdout, stderr]).toEqual([2, '', line]);
  });

  it('tail says it beside the answers of kubedns', async () => {
    const command = start('tail', '--count=1', ...ports);
    expect((await asking('a.test', command)).status).toBe(0);
    expect(command.stderr).toBe(line);
  });
});

describe('kube-dns tail', () => {
  it('prints the answers for a name and below it, whose query log is off', async () => {
    const command = start('tail', 'shop.svc.cluster.local', '--count=2', ...local());
    void askFor('other.svc.cluster.local');
    const { status, lines } = await asking('web.shop.svc.cluster.local', command);
    expect(status).toBe(0);
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      expect(line).toMatch(
        /^\d\d:\d\d:\d\d\.\d{3} 127\.0\.0\.1 A web\.shop\.svc\.cluster\.local\. NXDOMAIN \S+ \d+\.\d ms/,
      );
    }
  });

  it('names the pod where there are several, also as JSON', async () => {
    const text = await asking('a.test', start('tail', '--count=20', ...PODS));
    expect(new Set(text.lines.map((line) => line.split(' ')[1]))).toEqual(
      new Set(['dns-1/kubedns', 'dns-2/kubedns']),
    );
    const json = await asking('a.test', start('tail', '--count=1', '-o', 'json', ...PODS));
    expect(JSON.parse(json.lines[0]!)).toMatchObject({
      from: expect.stringMatching(/^dns-\d\/kubedns$/),
      answer: { qname: 'a.test.', qtype: 'A' },
    });
  });

  it('refuses what is no name', async () => {
    const { status, stderr } = await runHere(['tail', 'a..b', ...local()]);
    expect([status, stderr]).toEqual([2, 'kube-dns: "a..b" is no name: empty label\n']);
  });
});
