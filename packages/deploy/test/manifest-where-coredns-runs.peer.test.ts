import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createApiServer, type ApiServer } from '@kube-dns/apiserver';
import { needsPrograms, outputOf, unless } from '@kube-dns/testkit';
import { MANIFESTS, readObjects } from '@kube-dns/testkit/manifests';
import { ROOT } from './support/root.js';
import { shellBlock, shellBlocks } from './support/shell-block.js';
import { Workloads } from './support/workloads.js';

/** The DNS of a cluster that kubeadm or kind has made. */
const KUBEADM = fileURLToPath(new URL('./fixtures/kubeadm-coredns.yaml', import.meta.url));
const NAME = 'kube-dns-beside';
const page = readFileSync(join(MANIFESTS, 'README.md'), 'utf8');
const [takePlace = [], goBack = []] = shellBlocks(page, 'Take the place of CoreDNS');
const uninstall = readFileSync(`${ROOT}docs/upgrade.md`, 'utf8');
// The test's API server has no Secrets.
const takeRest = shellBlock(uninstall, 'Uninstall').filter((each) => !each.includes(' secret '));
const [tryBeside = [], endTrial = []] = shellBlocks(page, 'Beside CoreDNS');
const CORE_DNS = ['coredns', 'coredns'];
const KUBE_DNS = ['kube-dns', 'kube-dns'];

