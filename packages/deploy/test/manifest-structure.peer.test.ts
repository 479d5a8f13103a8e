import { describe, expect, it } from '@jest/globals';
import { memoryBytes, needsPrograms, unless } from '@kube-dns/testkit';
import {
  type Container,
  containerOf,
  containersOf,
  fieldFaults,
  findObject,
  type HttpProbe,
  KUSTOMIZATIONS,
  objectsOf,
} from '@kube-dns/testkit/manifests';
import { kustomized } from './support/kustomized.js';

const MIB = 2 ** 20;
/** The memory of a Node program in addition to its heap: code, stacks, buffers, the young generation. */
const BESIDE_HEAP_MIB = 90;
/** The peak of a container that is the first on its node to read the Node binary: images/README.md, "Cold start". */
const COLD_START_MIB = 130;

/** Of the deployment, where it is not that of the base. */
const NAMES: Readonly<Record<string, string>> = {
  'overlays/beside': 'kube-dns-beside',
  'overlays/gke': 'kube-dns-custom',
};

function probesOf({ livenessProbe, readinessProbe }: Container): HttpProbe[] {
  return [livenessProbe, readinessProbe].filter((probe) => probe !== undefined);
}

unless(needsPrograms('kubectl'), describe).each([...KUSTOMIZATIONS])('manifests/%s', (folder) => {
  const name = NAMES[folder] ?? 'kube-dns';
  const objects = () => kustomized(folder);
  const kind = folder === 'overlays/daemonset' ? 'DaemonSet' : 'Deployment';
  const deployments = () => [
    ...objectsOf(objects(), 'Deployment'),
    ...objectsOf(objects(), 'DaemonSet'),
  ];
  const containers = () => deployments().flatMap(containersOf);
  const podSpecs = () => deployments().map(({ spec }) => spec.template.spec);
  const dns = () => findObject(objects(), kind, name);

  it('has no unknown or wrongly typed field when it is rendered', () => {
    expect(objects().flatMap(fieldFaults)).toEqual([]);
  });

  it('leaves no placeholder', () => {
    expect(JSON.stringify(objects())).not.toMatch(/cluster\.yaml/);
  });

  it('has each object once, in kube-system unless it is of the whole cluster', () => {
    const places = objects().map(({ kind, metadata }) => {
      return `${kind} ${metadata.namespace ?? '-'} ${metadata.name}`;
    });
    expect(new Set(places).size).toBe(places.length);
    for (const place of places)
      expect(place).toMatch(/^ClusterRole(Binding)? - |^\w+ kube-system /);
  });

  it('names ports as Kubernetes takes them, each once in a container', () => {
    for (const { ports = [] } of containers()) {
      const names = ports.map(({ name }) => name ?? '');
      expect(new Set(names).size).toBe(names.length);
      for (const name of names)
        expect(name).toMatch(/^(?=.{1,15}$)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*$/);
    }
  });

  it('probes ports that a container of the pod serves', () => {
    // 8081 is kubedns' own default and undeclared, as in the original.
    const known = [
      8081,
      ...containersOf(dns()).flatMap(({ ports = [] }) => ports.map((p) => p.containerPort)),
    ];
    const probed = containersOf(dns())
      .flatMap(probesOf)
      .map(({ httpGet }) => httpGet.port);
    expect(probed.length).toBeGreaterThanOrEqual(5);
    for (const port of probed) expect(known).toContain(port);
  });

  it('mounts every volume, and nothing that is none', () => {
    for (const { volumes = [], containers: own } of podSpecs()) {
      const mounted = own.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name));
      expect(new Set(mounted)).toEqual(new Set(volumes.map(({ name }) => name)));
    }
  });

  it('runs no container as root, with no capability and a root file system that is read-only', () => {
    for (const { name, securityContext } of containers()) {
      expect({ name, ...securityContext }).toEqual({
        name,
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        runAsNonRoot: true,
        runAsUser: expect.any(Number),
        runAsGroup: expect.any(Number),
        capabilities: { drop: ['ALL'] },
      });
      expect(securityContext?.runAsUser).toBeGreaterThan(0);
    }
    for (const { securityContext, hostNetwork } of podSpecs()) {
      expect(securityContext?.seccompProfile).toEqual({ type: 'RuntimeDefault' });
      expect(hostNetwork).toBeUndefined();
    }
  });

  it('allows the user every port below 1024 that a container has', () => {
    const sysctls = dns().spec.template.spec.securityContext?.sysctls ?? [];
    const start = sysctls.find(({ name }) => name === 'net.ipv4.ip_unprivileged_port_start');
    const ports = containersOf(dns()).flatMap(({ ports = [] }) =>
      ports.map((p) => p.containerPort),
    );
    expect(Math.min(...ports)).toBeGreaterThanOrEqual(Number(start?.value));
  });

  it('mounts the token in kubedns alone', () => {
    const spec = dns().spec.template.spec;
    expect(spec.automountServiceAccountToken).toBe(false);
    const withToken = (spec.volumes ?? [])
      .filter(({ projected }) => projected?.sources.some((each) => each.serviceAccountToken))
      .map(({ name }) => name);
    const holders = containersOf(dns()).filter(({ volumeMounts = [] }) =>
      volumeMounts.some(({ name }) => withToken.includes(name)),
    );
    expect(holders.map(({ name }) => name)).toEqual(['kubedns']);
    const mount = holders[0]?.volumeMounts?.find(({ name }) => withToken.includes(name));
    expect(mount?.mountPath).toBe('/var/run/secrets/kubernetes.io/serviceaccount');
  });

  it('binds every account to a role that is there', () => {
    const bindings = objectsOf(objects(), 'ClusterRoleBinding');
    for (const { roleRef } of bindings) findObject(objects(), 'ClusterRole', roleRef.name);
    const accounts = podSpecs()
      .map(({ serviceAccountName }) => serviceAccountName ?? '')
      .sort();
    const subjects = bindings.flatMap((binding) => binding.subjects);
    expect(subjects.map(({ name }) => name).sort()).toEqual(accounts);
    for (const { kind, namespace } of subjects) {
      expect([kind, namespace]).toEqual(['ServiceAccount', 'kube-system']);
    }
    for (const name of accounts) findObject(objects(), 'ServiceAccount', name);
  });

  it('selects its own pods with the service, the budget and the spread', () => {
    const labels = dns().spec.template.metadata.labels;
    // The service for clients is GKE's own there.
    const service = folder === 'overlays/gke' ? 'kube-dns-replicas-custom' : name;
    const spread = dns().spec.template.spec.topologySpreadConstraints ?? [];
    const selectors = [
      findObject(objects(), 'Service', service).spec.selector,
      ...objectsOf(objects(), 'PodDisruptionBudget').map(({ spec }) => spec.selector.matchLabels),
      ...spread.map(({ labelSelector }) => labelSelector.matchLabels),
    ];
    // A drain leaves the pods of a DaemonSet alone, and there is one on each node anyway.
    expect(selectors).toHaveLength(kind === 'DaemonSet' ? 1 : 4);
    for (const selector of selectors) expect(labels).toEqual(selector);
  });

  it('stops only after the drain, dnsmasq not after kubedns', () => {
    const drainSeconds = (name: string) =>
      containerOf(dns(), name).lifecycle?.preStop?.sleep?.seconds ?? 0;
    const ownDrainSeconds = 5; // kubedns' --drain-time
    expect(drainSeconds('dnsmasq')).toBeGreaterThanOrEqual(5);
    expect(drainSeconds('kubedns') + ownDrainSeconds).toBeGreaterThan(drainSeconds('dnsmasq'));
    const grace = dns().spec.template.spec.terminationGracePeriodSeconds ?? 0;
    expect(grace).toBeGreaterThan(drainSeconds('kubedns') + ownDrainSeconds);
  });

  it('limits memory to what heap and program need together', () => {
    for (const name of ['kubedns', 'dnsmasq', 'sidecar']) {
      const { env = [], resources } = containerOf(dns(), name);
      const options = env.find((each) => each.name === 'NODE_OPTIONS')?.value ?? '';
      const heapMib = Number(/^--max-old-space-size=(\d+)$/.exec(options)?.[1]);
      const limit = memoryBytes(resources?.limits?.memory);
      expect(limit).toBeGreaterThanOrEqual((heapMib + BESIDE_HEAP_MIB) * MIB);
      expect(limit).toBeGreaterThan(COLD_START_MIB * MIB);
      expect(memoryBytes(resources?.requests?.memory)).toBeLessThan(limit);
      expect(resources?.requests?.cpu).toMatch(/^\d+m$/);
    }
  });

  it('tags every image, so that a node may have it already', () => {
    for (const { image, imagePullPolicy } of containers()) {
      expect(image).toMatch(/:(?!latest$)[\w.-]+$/);
      expect(imagePullPolicy ?? 'IfNotPresent').toBe('IfNotPresent');
    }
  });
});
