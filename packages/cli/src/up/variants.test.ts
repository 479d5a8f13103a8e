import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';
import { TemporaryFolder } from '@kube-dns/testkit';
import { findDnsPort, parsePod, type ProbeSpec, readPod } from './manifest.js';
import { offsetPorts, placePod, planPlacedPod, useRealCluster, withNodeCache } from './variants.js';

const LOCAL = fileURLToPath(new URL('../../../../manifests/local/', import.meta.url));
const PACKAGES = fileURLToPath(new URL('../../..', import.meta.url));

function podOf(containers: readonly string[], file = 'pod.yaml') {
  const text = `kind: Pod
metadata: { name: p }
spec: { containers: [${containers.join(', ')}] }`;
  return parsePod(text, file);
}

const pod = (ports: string) =>
  podOf([`{ name: a, image: b, ports: [${ports}] }`], '/elsewhere/pod.yaml');

describe('a pod with node-cache', () => {
  it('has it first, so that its port is the one to ask, with the folder of its own template', () => {
    const { containers, volumes, name } = withNodeCache(readPod(`${LOCAL}pod.yaml`), LOCAL);
    expect([name, containers.map((each) => each.name)]).toEqual([
      'kube-dns',
      ['node-cache', 'apiserver', 'kubedns', 'dnsmasq', 'sidecar'],
    ]);
    expect(findDnsPort(containers)).toBe(1153);
    expect(containers[0]?.env.get('KUBE_DNS_SERVICE_PORT')).toBe('1053');
    expect(volumes.map((each) => each.name)).toEqual([
      'objects',
      'kube-dns-config',
      'node-cache-template',
      'node-cache-run',
    ]);
    expect(volumes[2]).toMatchObject({ kind: 'host', path: `${LOCAL}node-cache` });
  });

  it('asks the DNS of any pod', () => {
    const cached = withNodeCache(pod('{ name: dns, containerPort: 5300, protocol: UDP }'), LOCAL);
    const { env } = cached.containers[0]!;
    expect(env.get('KUBE_DNS_SERVICE_HOST')).toBe('127.0.0.1');
    expect(env.get('KUBE_DNS_SERVICE_PORT')).toBe('5300');
  });

  it('is refused where the pod serves no DNS', () => {
    expect(() => withNodeCache(pod(''), LOCAL)).toThrow(
      '--node-cache: no container of /elsewhere/pod.yaml has a UDP port named dns',
    );
  });
});

const folder = new TemporaryFolder();
const KUBECONFIG = folder.file(
  'kubeconfig',
  `clusters: [{ name: c, cluster: { server: 'http://127.0.0.1:1' } }]
contexts: [{ name: x, context: { cluster: c, user: '' } }]
current-context: x
`,
);

afterAll(() => folder.close());

describe('a real cluster in place of the API server', () => {
  it('leaves the API server out and gives kubedns the kubeconfig', () => {
    const { containers } = useRealCluster(
      podOf([
        '{ name: api, image: apiserver }',
        '{ name: k, image: kubedns, args: [--kube-master-url=http://127.0.0.1:1, --v=2] }',
        '{ name: d, image: dnsmasq, args: [-k] }',
      ]),
      KUBECONFIG,
    );
    expect(containers.map(({ name }) => name)).toEqual(['k', 'd']);
    expect(containers[0]?.args).toEqual(['--v=2', `--kubecfg-file=${KUBECONFIG}`]);
    expect(containers[1]?.args).toEqual(['-k']);
  });

  it('replaces the flags in each of their spellings', () => {
    const container = `{ name: k, command: [kubedns, --kube_master_url, http://a, --v=1], args: [
      -kube-master-url=http://b, --kubecfg-file, /old, --domain=d.] }`;
    const [kubedns] = useRealCluster(podOf([container]), KUBECONFIG).containers;
    expect(kubedns?.command).toEqual(['kubedns']);
    expect(kubedns?.args).toEqual(['--v=1', '--domain=d.', `--kubecfg-file=${KUBECONFIG}`]);
  });

  it.each([
    ['/nowhere/config', 'cannot read the kubeconfig /nowhere/config: no such file or directory'],
    [folder.path, /: is a directory$/],
    [folder.file('empty', ''), /^cannot read the kubeconfig .*empty: \S+/],
    [folder.file('list', '[1]'), /^cannot read the kubeconfig .*list: \S+/],
    [folder.file('broken', 'clusters: ['), /^cannot read the kubeconfig .*broken: not valid: /],
    [
      folder.file('other', 'clusters: []\ncurrent-context: gone\n'),
      /^cannot read the kubeconfig .*other: it has no context gone, /,
    ],
  ])('refuses the kubeconfig %s', (file, message) => {
    expect(() => useRealCluster(podOf(['{ name: k, image: kubedns }']), file)).toThrow(message);
  });

  it('refuses a pod without kubedns', () => {
    expect(() => useRealCluster(podOf(['{ name: d, image: dnsmasq }']), KUBECONFIG)).toThrow(
      'pod.yaml: there is no kubedns container to give the kubeconfig to',
    );
  });
});

