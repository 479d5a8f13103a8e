import { chmodSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer, type Manifest } from '@kube-dns/apiserver';
import { endPrograms, Kubedns, ScriptedNameServer, TemporaryFolder } from '@kube-dns/testkit';
import { parseAllDocuments } from 'yaml';
import { askAll } from '../../src/check/ask-program.js';
import { planLocal } from '../../src/check/ask-facts.js';
import { runHere, startCommand } from '../support/run-command.js';
import { SilentPort } from '../support/silent-port.js';
import { ProbeApi } from './support/probe-api.js';

interface Report {
  readonly findings: readonly { readonly code: string; readonly text: string }[];
  readonly notChecked: readonly { readonly code: string; readonly what: string; readonly because: string }[];
  readonly passed: readonly string[];
} // prettier-ignore

const HEALTHY = readFileSync(new URL('healthy.yaml', import.meta.url), 'utf8');
const files = new TemporaryFolder();
let api: ApiServer;
let kubedns: Kubedns;

/** A kubeconfig with two contexts: `main` of this server, which is the current one, and `gone`. */
function kubeconfigOf(server: string): string {
  const text = `apiVersion: v1
kind: Config
current-context: main
clusters:
  - { name: main, cluster: { server: '${server}' } }
  - { name: gone, cluster: { server: 'http://127.0.0.1:1' } }
users: [{ name: me, user: {} }]
contexts:
  - { name: main, context: { cluster: main, user: me } }
  - { name: gone, context: { cluster: gone, user: me } }
`;
  return files.file('kubeconfig', text);
}

beforeAll(async () => {
  api = await createApiServer();
  // The other kinds are none of this server's.
  const documents = parseAllDocuments(HEALTHY).map((each) => each.toJS() as Manifest);
  await api.apply(documents.filter(({ kind }) => kind !== 'NetworkPolicy'));
  kubedns = await Kubedns.start({ flags: [`--kube-master-url=${api.url}`] });
  await kubedns.ready(60_000);
});
afterAll(async () => {
  await endPrograms();
  await Promise.all([api.close(), files.close()]);
});

async function report(...args: readonly string[]): Promise<Report> {
  const { stdout, stderr } = await runHere(['check', '-o', 'json', ...args]);
  expect(stderr).toBe('');
  return JSON.parse(stdout) as Report;
}

describe('kube-dns check of the programs of this machine', () => {
  it('says within two seconds that there are no findings', async () => {
    const startMs = performance.now();
    const port = `--kubedns=${kubedns.ports.metrics}`;
    const { status, stdout } = await runHere(['check', `--api=${api.url}`, port, '--dnsmasq=0', '--node-cache=0']); // prettier-ignore
    expect(stdout).toMatch(/\nno findings; \d+ passed, \d+ not checked\n$/);
    expect(status).toBe(0);
    expect(performance.now() - startMs).toBeLessThan(2_000);
    for (const code of ['KD0116', 'KD0118', 'KD0125']) expect(stdout).toMatch(new RegExp(`^ok +${code} `, 'm')); // prettier-ignore
  });
});

describe('kube-dns check while a program hangs', () => {
  let silent: SilentPort;
  beforeAll(async () => {
    silent = await SilentPort.open();
  });
  afterAll(() => silent.close());

  it.each(['dnsmasq', 'kubedns'])('is an error for %s, and passes nothing that it would say', async (program) => {
    const other = program === 'dnsmasq' ? `--kubedns=${kubedns.ports.metrics}` : '--dnsmasq=0';
    const ports = [`--${program}=${silent.port}`, other, '--node-cache=0'];
    const { status, stdout } = await runHere(['check', '-o', 'json', `--api=${api.url}`, ...ports]);
    const { findings, passed } = JSON.parse(stdout) as Report;
    const hang = `${program} hangs (port ${silent.port} of this machine: no answer within 2 s)`;
    expect([status, findings.map(({ code, text }) => [code, text])]).toEqual([
      1,
      [['KD0126', `${hang}, or its machine is overloaded; see its log, and restart it`]],
    ]);
    const unsure = program === 'dnsmasq' ? ['KD0103', 'KD0107', 'KD0116', 'KD0117'] : ['KD0118'];
    for (const code of unsure) expect(passed).not.toContain(code);
  }); // prettier-ignore
});

