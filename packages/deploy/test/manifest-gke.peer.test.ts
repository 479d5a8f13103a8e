import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createApiServer, type ApiServer } from '@kube-dns/apiserver';
import { needsPrograms, outputOf, TemporaryFolder, unless } from '@kube-dns/testkit';
import { findObject, STOCK_OBJECTS } from '@kube-dns/testkit/manifests';
import { kustomized } from './support/kustomized.js';
import { ROOT } from './support/root.js';
import { shellBlocks } from './support/shell-block.js';
import { Workloads } from './support/workloads.js';

const page = readFileSync(`${ROOT}docs/platforms.md`, 'utf8');
const [takePlace = [], goBack = []] = shellBlocks(page, 'GKE');
const OURS = ['kube-dns-custom', 'kube-dns-custom'];
const stock = findObject(STOCK_OBJECTS, 'Deployment', 'kube-dns');
/** The autoscaler of GKE: here only that it is a deployment. */
const AUTOSCALER = {
  ...stock,
  metadata: { name: 'kube-dns-autoscaler', namespace: 'kube-system' },
  spec: {
    ...stock.spec,
    replicas: 1,
    selector: { matchLabels: { 'k8s-app': 'kube-dns-autoscaler' } },
    template: {
      ...stock.spec.template,
      metadata: { labels: { 'k8s-app': 'kube-dns-autoscaler' } },
    },
  },
};

unless(needsPrograms('kubectl'), describe)('in a GKE cluster with kube-dns', () => {
  let server: ApiServer;
  let workloads: Workloads;
  let home: TemporaryFolder;

  beforeEach(async () => {
    server = await createApiServer();
    workloads = new Workloads(server);
    home = new TemporaryFolder();
    await server.apply([...STOCK_OBJECTS, AUTOSCALER]);
    await workloads.settle();
  });
  afterEach(async () => {
    await server.close();
    await home.close();
  });

  /** Types a command of the page, in the root of the checkout. */
  async function type(command: string): Promise<void> {
    const [program = '', ...words] = command.split(' ');
    const inRoot = words.map((word) => word.replace(/^manifests\//, `${ROOT}manifests/`));
    await outputOf(program, [`--server=${server.url}`, ...inRoot], {
      HOME: home.path,
      KUBECONFIG: join(home.path, 'none'),
    });
    await workloads.settle();
  }

  const behind = () => workloads.behind('kube-dns').sort();
  /** What GKE has made, but for the numbers of pods. */
  const gke = () =>
    STOCK_OBJECTS.map(({ kind, metadata }) => {
      const found = server.get(kind as 'Service', metadata.namespace ?? '', metadata.name);
      return [kind, metadata.name, metadata.labels, { ...found?.spec, replicas: undefined }];
    });

  it('its service leads to these pods, and to no other, without an object of GKE being changed', async () => {
    const before = gke();
    const seen: string[][] = [];
    for (const command of takePlace) {
      await type(command);
      seen.push(behind());
    }
    expect(seen[0]).toEqual(['kube-dns', ...OURS]);
    expect(seen.at(-1)).toEqual(OURS);
    for (const each of seen) expect(each.length).toBeGreaterThanOrEqual(2);
    expect(workloads.coveredBy('kube-dns-custom')).toEqual(OURS);
    expect(workloads.behind('kube-dns-replicas-custom')).toEqual(OURS);
    expect(gke()).toEqual(before);
  });

  it('the way back leaves what was there before', async () => {
    const before = gke();
    for (const command of takePlace) await type(command);
    for (const command of goBack) {
      await type(command);
      expect(behind().length).toBeGreaterThanOrEqual(1);
    }
    expect(behind()).toEqual(Array.from({ length: 2 }, () => 'kube-dns'));
    expect(gke()).toEqual(before);
    const names = server.list('Deployment').map(({ metadata }) => metadata.name);
    expect(names.sort()).toEqual(['kube-dns', 'kube-dns-autoscaler']);
  });

  it('has the pod of the base, which reads the ConfigMap of GKE', () => {
    const { spec } = findObject(kustomized('overlays/gke'), 'Deployment', 'kube-dns-custom');
    const base = findObject(kustomized('kube-dns'), 'Deployment', 'kube-dns');
    const ownName = (text: string) =>
      text.replace('kube-dns-replicas.', 'kube-dns-replicas-custom.');
    const containers = base.spec.template.spec.containers.map((each) => ({
      ...each,
      args: each.args?.map(ownName),
    }));
    expect(spec.template.spec.containers).toEqual(containers);
    expect(spec.template.spec.volumes).toEqual(base.spec.template.spec.volumes);
    const volume = spec.template.spec.volumes?.find(({ name }) => name === 'kube-dns-config');
    expect(volume).toMatchObject({ configMap: { name: 'kube-dns', optional: true } });
  });
});
