import { describe, expect, it } from '@jest/globals';
import { StartError } from '../errors.js';
import { parsePod, readPod, type ContainerSpec } from './manifest.js';

const FILE = 'some/pod.yaml';

function podWith(container: string, spec = ''): string {
  const indented = container.trim().replaceAll('\n', '\n      ');
  return `kind: Pod
metadata: { name: p, namespace: n }
spec:
  ${spec.trim().replaceAll('\n', '\n  ')}
  containers:
    - name: a
      ${indented}
`;
}

function firstContainer(container: string): ContainerSpec {
  return parsePod(podWith(container), FILE).containers[0]!;
}

describe('reading a pod manifest', () => {
  it('takes the first Pod or Deployment of several documents', () => {
    const pod = parsePod(
      `---
kind: Service
---
kind: Deployment
metadata: { name: second }
spec: { template: { spec: { containers: [{ name: a, image: x }] } } }
---
kind: Pod
metadata: { name: third }
spec: { containers: [{ name: b, image: x }] }
`,
      FILE,
    );
    expect(pod.name).toBe('second');
    expect(pod.containers.map(({ name }) => name)).toEqual(['a']);
    expect(pod.terminationGraceMs).toBe(30_000);
  });

  it('fills in what the kubelet would', () => {
    const { probes } = firstContainer('livenessProbe: { tcpSocket: { port: 80 } }');
    expect(probes.readiness).toBeUndefined();
    expect(probes.liveness).toEqual({
      action: { kind: 'tcp', host: '127.0.0.1', port: 80 },
      initialDelayMs: 0,
      periodMs: 10_000,
      timeoutMs: 1_000,
      successThreshold: 1,
      failureThreshold: 3,
    });
  });

  it('resolves the named port of a probe', () => {
    const { probes } = firstContainer(`
ports: [{ name: web, containerPort: 8080 }]
readinessProbe: { httpGet: { path: ok, port: web, httpHeaders: [{ name: X, value: y }] } }`);
    expect(probes.readiness?.action).toEqual({
      kind: 'http',
      scheme: 'http',
      host: '127.0.0.1',
      port: 8080,
      path: '/ok',
      headers: { X: 'y' },
    });
  });

  it('expands variables in command, args and later variables', () => {
    const container = firstContainer(`
command: ['run-$(WHO)']
args: ['--at=$(WHERE)', '$$(WHO)', '$(NOBODY)']
env:
  - { name: WHO, valueFrom: { fieldRef: { fieldPath: metadata.name } } }
  - { name: NS, valueFrom: { fieldRef: { fieldPath: metadata.namespace } } }
  - { name: IP, valueFrom: { fieldRef: { fieldPath: status.podIP } } }
  - { name: WHERE, value: '$(NS)/$(IP)' }`);
    expect(container.command).toEqual(['run-p']);
    expect(container.args).toEqual(['--at=n/127.0.0.1', '$(WHO)', '$(NOBODY)']);
  });

  it.each([
    ['kind: Service', `${FILE}: there is no Pod and no Deployment in it (it has Service)`],
    ['', `${FILE}: there is no Pod and no Deployment in it (it is empty)`],
    ['- a', `${FILE}: must be a mapping`],
    ['a: 1', `${FILE}: kind: is missing`],
    ['kind: Pod\nmetadata: { name: p }', `${FILE}: spec: is missing`],
    ['kind: Pod\nspec: {}', `${FILE}: metadata.name: is missing`],
    ['kind: Pod\nmetadata: *gone', /^some\/pod\.yaml: .*gone/],
    ['kind: Pod\nmetadata:\n  name: "x', /^some\/pod\.yaml: line 3, column \d+: missing closing/],
    ['kind: Pod\nkind: Pod', /^some\/pod\.yaml: line 2, column 1: map keys must be unique/],
    [podWith('', 'initContainers: [{ name: i }]'), /spec\.initContainers: is not supported$/],
    [podWith('', 'restartPolicy: Never'), /spec\.restartPolicy: only Always is supported$/],
    [podWith('args: [1]'), /spec\.containers\[0\]\.args\[0\]: must be a string/],
    [podWith('ports: [{ containerPort: 70000 }]'), /ports\[0\]\.containerPort: must be a whole/],
    [podWith('ports: [{ containerPort: 1, protocol: udp }]'), /protocol: must be one of TCP, UDP/],
    [podWith('env: [{ name: A, value: 1 }]'), /env\[0\]\.value: must be a string/],
    [
      podWith('env: [{ name: A, valueFrom: { fieldRef: { fieldPath: spec.nodeName } } }]'),
      /env\[0\]\.valueFrom\.fieldRef\.fieldPath: spec\.nodeName is not known on this machine/,
    ],
    [
      podWith('env: [{ name: A, valueFrom: { secretKeyRef: { name: s } } }]'),
      /env\[0\]\.valueFrom\.secretKeyRef: is not supported on this machine$/,
    ],
    [podWith('envFrom: [{ configMapRef: { name: c } }]'), /envFrom: is not supported$/],
    [podWith('livenessProbe: {}'), /livenessProbe: must have one of httpGet, tcpSocket and exec$/],
    [
      podWith('livenessProbe: { httpGet: { port: web } }'),
      /livenessProbe\.httpGet\.port: the container has no port named web$/,
    ],
    [
      podWith('livenessProbe: { successThreshold: 2, tcpSocket: { port: 1 } }'),
      /livenessProbe\.successThreshold: must be a whole number from 1 to 1$/,
    ],
    [
      podWith('image: x\n') + '    - name: a\n',
      /spec\.containers: two containers have the name a$/,
    ],
    [podWith('volumeMounts: [{ name: v, mountPath: rel }]'), /mountPath: must be an absolute path/],
  ])('refuses %j with one line', (text, message) => {
    const read = () => parsePod(text, FILE);
    expect(read).toThrow(StartError);
    expect(read).toThrow(message);
    expect(read).not.toThrow('\n');
  });

  it('names a file that is not there', () => {
    expect(() => readPod('/nowhere/pod.yaml')).toThrow(
      'cannot read the manifest /nowhere/pod.yaml: no such file or directory',
    );
  });
});
