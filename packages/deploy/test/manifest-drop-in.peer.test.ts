import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createApiServer, type ApiServer } from '@kube-dns/apiserver';
import { needsPrograms, outputOf, TemporaryFolder, unless } from '@kube-dns/testkit';
import { findObject, MANIFESTS, STOCK_FILE, STOCK_OBJECTS } from '@kube-dns/testkit/manifests';
import { kustomized } from './support/kustomized.js';

const BASE = join(MANIFESTS, 'kube-dns');
const AUTOSCALER = join(MANIFESTS, 'overlays', 'autoscaler');
const stockDeployment = findObject(STOCK_OBJECTS, 'Deployment', 'kube-dns');

unless(needsPrograms('kubectl'), describe)('kubectl apply -k manifests/kube-dns', () => {
  let server: ApiServer;
  let home: TemporaryFolder;

  beforeEach(async () => {
    server = await createApiServer();
    home = new TemporaryFolder();
  });
  afterEach(async () => {
    await server.close();
    await home.close();
  });

  const kubectl = (...words: string[]) =>
    outputOf('kubectl', [`--server=${server.url}`, ...words], {
      HOME: home.path,
      KUBECONFIG: join(home.path, 'none'),
    });
  const deployed = () => server.get('Deployment', 'kube-system', 'kube-dns');
  const configured = () => server.get('ConfigMap', 'kube-system', 'kube-dns');

  it('creates every object in an empty cluster', async () => {
    const said = await kubectl('apply', '-k', BASE);
    expect(said.split('\n')).toHaveLength(kustomized('kube-dns').length);
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
    const file = join(home.path, 'other.json');
    writeFileSync(file, JSON.stringify(other));
    await kubectl('apply', '-f', file);
    await expect(kubectl('apply', '-k', BASE)).rejects.toThrow(
      /spec\.selector.*field is immutable/s,
    );
  });

  const data = { stubDomains: '{"acme.local":["192.0.2.53"]}' };
  const writeConfigMap = (): string => {
    const file = join(home.path, 'config-map.json');
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