describe('kube-dns check without an API server', () => {
  let silent: SilentPort;
  beforeAll(async () => {
    silent = await SilentPort.open();
  });
  afterAll(() => silent.close());

  it.each(['hangs', 'is away'])('that %s looks at the programs of this machine, and says it', async (how) => {
    const args = [`--api=http://127.0.0.1:${how === 'hangs' ? silent.port : 1}`, '--dnsmasq=0', '--node-cache=0'];
    const startMs = performance.now();
    const { status, stdout } = await runHere(['check', '-o', 'json', `--kubedns=${kubedns.ports.metrics}`, ...args]);
    expect(performance.now() - startMs).toBeLessThan(10_000);
    const { findings, notChecked } = JSON.parse(stdout) as Report;
    expect([status, findings.map(({ code }) => code)]).toEqual([1, ['KD0127']]);
    expect(findings[0]!.text).toMatch(/^cannot read \/version of \S+: .*; the DNS answers with what it had before$/);
    expect(notChecked).toContainEqual({ code: 'KD0116', what: 'answers beside the API', because: 'the API server does not answer' });
    expect((await runHere(['check', '--kubedns=0', ...args])).status).toBe(2);
  }, 30_000); // prettier-ignore

  it('of a kubeconfig says within seconds what to do', async () => {
    const { status, stderr } = await runHere(['check', `--kubeconfig=${kubeconfigOf(`http://127.0.0.1:${silent.port}`)}`]); // prettier-ignore
    const url = `http://127.0.0.1:${silent.port}`;
    expect([status, stderr]).toEqual([
      2,
      `kube-dns: cannot read /version of ${url}: no answer within 5000 ms; kube-dns check --api=${url} in a DNS pod looks at its programs without the API server\n`,
    ]);
  }, 30_000);
});

describe('kube-dns check of a cluster', () => {
  it('says why it sees no pages, and takes the context that is given', async () => {
    const kubeconfig = kubeconfigOf(api.url);
    const { findings, notChecked } = await report(`--kubeconfig=${kubeconfig}`);
    expect(findings).toEqual([]);
    expect(notChecked).toContainEqual({ code: 'KD0107', what: 'the upstream servers of the programs', because: 'no pod of the DNS runs' }); // prettier-ignore
    expect(notChecked).toContainEqual({ code: 'KD0108', what: 'A and AAAA from one port', because: 'no pod asks without --probe' }); // prettier-ignore
    const gone = await runHere(['check', `--kubeconfig=${kubeconfig}`, '--context=gone']);
    expect([gone.status, gone.stdout]).toEqual([2, '']);
    expect(gone.stderr).toMatch(/^kube-dns: cannot read \/\S+ of http:\/\/127\.0\.0\.1:1: .*\n$/);
    const unknown = await runHere(['check', `--kubeconfig=${kubeconfig}`, '--context=none']);
    expect(unknown.stderr).toBe(`kube-dns: cannot read the kubeconfig ${kubeconfig}: it has no context none; kubectl config get-contexts lists them\n`); // prettier-ignore
  });

  it('does not pass what it has no right to see', async () => {
    api.failRequests({ status: 403, resource: 'services' });
    const { notChecked, passed } = await report(`--kubeconfig=${kubeconfigOf(api.url)}`);
    api.clearFailures();
    expect(notChecked).toContainEqual({ code: 'KD0101', what: 'the DNS Service', because: 'you have no right to list services (HTTP status 403)' }); // prettier-ignore
    expect(passed).not.toContain('KD0101');
  });

  it('looks at the version and the address before an installation', async () => {
    const { findings, passed, notChecked } = await report(`--kubeconfig=${kubeconfigOf(api.url)}`, '--pre'); // prettier-ignore
    expect(findings.map(({ code }) => code)).toEqual(['KD0002']);
    expect(passed).toEqual(['KD0003', 'KD0004', 'KD0005']);
    expect(notChecked.map(({ code }) => code)).toEqual(['KD0001']);
  });
});

describe('kube-dns check --probe', () => {
  let front: ProbeApi;
  beforeAll(async () => {
    front = await ProbeApi.start(api.url);
  });
  afterAll(() => front.close());

  it('starts a pod that asks, and removes it', async () => {
    front.fate = 'runs';
    const { notChecked } = await report(
      `--kubeconfig=${kubeconfigOf(front.url)}`,
      '--probe',
      '--probe-image=localhost/kubedns',
    );
    // What it finds is this machine's; that it was asked is what counts.
    const codes = notChecked.map(({ code }) => code);
    for (const code of ['KD0103', 'KD0104', 'KD0108', 'KD0109']) expect(codes).not.toContain(code);
    const [created = '', removed = '', ...more] = front.changes.splice(0);
    expect(created).toMatch(/^POST kube-dns-check-[0-9a-f]{8}$/);
    expect([removed, more]).toEqual([created.replace('POST', 'DELETE'), []]);
  });

  it('removes a pod whose image is not there', async () => {
    front.fate = 'no-image';
    const { status, stderr } = await runHere(['check', `--kubeconfig=${kubeconfigOf(front.url)}`, '--probe']); // prettier-ignore
    expect([status, front.pods]).toEqual([2, []]);
    expect(stderr).toMatch(/^kube-dns: the pod kube-dns-check-\S+ of --probe did not run: ErrImagePull\n$/); // prettier-ignore
    expect(front.changes.splice(0)).toHaveLength(2);
  });

  it('removes it also on Ctrl-C', async () => {
    const other = await ProbeApi.start(api.url);
    other.fate = 'waits';
    const command = startCommand(['check', `--kubeconfig=${kubeconfigOf(other.url)}`, '--probe']);
    await other.created;
    command.signal('SIGINT');
    expect(await command.ended).toBe(130);
    expect([other.pods, command.stdout, command.stderr]).toEqual([[], '', '']);
    expect(other.changes).toHaveLength(2);
    await other.close();
  });

  it('asks over UDP and TCP', async () => {
    const server = await ScriptedNameServer.start(() => ({
      answers: [{ type: 'A', data: '10.96.0.1' }],
    }));
    const { replies } = await askAll(planLocal('127.0.0.1', server.port, 'cluster.local'));
    const reply = { rcode: 0, isTruncated: false, addresses: ['10.96.0.1'] };
    expect(replies).toEqual([[reply], [reply]]);
    const { port } = server;
    await server.close();
    const closed = await askAll(planLocal('127.0.0.1', port, 'cluster.local'));
    expect(closed.replies).toEqual([[null], [null]]);
  });
});

describe('kube-dns check of a cluster with a pod', () => {
  let silent: SilentPort;
  beforeAll(async () => {
    silent = await SilentPort.open();
  });
  afterAll(() => silent.close());

  it('says which of its programs hangs', async () => {
    await api.apply([
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'dns-1', namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } },
        spec: {
          containers: [
            { name: 'kubedns', image: 'localhost/kubedns:1' },
            { name: 'dnsmasq', image: 'localhost/dnsmasq:1' },
          ],
        },
        status: { phase: 'Running' },
      },
    ]);
    // The way to kubedns, and to a dnsmasq that hangs.
    const script = `#!/bin/sh
case "$*" in *:10055) port=${kubedns.ports.metrics};; *) port=${silent.port};; esac
echo "Forwarding from 127.0.0.1:$port -> 1"
while :; do sleep 0.1; done
`;
    chmodSync(files.file('kubectl', script), 0o755);
    const command = startCommand(['check', '-o', 'json', `--kubeconfig=${kubeconfigOf(api.url)}`], {
      env: { PATH: `${files.path}:${process.env.PATH ?? ''}` },
    });
    expect(await command.ended).toBe(1);
    const { findings, passed } = JSON.parse(command.stdout) as Report;
    const hangs = findings.filter(({ code }) => code === 'KD0126').map(({ text }) => text);
    expect(hangs).toEqual([
      'dnsmasq of pod dns-1 hangs (port 10056: no answer within 5 s), or its machine is overloaded; see its log, and restart it',
    ]);
    expect(passed).toContain('KD0118');
    for (const code of ['KD0103', 'KD0107', 'KD0116']) expect(passed).not.toContain(code);
  }, 30_000);
});
