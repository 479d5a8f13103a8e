import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { IMAGES, imageStart } from '@kube-dns/testkit';
import { parsePod } from './manifest.js';
import { IMAGE_ENVIRONMENT, planPod, type ContainerPlan } from './plan.js';
import { Volumes } from './volumes.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kube-dns-test-'));
  for (const name of ['kubedns', 'dnsmasq']) {
    mkdirSync(join(folder, 'packages', name, 'dist'), { recursive: true });
    writeFileSync(join(folder, 'packages', name, 'dist', `${name}.cjs`), '');
  }
  mkdirSync(join(folder, 'bin'));
  for (const name of ['dnsmasq', 'tool']) {
    writeFileSync(join(folder, 'bin', name), '');
    chmodSync(join(folder, 'bin', name), 0o755);
  }
});

afterEach(() => rmSync(folder, { recursive: true }));

function plan(container: string, volumes = ''): ContainerPlan {
  const text = `kind: Pod
metadata: { name: p }
spec: { volumes: [${volumes}], containers: [{ name: a, ${container} }] }`;
  const pod = parsePod(text, join(folder, 'pod.yaml'));
  const machine = {
    env: { PATH: join(folder, 'bin'), SHELL: 'x', KEPT: 'y' },
    packagesFolder: join(folder, 'packages'),
  };
  return planPod(pod, new Volumes(pod.volumes, pod), machine)[0]!;
}

const bundle = (name: string) => join(folder, 'packages', name, 'dist', `${name}.cjs`);

describe('what a container runs', () => {
  it.each([
    ['registry.example/dns/k8s-dns-kube-dns:1.26.7', 'kubedns'],
    ['k8s-dns-kube-dns-amd64:1.14.13', 'kubedns'],
    ['dns/k8s-dns-dnsmasq-nanny@sha256:0123', 'dnsmasq'],
    ['localhost:5000/dnsmasq', 'dnsmasq'],
  ])('is our own program for the image %s', (image, program) => {
    const { file, args } = plan(`image: '${image}', args: ['-x']`);
    expect(file).toBe(process.execPath);
    expect(args).toEqual(['--disable-sigusr1', bundle(program), '-x']);
  });

  it('is our own program for its bare name, even when PATH has one of that name', () => {
    const { args } = plan(`command: [dnsmasq, a], args: [b]`);
    expect(args).toEqual(['--disable-sigusr1', bundle('dnsmasq'), 'a', 'b']);
  });

  it('is the program on PATH for any other bare name', () => {
    const { file, args } = plan(`image: whatever, command: [tool, a], args: [b]`);
    expect(file).toBe(join(folder, 'bin', 'tool'));
    expect(args).toEqual(['a', 'b']);
  });

  it('is the file itself for a path, in a volume too', () => {
    const volume = `{ name: v, hostPath: { path: bin } }`;
    const mount = 'volumeMounts: [{ name: v, mountPath: /opt }]';
    expect(plan(`command: [/opt/tool], ${mount}`, volume).file).toBe(join(folder, 'bin', 'tool'));
    expect(plan(`command: [./tool], workingDir: /opt, ${mount}`, volume).cwd).toBe(
      join(folder, 'bin'),
    );
  });

  it.each([
    ['command: [nonsense]', 'unknown program nonsense: it is neither one of ours nor on PATH'],
    ['command: [/no/tool]', 'unknown program /no/tool: there is no such executable file'],
    ['command: [../kubedns]', 'unknown program ../kubedns: there is no such executable file'],
    ['image: nginx:1', 'no command is given and the image nginx:1 is not ours'],
    ['image: sidecar', 'the program sidecar is not built: run npm run build'],
    ['args: [x]', 'it has neither a command nor an image'],
    ['command: [tool], workingDir: /nowhere', 'workingDir /nowhere is not a folder'],
    [
      'command: [tool], livenessProbe: { exec: { command: [nonsense] } }',
      'unknown program nonsense in a probe',
    ],
  ])('is refused for { %s }', (container, reason) => {
    expect(() => plan(container)).toThrow(reason);
    expect(() => plan(container)).toThrow(/^container a: /);
  });

  it("has the settings of its image, then the machine's environment, then its own", () => {
    const { env, cwd } = plan(`command: [tool], env: [{ name: SHELL, value: mine }]`);
    const machine = { PATH: join(folder, 'bin'), KEPT: 'y' };
    expect(env).toEqual({ ...IMAGE_ENVIRONMENT, ...machine, SHELL: 'mine' });
    expect(cwd).toBe(folder);
  });

  it('finds the program of an exec probe as it finds a command', () => {
    const probe = 'livenessProbe: { exec: { command: [kubedns, --check] } }';
    expect(plan(`command: [tool], ${probe}`).probes.liveness?.action).toEqual({
      kind: 'exec',
      command: [process.execPath, '--disable-sigusr1', bundle('kubedns'), '--check'],
    });
  });
});

it.each(IMAGES)('a container of the local pod has the malloc of the image %s', (name) =>
  expect(IMAGE_ENVIRONMENT).toEqual(imageStart(name).malloc),
);
