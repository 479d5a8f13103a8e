import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import {
  fieldFaults,
  findObject,
  KUSTOMIZATIONS,
  MANIFESTS,
  NODE_KUSTOMIZATIONS,
  readObjects,
  STOCK_OBJECTS,
} from '@kube-dns/testkit/manifests';

const ALL = readdirSync(MANIFESTS, { recursive: true, encoding: 'utf8' });
const FILES = ALL.filter((file) => file.endsWith('.yaml')).sort();
const read = (file: string) => readFileSync(join(MANIFESTS, file), 'utf8');
const page = read('README.md');
const SEARCH_PATH = 'components/search-names/search-path.yaml';

describe('a file of manifests/', () => {
  it('is there to be checked', () => {
    expect(FILES).toEqual(expect.arrayContaining(['kube-dns/deployment.yaml', 'local/pod.yaml']));
  });

  it.each(FILES)('has no unknown or wrongly typed field: %s', (file) => {
    const objects: readonly unknown[] = readObjects(read(file));
    expect(objects.length).toBeGreaterThan(0);
    // A list or an object without a kind is a patch; what it makes is looked at where it is used.
    const whole = objects.filter((each) => each instanceof Object && 'kind' in each);
    expect(whole.flatMap(fieldFaults)).toEqual([]);
  });
});

describe('the images', () => {
  // A node looks for a name without a registry at Docker's, where anyone may have it.
  const hasRegistry = (image: string) => /^(localhost|[\w-]+(\.[\w-]+)+)\//.test(image);
  const placed = FILES.flatMap((file) =>
    [...read(file).matchAll(/^ *newName: (\S+)$/gm)].map(([, name = '']) => name),
  );
  /** Names that a kustomization puts others in place of. */
  const replaced = FILES.flatMap((file) =>
    [...read(file).matchAll(/^ *- name: (\S+)\n *newName: /gm)].map(([, name = '']) => name),
  );
  const named = FILES.flatMap((file) =>
    [...read(file).matchAll(/^ *(?:- )?image: (\S+)$/gm)].map(([, name = '']) => name),
  );

  it('have names with a registry', () => {
    expect(placed.filter((name) => !hasRegistry(name))).toEqual([]);
    expect(named.filter((name) => !hasRegistry(name) && !replaced.includes(name))).toEqual([]);
    expect([placed.length, named.length]).toEqual([7, 14]);
  });
});

describe('the check of fields', () => {
  const deployment = STOCK_OBJECTS.find(({ kind }) => kind === 'Deployment');
  const withContainer = (container: object) => ({
    ...deployment,
    spec: { template: { spec: { containers: [container] } } },
  });

  it('finds nothing in the manifest of the original', () => {
    expect(STOCK_OBJECTS.flatMap(fieldFaults)).toEqual([]);
  });

  it('finds a misspelt field', () => {
    expect(fieldFaults(withContainer({ name: 'x', readynessProbe: {} }))).toEqual([
      'Deployment.spec.template.spec.containers[0].readynessProbe is unknown',
    ]);
  });

  it('finds a wrong type', () => {
    const faults = fieldFaults(withContainer({ name: 'x', env: [{ name: 'A', value: 1 }] }));
    expect(faults).toEqual([
      'Deployment.spec.template.spec.containers[0].env[0].value: 1 is no string',
    ]);
  });

  it('finds a kind that is not served any more', () => {
    const old = { ...deployment, apiVersion: 'extensions/v1beta1' };
    expect(fieldFaults(old)).toEqual(['no kind Deployment in extensions/v1beta1']);
  });
});

