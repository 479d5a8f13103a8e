import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { fromCorefile, parseCorefile, Notes } from '@kube-dns/cli';
import { needsPrograms, unless } from '@kube-dns/testkit';
import {
  containersOf,
  fieldFaults,
  findObject,
  objectsOf,
  render,
} from '@kube-dns/testkit/manifests';
import { kustomized } from './support/kustomized.js';
import { editFile, withManifestsCopy } from './support/manifests-copy.js';

const NAME = 'coredns-beside';

unless(needsPrograms('kubectl'), describe)('manifests/coredns', () => {
  const objects = () => kustomized('coredns');
  const kubeDns = () => kustomized('kube-dns');
  const deployment = () => findObject(objects(), 'Deployment', NAME);
  const service = () => findObject(objects(), 'Service', NAME);

  it('has no unknown or wrongly typed field and no placeholder when it is rendered', () => {
    expect(objects()).toHaveLength(6);
    expect(objects().flatMap(fieldFaults)).toEqual([]);
    expect(JSON.stringify(objects())).not.toMatch(/cluster\.yaml/);
  });

  it('shares no object, no address and no pod with kube-dns', () => {
    const place = ({ kind, metadata }: ReturnType<typeof objects>[number]) =>
      `${kind} ${metadata.name}`;
    const taken = kubeDns().map(place);
    for (const each of objects()) {
      expect(taken).not.toContain(place(each));
      expect(each.metadata.name).toBe(NAME);
    }
    const other = findObject(kubeDns(), 'Service', 'kube-dns').spec;
    expect(service().spec.clusterIP).toMatch(/^\d+(\.\d+){3}$/);
    expect(service().spec.clusterIP).not.toBe(other.clusterIP);
    expect(deployment().spec.template.metadata.labels).not.toMatchObject(other.selector);
    const own = findObject(kubeDns(), 'Deployment', 'kube-dns').spec.template.metadata.labels;
    expect(own).not.toMatchObject(service().spec.selector);
  });

  it('does not take the place of a CoreDNS that is the DNS of the cluster', () => {
    for (const { metadata } of objects()) {
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
    const [binding] = objectsOf(objects(), 'ClusterRoleBinding');
    findObject(objects(), 'ClusterRole', binding?.roleRef.name ?? '');
    findObject(objects(), 'ServiceAccount', binding?.subjects[0]?.name ?? '');
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
    const text = findObject(objects(), 'ConfigMap', NAME).data?.Corefile ?? '';
    const notes = new Notes();
    const setup = fromCorefile(parseCorefile(text, 'Corefile'), variables, notes);
    expect(notes.lines()).toEqual([]);
    expect(setup.domain).toBe('cluster.local');
    const standard = new URL('../../cli/test/fixtures/standard.Corefile', import.meta.url);
    const plain = (corefile: string) => corefile.replace(/\s+/g, ' ').trim();
    const expected = plain(readFileSync(standard, 'utf8'));
    expect(plain(text.replace('{$CLUSTER_DOMAIN}', 'cluster.local'))).toBe(expected);
  });

  it('gets address and domain from cluster.yaml', async () => {
    await withManifestsCopy((copy) => {
      const folder = join(copy, 'coredns');
      editFile(
        join(folder, 'cluster.yaml'),
        ['10.96.0.11', '10.32.0.54'],
        ['cluster.local', 'k8s.example.org'],
      );
      const rendered = render(folder);
      expect(findObject(rendered, 'Service', NAME).spec.clusterIP).toBe('10.32.0.54');
      expect(JSON.stringify(rendered)).toContain('"value":"k8s.example.org"');
      expect(JSON.stringify(rendered)).not.toContain('cluster.local');
    });
  });
});
