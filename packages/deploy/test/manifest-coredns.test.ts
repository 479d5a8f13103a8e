import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { fromCorefile, parseCorefile, Notes } from '@kube-dns/cli';
import { needsPrograms, unless } from '@kube-dns/testkit';
import {
  containersOf,
  fieldFaults,
  findObject,
  MANIFESTS,
  objectsOf,
  readObjects,
  render,
} from '@kube-dns/testkit/manifests';

const FOLDER = join(MANIFESTS, 'coredns');
const NAME = 'coredns-beside';
const hasKubectl = needsPrograms('kubectl') === undefined;

unless(needsPrograms('kubectl'), describe)('manifests/coredns', () => {
  const objects = hasKubectl ? render(FOLDER) : [];
  const kubeDns = hasKubectl ? render(join(MANIFESTS, 'kube-dns')) : [];
  const deployment = () => findObject(objects, 'Deployment', NAME);
  const service = () => findObject(objects, 'Service', NAME);

  it('has no unknown or wrongly typed field and no placeholder when it is rendered', () => {
    expect(objects.length).toBe(6);
    expect(objects.flatMap(fieldFaults)).toEqual([]);
    expect(JSON.stringify(objects)).not.toMatch(/cluster\.yaml/);
  });

  it('shares no object, no address and no pod with kube-dns', () => {
    const place = ({ kind, metadata }: (typeof objects)[number]) => `${kind} ${metadata.name}`;
    const taken = kubeDns.map(place);
    for (const each of objects) {
      expect(taken).not.toContain(place(each));
      expect(each.metadata.name).toBe(NAME);
    }
    const other = findObject(kubeDns, 'Service', 'kube-dns').spec;
    expect(service().spec.clusterIP).toMatch(/^\d+(\.\d+){3}$/);
    expect(service().spec.clusterIP).not.toBe(other.clusterIP);
    expect(deployment().spec.template.metadata.labels).not.toMatchObject(other.selector);
    const own = findObject(kubeDns, 'Deployment', 'kube-dns').spec.template.metadata.labels;
    expect(own).not.toMatchObject(service().spec.selector);
  });

  it('does not take the place of a CoreDNS that is the DNS of the cluster', () => {
    for (const { metadata } of objects) {
      expect(metadata.name).not.toMatch(/^(?:system:)?coredns$/);
      expect(Object.values(metadata.labels ?? {})).not.toContain('kube-dns');
    }
  });

  it('selects its own pods, and has a port of them for each of the service', () => {
    const { labels } = deployment().spec.template.metadata;
    expect(labels).toEqual(service().spec.selector);
    expect(labels).toEqual(deployment().spec.selector.matchLabels);
    const [container] = containersOf(deployment());
    const names = container?.ports?.map(({ name, containerPort }) => [name, containerPort]);
    const wanted = service().spec.ports.map(({ name, port }) => [name, port]);
    expect(names).toEqual(expect.arrayContaining(wanted));
  });

  it('probes ports that the container declares', () => {
    const [container] = containersOf(deployment());
    const declared = container?.ports?.map(({ containerPort }) => containerPort) ?? [];
    expect(declared).toContain(container?.livenessProbe?.httpGet.port);
    expect(declared).toContain(container?.readinessProbe?.httpGet.port);
  });

  it('binds its account to its role', () => {
    const [binding] = objectsOf(objects, 'ClusterRoleBinding');
    findObject(objects, 'ClusterRole', binding?.roleRef.name ?? '');
    findObject(objects, 'ServiceAccount', binding?.subjects[0]?.name ?? '');
    expect(deployment().spec.template.spec.serviceAccountName).toBe(binding?.subjects[0]?.name);
    expect(binding?.subjects[0]?.namespace).toBe('kube-system');
  });

  it('tags its image, and has no ports but 53', () => {
    const [container] = containersOf(deployment());
    expect(container?.image).toMatch(/:(?!latest$)[\w.-]+$/);
    expect(container?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
    });
  });

  it('serves the domain of cluster.yaml with the standard Corefile', () => {
    const { env = [] } = containersOf(deployment())[0] ?? {};
    const variables = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    const text = findObject(objects, 'ConfigMap', NAME).data?.Corefile ?? '';
    const notes = new Notes();
    const setup = fromCorefile(parseCorefile(text, 'Corefile'), variables, notes);
    expect(notes.lines()).toEqual([]);
    expect(setup.domain).toBe('cluster.local');
    const standard = new URL('../../cli/test/fixtures/standard.Corefile', import.meta.url);
    const plain = (corefile: string) => corefile.replace(/\s+/g, ' ').trim();
    const expected = plain(readFileSync(standard, 'utf8'));
    expect(plain(text.replace('{$CLUSTER_DOMAIN}', 'cluster.local'))).toBe(expected);
  });

  it('gets address and domain from cluster.yaml', () => {
    const folder = mkdtempSync(join(tmpdir(), 'kube-dns-coredns-'));
    try {
      cpSync(FOLDER, folder, { recursive: true });
      const file = join(folder, 'cluster.yaml');
      const text = readFileSync(file, 'utf8')
        .replace('10.96.0.11', '10.32.0.54')
        .replace('cluster.local', 'k8s.example.org');
      writeFileSync(file, text);
      const rendered = render(folder);
      expect(findObject(rendered, 'Service', NAME).spec.clusterIP).toBe('10.32.0.54');
      expect(JSON.stringify(rendered)).toContain('"value":"k8s.example.org"');
      expect(JSON.stringify(rendered)).not.toContain('cluster.local');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('manifests/coredns/README.md', () => {
  const readme = readFileSync(join(FOLDER, 'README.md'), 'utf8');

  it('names metrics of ours that are in a table of a container', () => {
    const tables = ['kubedns', 'dnsmasq', 'sidecar']
      .map((name) => readFileSync(join(MANIFESTS, '..', 'packages', name, 'README.md'), 'utf8'))
      .join('\n');
    const names = [...readme.matchAll(/`((?:dnsmasq|kubedns|skydns)_[a-z_]+)`/g)].map(
      (m) => m[1] ?? '',
    );
    expect(names.length).toBeGreaterThan(20);
    for (const name of names) {
      const written = name.replace(/_probe_dnsmasq_/, '_probe_<label>_');
      expect([name, tables.includes(`\`${written}\``)]).toEqual([name, true]);
    }
  });

  it('has links that lead somewhere, and is linked from the page above', () => {
    const links = [...readme.matchAll(/\]\(([^)#]+)/g)].map((match) => match[1] ?? '');
    expect(links.length).toBeGreaterThan(0);
    for (const link of links) expect([link, existsSync(join(FOLDER, link))]).toEqual([link, true]);
    expect(readFileSync(join(MANIFESTS, 'README.md'), 'utf8')).toContain('(coredns/README.md)');
  });

  it('names the objects as they are', () => {
    expect(
      readObjects(readFileSync(join(FOLDER, 'deployment.yaml'), 'utf8'))[0]?.metadata.name,
    ).toBe(NAME);
    expect(readme).toContain(`deployment/${NAME}`);
  });
});
