import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createApiServer, type ApiServer } from '@kube-dns/apiserver';
import { parsePod } from '@kube-dns/cli';
import { needsPrograms, outputOf, unless } from '@kube-dns/testkit';
import {
  containersOf,
  type Deployment,
  findObject,
  MANIFESTS,
  render,
  STOCK_FILE,
  STOCK_OBJECTS,
} from '@kube-dns/testkit/manifests';

/** The original's dnsmasq does not know the first, nor its nanny the second. */
const OWN_ARGUMENTS = ['--negcache=push', '-metrics-addr=127.0.0.1:10056'];
const BASE = join(MANIFESTS, 'kube-dns');
const AUTOSCALER = join(MANIFESTS, 'overlays', 'autoscaler');
const hasKubectl = needsPrograms('kubectl') === undefined;
const withKubectl = unless(needsPrograms('kubectl'), describe);

const ours = hasKubectl ? render(BASE) : STOCK_OBJECTS;
const stockDeployment = findObject(STOCK_OBJECTS, 'Deployment', 'kube-dns');
const ourDeployment = findObject(ours, 'Deployment', 'kube-dns');

withKubectl('the base compared with the manifest of the original', () => {
  it('has every object of it under the same name, with the same labels', () => {
    for (const { kind, metadata } of STOCK_OBJECTS) {
      const own = ours.find((each) => each.kind === kind && each.metadata.name === metadata.name);
      expect([kind, own?.metadata]).toEqual([kind, metadata]);
    }
  });

  it('has the same service', () => {
    const [own, stock] = [ours, STOCK_OBJECTS].map((objects) =>
      findObject(objects, 'Service', 'kube-dns'),
    );
    expect(own).toEqual(stock);
  });

  it('has the same selector, pod labels and annotations', () => {
    const fixed = ({ spec }: Deployment) => [spec.selector, spec.template.metadata];
    expect(fixed(ourDeployment)).toEqual(fixed(stockDeployment));
  });

  it('has the same pod around the containers, and more', () => {
    const [own, stock] = [ourDeployment, stockDeployment].map(({ spec }) => spec.template.spec);
    const { tolerations = [], volumes = [] } = stock ?? {};
    const fixed = Object.entries(stock ?? {}).filter(
      ([field]) => !['containers', 'tolerations', 'volumes'].includes(field),
    );
    expect(fixed.length).toBeGreaterThanOrEqual(6);
    expect(own).toMatchObject(Object.fromEntries(fixed));
    expect(own?.tolerations).toEqual(expect.arrayContaining([...tolerations]));
    expect(own?.volumes).toEqual(expect.arrayContaining([...volumes]));
  });

  it('has the same containers, with the same arguments when the domain is put in, and two more', () => {
    const linesOf = (deployment: Deployment) =>
      parsePod(JSON.stringify(deployment), 'deployment.json').containers.map(({ name, args }) => ({
        name,
        args: args.filter((arg) => !OWN_ARGUMENTS.includes(arg)),
      }));
    expect(linesOf(ourDeployment)).toEqual(linesOf(stockDeployment));
    const [dnsmasq] = containersOf(ourDeployment).filter(({ name }) => name === 'dnsmasq');
    expect(dnsmasq?.args).toEqual(expect.arrayContaining(OWN_ARGUMENTS));
  });

  it.each(containersOf(stockDeployment))(
    'has the ports, probes, mounts and variables of $name',
    (stock) => {
      const own = containersOf(ourDeployment).find(({ name }) => name === stock.name);
      const { name, ports, livenessProbe, readinessProbe, env = [], volumeMounts = [] } = stock;
      expect(own).toMatchObject({ name, ports, livenessProbe });
      if (readinessProbe !== undefined) expect(own?.readinessProbe).toEqual(readinessProbe);
      expect(own?.env).toEqual(expect.arrayContaining([...env]));
      expect(own?.volumeMounts ?? []).toEqual(expect.arrayContaining([...volumeMounts]));
    },
  );
});

