import { describe, expect, it } from '@jest/globals';
import { parsePod } from './manifest.js';
import { placePod } from './place.js';

const POD = parsePod(
  `kind: Pod
metadata: { name: p }
spec:
  volumes: [{ name: config, configMap: { name: c } }, { name: token, projected: {} }]
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
});
