import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApiServer, type ApiServer } from '@kube-dns/apiserver';
import { parseCorefile } from '@kube-dns/node-cache/corefile';
import { memoryBytes, needsPrograms, outputOf, unless } from '@kube-dns/testkit';
import {
  containerOf,
  containersOf,
  fieldFaults,
  findObject,
  MANIFESTS,
  NODE_KUSTOMIZATIONS,
  objectsOf,
  readObjects,
  renderText,
} from '@kube-dns/testkit/manifests';
import { kustomized } from './support/kustomized.js';
import { editFile, withManifestsCopy } from './support/manifests-copy.js';

const MIB = 2 ** 20;
/** The memory of a Node program in addition to its heap. */
const BESIDE_HEAP_MIB = 90;
const withKubectl = unless(needsPrograms('kubectl'), describe);

withKubectl('manifests/node-cache', () => {
  it('gets address, service and domain everywhere from cluster.yaml', async () => {
    const file = join('node-cache', 'cluster.yaml');
    await withManifestsCopy((copy) => {
      editFile(
        join(copy, file),
        ['169.254.20.10', '169.254.25.1'],
        ['10.96.0.10', '10.32.0.53'],
        ['cluster.local', 'k8s.example.org'],
        ["moreIPs: ''", "moreIPs: ',fd00:10::10'"],
      );
      const rendered = renderText(join(copy, 'overlays', 'node-cache-iptables'));
      expect(rendered).not.toMatch(/169\.254\.20\.10|10\.96\.0\.10|cluster\.(local|yaml)/);
      const set = findObject(readObjects(rendered), 'DaemonSet', 'node-local-dns');
      const { env, livenessProbe, readinessProbe } = containerOf(set, 'node-cache');
      expect(env?.slice(0, 4)).toEqual([
        { name: 'LOCAL_DNS', value: '169.254.25.1' },
        { name: 'CLUSTER_DNS', value: '10.32.0.53' },
        { name: 'MORE_DNS', value: ',fd00:10::10' },
        { name: 'CLUSTER_DOMAIN', value: 'k8s.example.org' },
      ]);
      for (const probe of [livenessProbe, readinessProbe])
        expect(probe?.httpGet.host).toBe('169.254.25.1');
    });
  });
});

withKubectl.each([...NODE_KUSTOMIZATIONS])('manifests/%s', (folder) => {
  const isOfCilium = folder.endsWith('cilium');
  const objects = () => kustomized(folder);
  const set = () => findObject(objects(), 'DaemonSet', 'node-local-dns');
  const container = () => containerOf(set(), 'node-cache');

  it('has no unknown or wrongly typed field, and each object once, in kube-system', () => {
    expect(objects().flatMap(fieldFaults)).toEqual([]);
    const places = objects().map(({ kind, metadata }) => [kind, metadata.namespace, metadata.name]);
    expect(new Set(places.map(String)).size).toBe(places.length);
    const namespaced = places.filter(([kind]) => kind?.startsWith('ClusterRole') !== true);
    expect(new Set(namespaced.map(([, namespace]) => namespace))).toEqual(new Set(['kube-system']));
  });

  it('has a Corefile that node-cache reads', () => {
    const { data = {} } = findObject(objects(), 'ConfigMap', 'node-local-dns');
    const blocks = parseCorefile(data.Corefile ?? '', 'Corefile').blocks.map(({ keys }) =>
      String(keys),
    );
    expect(blocks).toEqual(['{$CLUSTER_DOMAIN}:53', 'in-addr.arpa:53', 'ip6.arpa:53', '.:53']);
  });

  it('gives the node no more rights than its network needs, and the account one service', () => {
    const { automountServiceAccountToken, hostNetwork, securityContext } = set().spec.template.spec;
    expect([automountServiceAccountToken, hostNetwork ?? false]).toEqual([true, !isOfCilium]);
    expect(securityContext?.seccompProfile).toEqual({ type: 'RuntimeDefault' });
    const rights = (...add: readonly string[]) => ({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      runAsUser: 0,
      runAsGroup: 0,
      capabilities: { drop: ['ALL'], add },
    });
    const held = containersOf(set()).map(({ name, securityContext }) => [name, securityContext]);
    expect(held).toEqual(
      isOfCilium
        ? [['node-cache', rights('NET_BIND_SERVICE')]]
        : [
            ['node-cache', rights('NET_ADMIN', 'NET_BIND_SERVICE')],
            ['guard', rights('NET_ADMIN')],
          ],
    );
    const service = { apiGroups: [''], resources: ['services'] };
    expect(findObject(objects(), 'ClusterRole', 'node-local-dns')).toMatchObject({
      rules: [{ ...service, resourceNames: ['kube-dns-upstream', 'kube-dns'], verbs: ['get'] }],
    });
    expect(objectsOf(objects(), 'ClusterRoleBinding')).toMatchObject([
      { subjects: [{ kind: 'ServiceAccount', name: 'node-local-dns', namespace: 'kube-system' }] },
    ]);
  });

  it('has room for the pod that comes beside the one that goes', () => {
    const { maxSurge, maxUnavailable } = set().spec.updateStrategy.rollingUpdate;
    expect([maxSurge, maxUnavailable]).toEqual([1, 0]);
    expect(container().args).toContain('--reuse-port');
    // With hostNetwork each declared port is one of the node, which the scheduler gives to one pod.
    if (!isOfCilium) expect(container().ports).toBeUndefined();
  });

  it('mounts every volume, and of the node only the lock of iptables', () => {
    const { volumes = [] } = set().spec.template.spec;
    const mounts = container().volumeMounts ?? [];
    expect(mounts.map(({ name }) => name).sort()).toEqual(volumes.map(({ name }) => name).sort());
    // What the guard runs needs the same lock, and it waits at the pipe that node-cache opens.
    const [, guard] = containersOf(set());
    const shared = mounts.filter(({ name }) => ['run', 'xtables-lock'].includes(name));
    if (!isOfCilium) expect(guard?.volumeMounts).toEqual(shared);
    const pipe = guard === undefined ? [] : [`--guard=${guard.command?.at(-1)}`];
    expect(container().args?.filter((arg) => arg.startsWith('--guard'))).toEqual(pipe);
    const paths = volumes.flatMap(({ hostPath }) => hostPath?.path ?? []);
    expect(paths).toEqual(folder.endsWith('iptables') ? ['/run/xtables.lock'] : []);
  });

  it('limits memory to what heap and program need together', () => {
    const { env = [], resources } = container();
    const options = env.find((each) => each.name === 'NODE_OPTIONS')?.value ?? '';
    const heapMib = Number(/^--max-old-space-size=(\d+)$/.exec(options)?.[1]);
    const limit = memoryBytes(resources?.limits?.memory);
    expect(limit).toBeGreaterThanOrEqual((heapMib + BESIDE_HEAP_MIB) * MIB);
    expect(memoryBytes(resources?.requests?.memory)).toBeLessThan(limit);
  });
});