unless(needsPrograms('kubectl'), describe)('where kubeadm runs CoreDNS', () => {
  let server: ApiServer;
  let workloads: Workloads;
  let home: string;

  beforeEach(async () => {
    server = await createApiServer();
    workloads = new Workloads(server);
    home = mkdtempSync(join(tmpdir(), 'kube-dns-kubeadm-'));
    writeFileSync(join(home, 'config'), kubeconfig(server.url));
    await server.apply(readObjects(readFileSync(KUBEADM, 'utf8')));
    await workloads.settle();
  });
  afterEach(async () => {
    await server.close();
    rmSync(home, { recursive: true });
  });

  /** Types a command of a README, in the root of the checkout. */
  async function type(command: string): Promise<string> {
    const [program, ...words] = command.replaceAll("'", '').split(' ');
    expect(program).toBe('kubectl');
    const inRoot = words.map((word) => word.replace(/^manifests\//, `${ROOT}manifests/`));
    const said = await outputOf('kubectl', inRoot, {
      HOME: home,
      KUBECONFIG: join(home, 'config'),
    });
    await workloads.settle();
    return said;
  }

  const service = () => server.get('Service', 'kube-system', 'kube-dns');
  /** The specification with its ports by name. */
  const sorted = (of: ReturnType<typeof service>) => ({
    ...of?.spec,
    ports: of?.spec.ports?.toSorted((a, b) => (a.name ?? '').localeCompare(b.name ?? '')),
  });
  const services = () => server.list('Service').map(({ metadata }) => metadata.name);
  const behind = () => workloads.behind('kube-dns').sort();
  /** Every object but those of CoreDNS and of the server itself. */
  const ours = () =>
    (['Deployment', 'PodDisruptionBudget', 'ServiceAccount', 'ClusterRole'] as const).flatMap(
      (kind) => server.list(kind).map(({ metadata }) => `${kind} ${metadata.name}`),
    );

  it('the command under "What serves DNS now" says so, with the address and the port 9153', async () => {
    const [look = '', ...others] = shellBlock(page, 'What serves DNS now');
    expect(others).toEqual([]);
    const lines = (await type(look)).split('\n');
    expect(lines.find((line) => line.startsWith('deployment'))).toMatch(
      /^deployment.apps\/coredns /,
    );
    const shown = lines.find((line) => line.startsWith('service'));
    expect(shown).toMatch(/^service\/kube-dns .* 10\.96\.0\.10 .* 53\/UDP,53\/TCP,9153\/TCP /);
  });

  it('kube-dns takes its place as the README has it, and something answers at every step', async () => {
    expect(behind()).toEqual(CORE_DNS);
    const seen: string[][] = [];
    for (const command of takePlace) {
      await type(command);
      seen.push(behind());
    }
    const both = [...CORE_DNS, ...KUBE_DNS];
    expect(seen).toEqual([both, both, KUBE_DNS, KUBE_DNS]);
    expect(workloads.coveredBy('kube-dns')).toEqual(KUBE_DNS);
    const { spec, metadata } = service() ?? {};
    expect(spec?.clusterIP).toBe('10.96.0.10');
    expect(spec?.ports?.map(({ port, protocol }) => `${port}/${protocol}`)).toEqual([
      '53/UDP',
      '53/TCP',
    ]);
    expect(Object.keys(metadata?.annotations ?? {}).join()).not.toMatch(/prometheus/);
    // kube-dns has its own annotations for Prometheus, on the pods.
    const deployment = server.get('Deployment', 'kube-system', 'kube-dns');
    expect(deployment?.spec.template?.metadata?.annotations).toMatchObject({
      'prometheus.io/port': '10054',
    });
  });

  it('CoreDNS takes its place back as the README has it, and the way can be gone again', async () => {
    const before = service();
    for (const command of takePlace) await type(command);
    const seen: string[][] = [];
    for (const command of goBack) {
      await type(command);
      seen.push(behind());
    }
    for (const each of seen) expect(each.length).toBeGreaterThanOrEqual(2);
    expect(seen.at(-1)).toEqual(CORE_DNS);
    // A patch that adds a port decides where it stands; no client looks at the order.
    expect(sorted(service())).toEqual(sorted(before));
    expect(service()?.metadata.annotations).toMatchObject(before?.metadata.annotations ?? {});
    expect(service()?.metadata.labels).toMatchObject(before?.metadata.labels ?? {});
    expect(ours()).toEqual(['Deployment coredns', 'ServiceAccount coredns']);
    expect(services()).toContain('kube-dns-replicas');
    for (const command of takeRest) await type(command);
    expect(services()).not.toContain('kube-dns-replicas');
    expect(behind()).toEqual(CORE_DNS);

    for (const command of takePlace) await type(command);
    expect(behind()).toEqual(KUBE_DNS);
    expect(service()?.spec.ports).toHaveLength(2);
  });

  it('another address in cluster.yaml is refused, and the service stays as it is', async () => {
    const before = service();
    const folder = join(home, 'kube-dns');
    cpSync(join(MANIFESTS, 'kube-dns'), folder, { recursive: true });
    const file = join(folder, 'cluster.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace('10.96.0.10', '10.96.0.99'));
    await expect(type(`kubectl apply -k ${folder}`)).rejects.toThrow(/may not change once set/);
    // A patch that adds a port decides where it stands; no client looks at the order.
    expect(sorted(service())).toEqual(sorted(before));
  });

  it('kube-dns stands beside it as the README has it, and goes without a trace', async () => {
    const before = { spec: service()?.spec, ours: ours(), pods: behind() };
    // What the pod has printed is kubelet's to give.
    for (const command of tryBeside.slice(0, -1)) await type(command);
    expect(tryBeside.at(-1)).toBe('kubectl logs dns-trial');
    expect(behind()).toEqual(before.pods);
    expect(service()?.spec).toEqual(before.spec);
    expect(workloads.behind(NAME)).toEqual([NAME, NAME]);
    expect(workloads.coveredBy(NAME)).toEqual([NAME, NAME]);
    expect(server.get('Pod', 'default', 'dns-trial')?.spec).toMatchObject({
      dnsPolicy: 'None',
      dnsConfig: { nameservers: [server.get('Service', 'kube-system', NAME)?.spec.clusterIP] },
    });

    for (const command of endTrial) await type(command);
    expect([ours(), server.list('Pod')]).toEqual([before.ours, []]);
    expect(server.get('Service', 'kube-system', NAME)).toBeUndefined();
    expect(service()?.spec).toEqual(before.spec);
  });
});

function kubeconfig(server: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    users: [{ name: 'test', user: {} }],
    'current-context': 'test',
  });
}