describe('manifests/README.md', () => {
  it('names every kustomization, and files that are there', () => {
    const rows = [...page.matchAll(/^\| `([\w/-]+)` /gm)].map((match) => match[1] ?? '');
    expect(rows).toEqual([
      ...KUSTOMIZATIONS,
      'node-cache',
      ...NODE_KUSTOMIZATIONS,
      'coredns',
      'components',
      'local',
      'components/snapshot-on-node',
      'components/node-snapshot-on-node',
      'components/network-policy',
      'components/names-from-outside',
      'components/clusterset',
      'components/search-names',
    ]);
    const files = [...page.matchAll(/`([\w-]+(?:\/[\w-]+)+\.yaml)`/g)].map(
      (match) => match[1] ?? '',
    );
    expect(files.length).toBeGreaterThan(0);
    for (const file of [...rows, ...files]) {
      expect([file, existsSync(join(MANIFESTS, file))]).toEqual([file, true]);
    }
  });

  it('shows what the pod of the trial beside CoreDNS has', () => {
    const pod = parse(read('trial-pod.yaml')) as { spec: object };
    const section = page.slice(page.indexOf('## Beside CoreDNS'));
    const shown = parse(/```yaml\n(.*?)```/s.exec(section)?.[1] ?? '') as object;
    expect(Object.keys(shown)).toEqual(['dnsPolicy', 'dnsConfig']);
    expect(pod.spec).toMatchObject(shown);
  });
});

describe('what an administrator sets, the address of the service and the domain', () => {
  it.each([
    {
      file: 'kube-dns/cluster.yaml',
      object: 'cluster',
      keys: ['clusterIP', 'domain'],
      folders: [...KUSTOMIZATIONS, 'components'],
    },
    {
      file: 'node-cache/cluster.yaml',
      object: 'node-cluster',
      keys: ['localIP', 'clusterIP', 'domain', 'moreIPs'],
      folders: ['node-cache', ...NODE_KUSTOMIZATIONS],
    },
  ])('is in one line of $file, and nowhere else', ({ file, object, keys, folders }) => {
    const { data = {} } = findObject(readObjects(read(file)), 'ConfigMap', object);
    expect(Object.keys(data).sort()).toEqual(keys.sort());
    const texts = ALL.filter(
      (each) =>
        /\.(yaml|json)$/.test(each) &&
        folders.some((folder) => each.startsWith(`${folder}/`)) &&
        each !== SEARCH_PATH,
    ).map(read);
    expect(texts.length).toBeGreaterThanOrEqual(folders.length);
    for (const [key, value] of Object.entries(data)) {
      const isUnset = key === 'moreIPs';
      expect([key, value === '']).toEqual([key, isUnset]);
      if (!isUnset) expect([key, texts.join('\n').split(value).length - 1]).toEqual([key, 1]);
    }
  });

  it('is in the search path of the component that has one, too, with the zone of kubedns', () => {
    const { data } = findObject(readObjects(read('kube-dns/cluster.yaml')), 'ConfigMap', 'cluster');
    const path = findObject(readObjects(read(SEARCH_PATH)), 'ConfigMap', 'kube-dns-search-path');
    expect(path.data).toEqual({ ...data, zone: 'ap.k8s.io' });
    const patches = read('components/search-names/kustomization.yaml');
    expect(patches).toContain(`value: --search-zone=${path.data!.zone!}\n`);
    expect(patches).toContain(`value: --server=/${path.data!.zone!}/127.0.0.1#10053\n`);
  });
});

describe('manifests/coredns/README.md', () => {
  const readme = read('coredns/README.md');

  it('names metrics of ours that are in a table of a container', () => {
    const tables = ['kubedns', 'dnsmasq', 'sidecar']
      .map((name) => read(`../packages/${name}/README.md`))
      .join('\n');
    const names = [...readme.matchAll(/`((?:dnsmasq|kubedns|skydns)_[a-z_]+)`/g)].map(
      (match) => match[1] ?? '',
    );
    expect(names.length).toBeGreaterThan(20);
    for (const name of names) {
      const written = name.replace(/_probe_dnsmasq_/, '_probe_<label>_');
      expect([name, tables.includes(`\`${written}\``)]).toEqual([name, true]);
    }
  });

  it('is linked from the page above', () => {
    expect(page).toContain('(coredns/README.md)');
  });

  it('names the objects as they are', () => {
    const [deployment] = readObjects(read('coredns/deployment.yaml'));
    expect(readme).toContain(`deployment/${deployment?.metadata.name}`);
  });
});
