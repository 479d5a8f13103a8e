import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';
import { TemporaryFolder } from '@kube-dns/testkit';
import { renderFolder } from '../../src/manifests/kustomization.js';
import { runHere } from '../support/run-command.js';

interface Report {
  readonly findings: readonly { readonly code: string; readonly text: string; readonly mend: string }[];
  readonly notChecked: readonly { readonly code: string; readonly because: string }[];
  readonly passed: readonly string[];
} // prettier-ignore

interface ServiceObject {
  readonly spec?: { trafficDistribution?: string };
}

const HEALTHY = readFileSync(new URL('healthy.yaml', import.meta.url), 'utf8');
const MANIFESTS = new URL('../../../../manifests/', import.meta.url);
const folder = new TemporaryFolder();
afterAll(() => folder.close());

async function check(text: string, ...flags: readonly string[]) {
  const { status, stdout, stderr } = await runHere(['check', '-', '-o', 'json', ...flags], text);
  expect(stderr).toBe('');
  return { status, report: JSON.parse(stdout) as Report };
}

function nodeIn(zone: string): object {
  const labels = { 'topology.kubernetes.io/zone': zone };
  return { apiVersion: 'v1', kind: 'Node', metadata: { name: zone, labels } };
}

/** Ten broken clusters: what is changed, and what is found. */
const BROKEN: readonly (readonly [replaced: string, by: string, code: string, text: string])[] = [
  ['replicas: 2', 'replicas: 0', 'KD0101', 'no Deployment has pods that the Service kube-dns selects'],
  ['nodeName: a', 'nodeName: b', 'KD0102', 'all ready endpoints (2) are on the node b: without it there is no DNS'],
  ['    - { name: dns-tcp, port: 53, protocol: TCP }\n---', '---', 'KD0103', 'the Service kube-dns has no port 53/TCP'],
  ['clusterDNS: [10.96.0.10]', 'clusterDNS: [10.0.0.10]', 'KD0104', 'ConfigMap kubelet-config has clusterDNS 10.0.0.10, the DNS has 10.96.0.10'],
  ['clusterDomain: cluster.local', 'clusterDomain: k8s.example', 'KD0105', 'ConfigMap kubelet-config has clusterDomain k8s.example, the DNS serves cluster.local'],
  ['stubDomains:', 'stubDomain:', 'KD0106', 'ConfigMap kube-dns: the key "stubDomain" is not known and has no effect; did you mean stubDomains?'],
  ['name: shop\n---', 'name: com\n---', 'KD0113', '1 namespace (com): a search domain makes NAME.com a service there, before the Internet is asked; --hidden-namespaces=com of kubedns prevents it'],
  ['memory: 320Mi', 'memory: 100Mi', 'KD0119', 'deployment/kube-dns, container kubedns: a limit of 100 MiB, 130 MiB are needed'],
  ['- { port: 53, protocol: UDP }', '- { port: 5353, protocol: UDP }', 'KD0121', 'the NetworkPolicy shop/web forbids questions of its pods over UDP'],
  ['externalName: db.example.com', 'externalName: db.data', 'KD0123', ''],
  ['externalName: db.example.com', 'externalName: db', 'KD0123', 'shop/db: db is taken as the whole name, no search domain is added'],
]; // prettier-ignore