const POD = parsePod(
  `kind: Pod
metadata: { name: p }
spec:
  volumes: [{ name: config, configMap: { name: c, optional: true } }, { name: token, projected: {} }]
  containers:
    - name: k
      image: kubedns
      args: [--dns-port=10053, --config-dir=/config, --v=2]
      env: [{ name: PROMETHEUS_PORT, value: '10055' }, { name: LEVEL, value: '2' }]
      ports: [{ containerPort: 10053, protocol: UDP }]
      readinessProbe: { httpGet: { port: 8081, path: /readiness } }
      volumeMounts:
        - { name: config, mountPath: /config }
        - { name: token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount }
    - { name: d, image: dnsmasq, args: [--, -k, '--server=/a/127.0.0.1#10053'] }
    - { name: s, image: sidecar, args: ['--probe=a,127.0.0.1:10053,b,5,A'] }
`,
  'pod.yaml',
);

const PORTS = [53, 8081, 10053, 10054, 10055].map((port, at) => [port, 20_001 + at] as const);

const placed = placePod(POD, {
  ports: new Map(PORTS),
  volumes: { config: '/folder' },
  apiUrl: 'http://127.0.0.1:1',
  edit: (container, args) => (container === 's' ? [...args, '--v=4'] : args),
});

describe('a pod in another place', () => {
  it('has its ports in arguments, and those that its programs have by default', () => {
    expect(placed.containers.map(({ args }) => args)).toEqual([
      [
        '--dns-port=20003',
        '--config-dir=/config',
        '--v=2',
        '--healthz-port=20002',
        '--kube-master-url=http://127.0.0.1:1',
      ],
      ['--', '-k', '--server=/a/127.0.0.1#20003', '--port=20001'],
      [
        '--probe=a,127.0.0.1:20003,b,5,A',
        '--dnsmasq-port=20001',
        '--prometheus-port=20004',
        '--v=4',
      ],
    ]);
  });

  it('has them in variables, declared ports and probes', () => {
    const [kubedns] = placed.containers;
    expect(Object.fromEntries(kubedns!.env)).toEqual({ PROMETHEUS_PORT: '20005', LEVEL: '2' });
    expect(kubedns!.ports.map(({ containerPort }) => containerPort)).toEqual([20_003]);
    expect(kubedns!.probes.readiness?.action).toMatchObject({ port: 20_002 });
  });

  it('mounts the folder that it is given, and no service account', () => {
    expect(placed.volumes[0]).toEqual({
      kind: 'host',
      name: 'config',
      path: '/folder',
      create: false,
    });
    expect(placed.containers[0]!.mounts.map(({ mountPath }) => mountPath)).toEqual(['/config']);
  });

  it('is refused without a folder for a volume that it mounts: none is made that would stay', () => {
    const placement = { ports: new Map(), volumes: {}, apiUrl: 'http://127.0.0.1:1' };
    expect(() => planPlacedPod(POD, placement, PACKAGES)).toThrow(
      'pod.yaml: volume config: it needs a folder of this machine',
    );
  });
});

describe('a pod with an offset', () => {
  const local = withNodeCache(readPod(`${LOCAL}pod.yaml`), LOCAL);
  const portOfAction = (probe: ProbeSpec | undefined) =>
    probe?.action.kind === 'http' ? probe.action.port : undefined;
  /** All numbers of the pod that may be ports: in arguments, variables, declared ports and probes. */
  const portsOf = (containers: typeof local.containers) =>
    containers.map(({ args, env, ports, probes }) => [
      args.flatMap((arg) => [...arg.matchAll(/[=:#](\d{4,5})\b/g)].map(([, port]) => Number(port))),
      [...env.values()].filter((value) => /^\d{4,5}$/.test(value)).map(Number),
      ports.map(({ containerPort }) => containerPort),
      [probes.startup, probes.readiness, probes.liveness].map(portOfAction),
    ]);

  it('has no port of before, and all else as before', () => {
    const { containers, volumes } = offsetPorts(local, 1000);
    const before = portsOf(local.containers)
      .flat(2)
      .filter((port) => port !== undefined);
    const after = portsOf(containers)
      .flat(2)
      .filter((port) => port !== undefined);
    expect(before.length).toBeGreaterThan(40);
    const CACHE_SIZE = 1000;
    for (const port of before.filter((each) => each !== CACHE_SIZE)) {
      expect(after).toContain(port + 1000);
      expect(after).not.toContain(port);
    }
    expect(volumes).toEqual(local.volumes);
    expect(findDnsPort(containers)).toBe(2153);
  });

  it('has no port of the machine in a file that its containers read', () => {
    expect(readFileSync(`${LOCAL}node-cache/Corefile.base`, 'utf8')).not.toMatch(/:\d{4}/);
  });

  it('leaves the ports of other machines', () => {
    const container = `{ name: d, image: dnsmasq, ports: [{ containerPort: 53 }],
      args: ['--server=9.9.9.9#53', '--server=/a/127.0.0.1#53', '--listen=0.0.0.0:53'] }`;
    expect(offsetPorts(podOf([container]), 1000).containers[0]?.args).toEqual([
      '--server=9.9.9.9#53',
      '--server=/a/127.0.0.1#1053',
      '--listen=0.0.0.0:1053',
      '--port=1053',
    ]);
  });

  it('is refused above the last port', () => {
    expect(() => offsetPorts(local, 60_000)).toThrow(
      '--port-offset 60000: port 18080 of the pod would be above 65535; at most 47455 can be added',
    );
  });
});