withKubectl('kubectl apply -k manifests/kube-dns', () => {
  let server: ApiServer;
  let home: string;

  beforeEach(async () => {
    server = await createApiServer();
    home = mkdtempSync(join(tmpdir(), 'kube-dns-kubectl-'));
  });
  afterEach(async () => {
    await server.close();
    rmSync(home, { recursive: true });
  });

  const kubectl = (...words: string[]) =>
    outputOf('kubectl', [`--server=${server.url}`, ...words], {
      HOME: home,
      KUBECONFIG: join(home, 'none'),
    });
  const deployed = () => server.get('Deployment', 'kube-system', 'kube-dns');
  const configured = () => server.get('ConfigMap', 'kube-system', 'kube-dns');

  it('creates every object in an empty cluster', async () => {
    const said = await kubectl('apply', '-k', BASE);
    expect(said.split('\n')).toHaveLength(ours.length);
    // It is what the README shows.
    const readme = readFileSync(join(MANIFESTS, 'README.md'), 'utf8');
    const shown = /\$ kubectl apply -k manifests\/kube-dns\n(.*?)\n```/s.exec(readme)?.[1];
    expect(said).toBe(shown);
  });

  it('changes nothing when it is done again', async () => {
    await kubectl('apply', '-k', BASE);
    const before = server.resourceVersion;
    await kubectl('apply', '-k', BASE);
    expect(server.resourceVersion).toBe(before);
  });

  it.each(['apply', 'create'])(
    'replaces a pod that was installed by kubectl %s',
    async (command) => {
      await kubectl('apply', '-k', BASE);
      const fresh = deployed()?.spec;
      await kubectl('delete', '-k', BASE);

      await kubectl(command, '-f', STOCK_FILE);
      const address = server.get('Service', 'kube-system', 'kube-dns')?.spec.clusterIP;
      await kubectl('apply', '-k', BASE);
      expect(deployed()?.spec).toMatchObject(fresh ?? {});
      expect(server.get('Service', 'kube-system', 'kube-dns')?.spec.clusterIP).toBe(address);
      // Nothing of the old containers is left where kubectl knows what it had put there.
      if (command === 'apply') expect(deployed()?.spec).toEqual(fresh);
    },
  );

  it('can be taken back by applying the old manifest', async () => {
    await kubectl('apply', '-f', STOCK_FILE);
    const before = deployed()?.spec.template;
    await kubectl('apply', '-k', BASE);
    await kubectl('apply', '-f', STOCK_FILE);
    expect(deployed()?.spec.template).toEqual(before);
  });

  it('is refused by a cluster whose deployment selects otherwise', async () => {
    const labels = { 'k8s-app': 'kube-dns', version: 'v20' };
    const { spec } = stockDeployment;
    const template = { ...spec.template, metadata: { labels } };
    const other = {
      ...stockDeployment,
      spec: { ...spec, selector: { matchLabels: labels }, template },
    };
    const file = join(home, 'other.json');
    writeFileSync(file, JSON.stringify(other));
    await kubectl('apply', '-f', file);
    await expect(kubectl('apply', '-k', BASE)).rejects.toThrow(
      /spec\.selector.*field is immutable/s,
    );
  });

  const data = { stubDomains: '{"acme.local":["192.0.2.53"]}' };
  const writeConfigMap = (): string => {
    const file = join(home, 'config-map.json');
    const metadata = { name: 'kube-dns', namespace: 'kube-system' };
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }));
    return file;
  };

  it('keeps the configuration that was created or edited', async () => {
    await kubectl('create', '-f', writeConfigMap());
    await kubectl('apply', '-k', BASE);
    expect(configured()?.data).toEqual(data);
  });

  it('keeps the configuration that was applied, once kubectl has forgotten that', async () => {
    await kubectl('apply', '-f', writeConfigMap());
    const words = [
      'annotate',
      'configmap',
      'kube-dns',
      'kubectl.kubernetes.io/last-applied-configuration-',
    ];
    await kubectl('--namespace=kube-system', ...words);
    await kubectl('apply', '-k', BASE);
    expect(configured()?.data).toEqual(data);
  });

  it('leaves the number of pods alone with the overlay autoscaler', async () => {
    await kubectl('apply', '-f', STOCK_FILE);
    // What an autoscaler does, too: kubectl does not remember a patch as applied.
    const scale = ['patch', 'deployment', 'kube-dns', '-p', '{"spec":{"replicas":12}}'];
    await kubectl('--namespace=kube-system', ...scale);
    await kubectl('apply', '-k', AUTOSCALER);
    expect(deployed()?.spec.replicas).toBe(12);
  });
});