describe('kube-dns check of files', () => {
  it('finds nothing in a cluster without a fault', async () => {
    const { status, report } = await check(HEALTHY, '--fail-on=warning');
    expect([status, report.findings]).toEqual([0, []]);
    expect(report.passed).toEqual(expect.arrayContaining(['KD0101', 'KD0104', 'KD0120', 'KD0121']));
    expect(report.notChecked).toContainEqual(
      expect.objectContaining({ code: 'KD0107', because: 'files do not show it' }),
    );
  });

  it.each(BROKEN)('says of %j in place of %j what is wrong', async (replaced, by, code, text) => {
    expect(HEALTHY).toContain(replaced);
    const { report } = await check(HEALTHY.replace(replaced, by));
    const found = report.findings.filter((each) => each.code === code);
    expect(found.map((each) => each.text)).toEqual(text === '' ? [] : [text]);
  });

  it('names the namespace and the deployment that there are in its commands', async () => {
    const other = HEALTHY.replaceAll('kube-system', 'dns')
      .replace('kind: Deployment\nmetadata:\n  name: kube-dns', 'kind: Deployment\nmetadata:\n  name: our-dns')
      .replace('memory: 320Mi', 'memory: 100Mi'); // prettier-ignore
    const { report } = await check(other, '--namespace=dns');
    expect(report.findings.map(({ mend }) => mend)).toEqual([
      'kubectl -n dns edit deployment our-dns',
    ]);
  });

  it('has no KD0120 with the manifests that mend it, and its command and runbook add what these have', async () => {
    const { objects } = renderFolder(fileURLToPath(new URL('kube-dns', MANIFESTS)));
    const base = [...objects, ...['a', 'b'].map(nodeIn)];
    const whole = await check(JSON.stringify({ kind: 'List', items: base }));
    expect(whole.report.passed).toContain('KD0120');
    expect(whole.report.notChecked.map(({ code }) => code)).not.toContain('KD0120');

    const value = (object: object) => (object as ServiceObject).spec?.trafficDistribution;
    const trafficDistribution = base.map(value).find((each) => each !== undefined)!;
    for (const object of base) delete (object as ServiceObject).spec?.trafficDistribution;
    const { report } = await check(JSON.stringify({ kind: 'List', items: base }));
    const [found] = report.findings.filter(({ code }) => code === 'KD0120');
    const mend = `kubectl -n kube-system patch service kube-dns -p '{"spec":{"trafficDistribution":"${trafficDistribution}"}}'`;
    expect(found?.mend).toBe(mend);
    const runbook = readFileSync(new URL('TROUBLESHOOTING.md', MANIFESTS), 'utf8');
    expect(runbook.split('### KD0120')[1]!.split('###', 1)[0]).toContain(`\`${mend}\``);
  });

  it('fails on warnings where it is told to', async () => {
    const warned = HEALTHY.replace('name: shop\n---', 'name: com\n---');
    expect((await check(warned)).status).toBe(0);
    expect((await check(warned, '--fail-on=warning')).status).toBe(1);
  });

  it('says what there is not, and passes nothing of it', async () => {
    const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-dns}\ndata: {}\n';
    const { report } = await check(text);
    expect(report.passed).toEqual(['KD0106']);
    expect(report.notChecked).toContainEqual(
      expect.objectContaining({ code: 'KD0101', because: 'the files have no Service' }),
    );
  });

  it('prints what the README shows of its file', async () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    const [, yaml = ''] = /^```yaml\n# broken\.yaml\n(.*?)^```$/ms.exec(readme) ?? [];
    const [, shown = ''] = /^\$ npx kube-dns check broken\.yaml\n(.*?)^```$/ms.exec(readme) ?? [];
    expect([yaml, shown]).not.toContain('');
    const file = folder.file('broken.yaml', yaml);
    const { stdout } = await runHere(['check', file]);
    const parts = shown.replaceAll('broken.yaml', file).split('…\n');
    // The parts as they follow one another, with what is left out between them.
    let at = 0;
    const found = parts.map((part) => {
      const place = stdout.indexOf(part, at);
      at = place + part.length;
      return place < 0 ? '' : part;
    });
    expect(found).toEqual(parts);
    expect([stdout.startsWith(parts[0]!), at]).toEqual([true, stdout.length]);
  });

  it('says of what is no manifest what it is not', async () => {
    const noise = folder.file('noise', Uint8Array.of(0x80, 0xff, 0, 1, 2, 0x0a));
    const words = folder.file('words', 'no manifest\n');
    const refused = async (file: string) => (await runHere(['check', file])).stderr;
    expect(await refused(noise)).toBe(
      `kube-dns: ${noise}: it is no text, so neither YAML nor JSON\n`,
    );
    expect(await refused(words)).toBe(
      `kube-dns: ${words}: neither YAML nor JSON of objects of Kubernetes\n`,
    );
  });

  it('prints words without a terminal, one finding below the other', async () => {
    const file = folder.file('broken.yaml', HEALTHY.replace('clusterDNS: [10.96.0.10]', 'clusterDNS: [10.0.0.10]')); // prettier-ignore
    const { status, stdout } = await runHere(['check', file]);
    expect(status).toBe(1);
    expect(stdout).toContain(`
ERROR   KD0104 ConfigMap kubelet-config has clusterDNS 10.0.0.10, the DNS has 10.96.0.10
    kubectl -n kube-system edit configmap kubelet-config
    manifests/TROUBLESHOOTING.md#kd0104
`);
    expect(stdout).toMatch(/\n1 error, 0 warnings; \d+ passed, \d+ not checked\n$/);
    expect(stdout).toMatch(/^[\n -~]*$/);
  });

  it('lists all findings', async () => {
    const { stdout, status } = await runHere(['check', '--list']);
    expect(status).toBe(0);
    expect(stdout.match(/^KD01\d\d {2}(?:error|warning) /gm)).toHaveLength(27);
    const json = await runHere(['check', '--list', '-o', 'json']);
    expect(JSON.parse(json.stdout)).toHaveLength(32);
  });

  it.each([
    [['a.yaml', '--probe'], '--probe is for a cluster, and there are files'],
    [['--probe-image=x'], '--probe-image is for the pod of --probe'],
    [['--fail-on=info'], '--fail-on info: must be error or warning'],
    [['/nowhere/a.yaml'], 'cannot read /nowhere/a.yaml: no such file or directory'],
    [['--api=http://127.0.0.1:1', '--context=a'], '--context is for a cluster, and there is no kubeconfig'],
  ])('refuses %j with one line', async (args, message) => {
    const { status, stdout, stderr } = await runHere(['check', ...args]);
    expect([status, stdout, stderr]).toEqual([2, '', `kube-dns: ${message}\n`]);
  }); // prettier-ignore
});