withKubectl('the overlays of node-cache', () => {
  const objectsOfOverlay = (name: string) => kustomized(`overlays/node-cache-${name}`);
  let server: ApiServer;

  beforeAll(async () => {
    server = await createApiServer();
  });
  afterAll(() => server.close());

  it.each([
    [
      'iptables',
      '-localip=$(LOCAL_DNS),$(CLUSTER_DNS)$(MORE_DNS)',
      'kube-dns-upstream',
      '--setup=iptables',
    ],
    [
      'nftables',
      '-localip=$(LOCAL_DNS),$(CLUSTER_DNS)$(MORE_DNS)',
      'kube-dns-upstream',
      '--setup=nft',
    ],
    ['ipvs', '-localip=$(LOCAL_DNS)$(MORE_DNS)', 'kube-dns', '--setup=nft'],
    ['cilium', '-localip=$(POD_IPS)', 'kube-dns-upstream', '--setup=none'],
  ])('%s: listens on %s, asks %s and has %s', (name, listen, service, setup) => {
    const set = findObject(objectsOfOverlay(name), 'DaemonSet', 'node-local-dns');
    const { args = [] } = containerOf(set, 'node-cache');
    expect(args).toEqual(expect.arrayContaining([listen, `-upstreamsvc=${service}`, setup]));
    const services = objectsOf(objectsOfOverlay(name), 'Service').map(
      ({ metadata }) => metadata.name,
    );
    if (service !== 'kube-dns') expect(services).toContain(service);
  });

  it('cilium redirects the address of kube-dns to ports that the pods have', () => {
    const policy = objectsOfOverlay('cilium').find(
      ({ kind }) => kind === 'CiliumLocalRedirectPolicy',
    );
    const set = findObject(objectsOfOverlay('cilium'), 'DaemonSet', 'node-local-dns');
    const { ports = [] } = containerOf(set, 'node-cache');
    expect(policy).toMatchObject({
      spec: {
        redirectFrontend: { serviceMatcher: { serviceName: 'kube-dns', namespace: 'kube-system' } },
        redirectBackend: {
          localEndpointSelector: { matchLabels: set.spec.template.metadata.labels },
          toPorts: ports
            .filter(({ name }) => name !== 'metrics')
            .map(({ name, containerPort }) => ({ name, port: String(containerPort) })),
        },
      },
    });
  });

  it('are applied by kubectl, one over the other', async () => {
    for (const name of ['nftables', 'iptables']) {
      const folder = join(MANIFESTS, 'overlays', `node-cache-${name}`);
      const said = await outputOf('kubectl', ['--server', server.url, 'apply', '-k', folder]);
      expect(said).toMatch(/^daemonset.apps\/node-local-dns (created|configured)$/m);
    }
    const { spec } = server.get('DaemonSet', 'kube-system', 'node-local-dns') ?? {};
    expect(JSON.stringify(spec)).toContain('xtables.lock');
  });
});
