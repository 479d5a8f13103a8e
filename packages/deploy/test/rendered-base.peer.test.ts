import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { renderFolder } from '@kube-dns/cli';
import { needsPrograms, unless } from '@kube-dns/testkit';
import { findObject, MANIFESTS, readObjects, render } from '@kube-dns/testkit/manifests';
import { parse, stringify } from 'yaml';
import { kustomized } from './support/kustomized.js';
import { ROOT } from './support/root.js';

const BASE = join(MANIFESTS, 'kube-dns');
const withKubectl = unless(needsPrograms('kubectl'), it);

/** By kind and name. */
function inOrder<T extends { readonly kind?: unknown; readonly metadata?: unknown }>(
  objects: readonly T[],
): T[] {
  const place = ({ kind, metadata }: T) => JSON.stringify([kind, (metadata as Named).name]);
  return [...objects].sort((one, other) => place(one).localeCompare(place(other)));
}

interface Named {
  readonly name: string;
}

withKubectl('renderFolder makes the objects that kubectl kustomize makes', () => {
  expect(inOrder(renderFolder(BASE).objects)).toEqual(inOrder(kustomized('kube-dns')));
});

unless(needsPrograms('helm', 'kubectl'), describe)('the Helm chart', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'kube-dns-chart-'));
    run(process.execPath, `${ROOT}packages/cli/chart.mjs`, join(folder, 'chart'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function run(program: string, ...args: string[]): string {
    return execFileSync(program, args, { encoding: 'utf8', env: { ...process.env, HOME: folder } });
  }
  const template = (...args: string[]) =>
    inOrder(readObjects(run('helm', 'template', 'kube-dns', join(folder, 'chart'), ...args)));
  /** The version of Kubernetes decides the name of what the service prefers; this is the one that all know. */
  const AS_BASE = '--set=trafficDistribution=PreferClose';

  const ofBase = (objects: readonly { readonly kind: string }[]) =>
    objects.filter(({ kind }) => kind !== 'Secret');

  it('renders what kubectl kustomize renders, and a Secret', () => {
    const rendered = template('--namespace=kube-system', AS_BASE);
    expect(ofBase(rendered)).toEqual(inOrder(kustomized('kube-dns')));
    expect(rendered).toHaveLength(kustomized('kube-dns').length + 1);
    expect(template('--namespace=kube-system', AS_BASE, '--set=snapshotSecret=false')).toEqual(
      inOrder(kustomized('kube-dns')),
    );
  });

  it.each([
    ['1.33.9', 'auto', 'PreferClose'],
    ['1.34.0', 'auto', 'PreferSameZone'],
    ['1.34.0', 'PreferSameNode', 'PreferSameNode'],
    ['1.34.0', '', undefined],
  ])(
    'has for Kubernetes %s and trafficDistribution %j the value %j',
    (version, value, expected) => {
      const args = [`--kube-version=${version}`, `--set=trafficDistribution=${value}`];
      const { spec } = findObject(template(...args), 'Service', 'kube-dns');
      expect(spec.trafficDistribution).toBe(expected);
    },
  );

  it('makes a token of its own for each installation, in the Secret that kubedns mounts', () => {
    const secrets = [template('--namespace=dns'), template('--namespace=dns')].map((objects) =>
      findObject(objects, 'Secret', 'kube-dns-snapshot'),
    );
    const tokens = secrets.map(({ metadata, data }) => {
      expect(metadata.namespace).toBe('dns');
      return Buffer.from(data?.token ?? '', 'base64').toString();
    });
    for (const token of tokens) expect(token).toMatch(/^[A-Za-z0-9]{43}$/);
    expect(new Set(tokens).size).toBe(2);
    const { volumes = [] } = findObject(kustomized('kube-dns'), 'Deployment', 'kube-dns').spec
      .template.spec;
    expect(volumes).toContainEqual({
      name: 'snapshot-token',
      secret: { secretName: 'kube-dns-snapshot', optional: true },
    });
  });

  it('renders the same as the base when both have other values', () => {
    const own = join(folder, 'base');
    cpSync(BASE, own, { recursive: true });
    const edit = (file: string, ...changes: readonly (readonly [string | RegExp, string])[]) => {
      const path = join(own, file);
      const text = readFileSync(path, 'utf8');
      writeFileSync(
        path,
        changes.reduce((all, [from, to]) => all.replaceAll(from, to), text),
      );
    };
    edit('cluster.yaml', ['10.96.0.10', "'fd00:10:96::a'"], ['cluster.local', 'k8s.example.org']);
    edit('kustomization.yaml', [/newName: .*\//g, 'newName: registry.test/dns/']);
    edit(
      'kustomization.yaml',
      [/newTag: .*/g, "newTag: '7'"],
      ['namespace: kube-system', 'namespace: dns'],
    );
    edit('deployment.yaml', ['replicas: 2', 'replicas: 5']);
    const data = { stubDomains: '{"acme.local":["192.0.2.53"]}' };
    writeFileSync(
      join(own, 'config-map.yaml'),
      stringify({ ...(parse(readFileSync(join(own, 'config-map.yaml'), 'utf8')) as object), data }),
    );
    const values = {
      clusterIP: 'fd00:10:96::a',
      domain: 'k8s.example.org',
      replicas: 5,
      tag: '7',
      images: Object.fromEntries(
        ['kubedns', 'dnsmasq', 'sidecar'].map((name) => [name, `registry.test/dns/${name}`]),
      ),
      config: data,
    };
    const file = join(folder, 'values.yaml');
    writeFileSync(file, stringify(values));
    expect(ofBase(template('--namespace=dns', AS_BASE, `--values=${file}`))).toEqual(
      inOrder(render(own)),
    );
  });

  it('refuses a value that it does not know', () => {
    expect(() => template('--set=replcas=3')).toThrow(/replcas/);
    expect(() => template('--set=resources.kubedns.limit.memory=1Gi')).toThrow(/limit/);
    expect(() => template('--set=heapMiB.kubedsn=900')).toThrow(/kubedsn/);
  });

  it.each([
    ['clusterIP=10.96.0', 'clusterIP'],
    ['clusterIP=kube-dns', 'clusterIP'],
    ['config.stubDomains=acme.test', 'stubDomains'],
    ['config.upstreamNameservers=192.0.2.53', 'upstreamNameservers'],
  ])('refuses %s, which the API or the programs would refuse', (value, name) => {
    expect(() => template(`--set-string=${value}`)).toThrow(name);
  });

  it('takes pull secrets, tolerations and resources', () => {
    const sets = [
      '--set=imagePullSecrets[0].name=registry',
      '--set=tolerations[0].operator=Exists',
      '--set=resources.sidecar.limits.memory=200Mi',
      '--set=heapMiB.sidecar=105',
    ];
    const deployment = template(...sets).find(({ kind }) => kind === 'Deployment');
    const text = JSON.stringify(deployment);
    expect(text).toContain('"imagePullSecrets":[{"name":"registry"}]');
    expect(text).toContain('"memory":"200Mi"');
    const heaps = [...text.matchAll(/--max-old-space-size=(\d+)/g)].map(([, heap]) => heap);
    expect(heaps).toEqual(['224', '96', '105']);
  });

  it('has a value for each of its expressions, and passes helm lint', () => {
    expect(run('helm', 'lint', '--strict', join(folder, 'chart'))).toContain('0 chart(s) failed');
    const values = parse(readFileSync(join(folder, 'chart', 'values.yaml'), 'utf8')) as object;
    const templates = readdirSync(join(folder, 'chart', 'templates'))
      .map((name) => readFileSync(join(folder, 'chart', 'templates', name), 'utf8'))
      .join('');
    const used = [...templates.matchAll(/\.Values\.(\w+)/g)].map(([, name]) => name);
    expect([...new Set(used)].sort()).toEqual(Object.keys(values).sort());
  });
});
