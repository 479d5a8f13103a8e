import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { needsPrograms, unless } from '@kube-dns/testkit';
import {
  containerOf,
  containersOf,
  fieldFaults,
  findObject,
  type KubeManifest,
  MANIFESTS,
  objectsOf,
  readObjects,
  render,
  renderText,
} from '@kube-dns/testkit/manifests';
import { kustomized } from './support/kustomized.js';
import { editFile, withManifestsCopy } from './support/manifests-copy.js';

const withKubectl = unless(needsPrograms('kubectl'), describe);

const base = () => kustomized('kube-dns');
const overlay = (name: string) => kustomized(`overlays/${name}`);
const kubeDns = (objects: readonly KubeManifest[]) => findObject(objects, 'Deployment', 'kube-dns');

withKubectl('manifests/kube-dns', () => {
  it('gets address and domain everywhere from cluster.yaml', async () => {
    const { data = {} } = findObject(
      readObjects(readFileSync(join(MANIFESTS, 'kube-dns', 'cluster.yaml'), 'utf8')),
      'ConfigMap',
      'cluster',
    );
    const { clusterIP = '', domain = '' } = data;
    await withManifestsCopy((copy) => {
      const folder = join(copy, 'kube-dns');
      const changes = [[clusterIP, '10.32.0.53'] as const, [domain, 'k8s.example.org'] as const];
      editFile(join(folder, 'cluster.yaml'), ...changes);
      const rendered = renderText(folder);
      expect(rendered).not.toContain(clusterIP);
      expect(rendered).not.toContain(domain);
      const objects = readObjects(rendered);
      expect(findObject(objects, 'Service', 'kube-dns').spec.clusterIP).toBe('10.32.0.53');
      const domains = containersOf(kubeDns(objects)).map(
        ({ env = [] }) => env.find(({ name }) => name === 'CLUSTER_DOMAIN')?.value,
      );
      expect(domains).toEqual(['k8s.example.org', 'k8s.example.org', 'k8s.example.org']);
    });
  });
});

withKubectl('an overlay as manifests/README.md has it', () => {
  it('puts two components together', async () => {
    const readme = readFileSync(join(MANIFESTS, 'README.md'), 'utf8');
    const example = /```yaml\n(apiVersion: kustomize.*?)```/s.exec(readme)?.[1] ?? '';
    await withManifestsCopy((copy) => {
      const mine = join(copy, '..', 'mine');
      mkdirSync(mine);
      writeFileSync(join(mine, 'kustomization.yaml'), example);
      const objects = render(mine);
      const names = objectsOf(objects, 'Deployment').map(({ metadata }) => metadata.name);
      expect(names).toEqual(['kube-dns', 'kube-dns-autoscaler']);
      findObject(objects, 'ServiceMonitor', 'kube-dns');
      const kubedns = containerOf(kubeDns(objects), 'kubedns');
      expect(example).toContain(kubedns.image.replace(/:.*/, ''));
    });
  });
});

withKubectl('the overlay autoscaler', () => {
  it('leaves the number of pods to the autoscaler, and nothing else out', () => {
    const { replicas, ...rest } = kubeDns(base()).spec;
    expect(replicas).toBe(2);
    expect(kubeDns(overlay('autoscaler')).spec).toEqual(rest);
  });

  it('scales the deployment kube-dns by the standard parameters', () => {
    const scaler = findObject(overlay('autoscaler'), 'Deployment', 'kube-dns-autoscaler');
    const { command = [] } = containerOf(scaler, 'autoscaler');
    const parameters = command.find((word) => word.startsWith('--default-params='));
    expect(command).toEqual([
      '/cluster-proportional-autoscaler',
      '--namespace=kube-system',
      '--configmap=kube-dns-autoscaler',
      '--target=deployment/kube-dns',
      parameters,
      '--logtostderr=true',
      '--v=2',
    ]);
    expect(JSON.parse(parameters?.split('=', 2)[1] ?? '')).toEqual({
      linear: {
        coresPerReplica: 2_048,
        nodesPerReplica: 128,
        preventSinglePointFailure: true,
        includeUnschedulableNodes: true,
      },
    });
  });
});

withKubectl('the overlay daemonset', () => {
  it('has the pod of the base on every node, and prefers that of the same node', () => {
    const daemonSet = findObject(overlay('daemonset'), 'DaemonSet', 'kube-dns');
    const { affinity, topologySpreadConstraints, ...pod } = kubeDns(base()).spec.template
      .spec as unknown as Record<string, unknown>;
    expect([affinity, topologySpreadConstraints]).not.toContain(undefined);
    expect(daemonSet.spec).toEqual({
      selector: kubeDns(base()).spec.selector,
      updateStrategy: { rollingUpdate: { maxSurge: '10%', maxUnavailable: 0 } },
      template: {
        ...kubeDns(base()).spec.template,
        spec: {
          ...pod,
          priorityClassName: 'system-node-critical',
          tolerations: [
            { key: 'CriticalAddonsOnly', operator: 'Exists' },
            { effect: 'NoSchedule', operator: 'Exists' },
            { effect: 'NoExecute', operator: 'Exists' },
          ],
        },
      },
    });
    const service = findObject(overlay('daemonset'), 'Service', 'kube-dns');
    expect(service.spec.trafficDistribution).toBe('PreferSameNode');
    const others = (objects: readonly KubeManifest[]) =>
      objects
        .filter(({ kind }) => !['DaemonSet', 'Deployment', 'PodDisruptionBudget'].includes(kind))
        .filter(({ kind, metadata }) => kind !== 'Service' || metadata.name !== 'kube-dns');
    expect(others(overlay('daemonset'))).toEqual(others(base()));
  });
});

withKubectl('the overlay gke-like', () => {
  it('adds prometheus-to-sd as the fourth container, and changes no other', () => {
    const containers = containersOf(kubeDns(overlay('gke-like')));
    expect(containers.slice(0, -1)).toEqual(containersOf(kubeDns(base())));
    const exporter = containers.at(-1);
    expect(exporter?.name).toBe('prometheus-to-sd');
    expect(exporter?.command).toContain('--pod-id=$(POD_NAME)');
  });
});

withKubectl('the overlay monitoring', () => {
  const objects = () => overlay('monitoring');

  it('opens the port of metrics of dnsmasq, and changes no other', () => {
    const expected = containersOf(kubeDns(base())).map((container) => {
      if (container.name !== 'dnsmasq') return container;
      const { args: [own, ...args] = [], ports = [] } = container;
      expect(own).toBe('-metrics-addr=127.0.0.1:10056');
      const port = { containerPort: 10056, name: 'metrics', protocol: 'TCP' };
      return { ...container, args: ['-metrics-addr=:10056', ...args], ports: [...ports, port] };
    });
    expect(containersOf(kubeDns(objects()))).toEqual(expected);
  });

  it('has Prometheus scrape every port for metrics that the containers have', () => {
    const { spec } = findObject(objects(), 'ServiceMonitor', 'kube-dns');
    const service = findObject(objects(), 'Service', 'kube-dns-metrics');
    expect(service.metadata.labels).toMatchObject(spec.selector.matchLabels);
    const ports = spec.endpoints.map(
      ({ port }) => service.spec.ports.find(({ name }) => name === port)?.port,
    );
    const declared = containersOf(kubeDns(objects()))
      .flatMap((container) => container.ports ?? [])
      .filter(({ name }) => name === 'metrics')
      .map(({ containerPort }) => containerPort);
    expect(ports.sort()).toEqual(declared.sort());
  });

  it('calls the job by the name that the alerts ask for', () => {
    const { spec } = findObject(objects(), 'ServiceMonitor', 'kube-dns');
    const service = findObject(objects(), 'Service', 'kube-dns-metrics');
    const rules = JSON.stringify(findObject(objects(), 'PrometheusRule', 'kube-dns'));
    const jobs = new Set([...rules.matchAll(/job=\\"([^"\\]*)/g)].map((match) => match[1]));
    const nodes = findObject(objects(), 'ServiceMonitor', 'node-local-dns').spec;
    const [cache] = objectsOf(kustomized('node-cache'), 'Service').filter(
      ({ metadata }) => metadata.name === 'node-local-dns',
    );
    expect(cache?.metadata.labels).toMatchObject(nodes.selector.matchLabels);
    expect(cache?.spec.ports.map(({ name }) => name)).toEqual(
      nodes.endpoints.map(({ port }) => port),
    );
    expect(jobs).toEqual(
      new Set([service.metadata.labels?.[spec.jobLabel], cache?.metadata.labels?.[nodes.jobLabel]]),
    );
  });

  it('does not select the service of the clients', () => {
    const { spec } = findObject(objects(), 'ServiceMonitor', 'kube-dns');
    const clients = findObject(objects(), 'Service', 'kube-dns');
    expect(clients.metadata.labels).not.toMatchObject(spec.selector.matchLabels);
  });

  it('brings the dashboard where Grafana looks for it', () => {
    const map = findObject(objects(), 'ConfigMap', 'kube-dns-dashboard');
    expect(map.metadata.labels).toEqual({ grafana_dashboard: '1' });
    const { title } = JSON.parse(map.data?.['kube-dns.json'] ?? '') as { title: string };
    expect(title).toBe('kube-dns');
  });

  it('has runbook_url lead to the page that runbooks.yaml names', async () => {
    const monitoring = join('components', 'monitoring');
    const text = readFileSync(join(MANIFESTS, monitoring, 'runbooks.yaml'), 'utf8');
    const page = /^ {2}page: (\S+)$/m.exec(text)?.[1] ?? '';
    await withManifestsCopy((copy) => {
      editFile(join(copy, monitoring, 'runbooks.yaml'), [page, 'https://wiki.test/dns']);
      const rendered = renderText(join(copy, 'overlays', 'monitoring'));
      const urls = [...rendered.matchAll(/runbook_url: (.*)#/g)].map(([, url]) => url);
      const alerts = JSON.stringify(findObject(objects(), 'PrometheusRule', 'kube-dns'));
      expect(urls).toEqual([...alerts.matchAll(/"alert":/g)].map(() => 'https://wiki.test/dns'));
      expect(rendered).not.toContain('name: runbooks');
    });
  });
});

withKubectl('the overlay beside', () => {
  const NAME = 'kube-dns-beside';

  it('is the base under other names, that nothing else selects', () => {
    const objects = overlay('beside');
    const deployment = findObject(objects, 'Deployment', NAME);
    // But for the ConfigMap, which is its own, and the replicas that are asked for a snapshot.
    const asBase = JSON.stringify(containersOf(deployment)).replace(
      'kube-dns-replicas-beside.',
      'kube-dns-replicas.',
    );
    expect(JSON.parse(asBase)).toEqual(containersOf(kubeDns(base())));
    const names = base().map(({ kind, metadata }) => [kind, `${metadata.name}-beside`]);
    expect(objects.map(({ kind, metadata }) => [kind, metadata.name])).toEqual(names);
    for (const { metadata } of objects) expect(metadata.labels).toEqual({ 'k8s-app': NAME });
    // Not even a preference of the scheduler looks at the pods of the cluster's DNS.
    expect(JSON.stringify(deployment)).not.toMatch(/"kube-dns"/);
    expect(JSON.stringify(deployment)).not.toContain('priorityClassName');
  });
});

/** An overlay of one's own: a kustomization with these components on top of a folder. */
function withComponents(
  resource: string,
  components: readonly string[],
  check: (objects: readonly KubeManifest[]) => void,
): Promise<void> {
  return withManifestsCopy((copy) => {
    const mine = join(copy, '..', 'mine');
    mkdirSync(mine);
    const kustomization = {
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      resources: [`../manifests/${resource}`],
      components: components.map((name) => `../manifests/components/${name}`),
    };
    writeFileSync(join(mine, 'kustomization.yaml'), JSON.stringify(kustomization));
    check(render(mine));
  });
}

withKubectl('the component snapshot-on-node', () => {
  it('has the snapshot in a folder of the node that belongs to the user of kubedns', async () => {
    await withComponents('kube-dns', ['snapshot-on-node', 'monitoring'], (objects) => {
      expect(objects.flatMap(fieldFaults)).toEqual([]);
      const { volumes = [], initContainers = [] } = kubeDns(objects).spec.template.spec;
      expect(volumes.find(({ name }) => name === 'snapshot')).toEqual({
        name: 'snapshot',
        hostPath: { path: '/var/lib/kube-dns', type: 'DirectoryOrCreate' },
      });
      const { image, securityContext } = containerOf(kubeDns(objects), 'kubedns');
      expect(initContainers.map((each) => each.image)).toEqual([image]);
      const [first] = initContainers;
      const { runAsUser, runAsGroup } = securityContext ?? {};
      expect(first?.command?.at(-1)).toBe(
        `require('fs').chownSync('${first?.volumeMounts?.[0]?.mountPath}', ${runAsUser}, ${runAsGroup})`,
      );
      expect(first?.securityContext?.capabilities).toEqual({ drop: ['ALL'], add: ['CHOWN'] });
    });
  });
});

withKubectl('the component clusterset', () => {
  it('switches the zone of imports on in both containers, beside hosts of routes, with a role for ServiceImports alone', async () => {
    await withComponents('kube-dns', ['names-from-outside', 'clusterset'], (objects) => {
      expect(objects.flatMap(fieldFaults)).toEqual([]);
      const deployment = kubeDns(objects);
      expect(containerOf(deployment, 'kubedns').args).toContain(
        '--clusterset-domain=clusterset.local',
      );
      expect(containerOf(deployment, 'dnsmasq').args).toContain(
        '--server=/clusterset.local/127.0.0.1#10053',
      );
      const ofName = objects.filter(({ metadata }) => metadata.name === 'kube-dns-clusterset');
      expect(ofName.map(({ kind }) => kind).sort()).toEqual(['ClusterRole', 'ClusterRoleBinding']);
      expect(ofName.find(({ kind }) => kind === 'ClusterRole')).toMatchObject({
        rules: [
          {
            apiGroups: ['multicluster.x-k8s.io'],
            resources: ['serviceimports'],
            verbs: ['list', 'watch'],
          },
        ],
      });
    });
  });
});

withKubectl('the component node-snapshot-on-node', () => {
  it.each(['cilium', 'iptables'])(
    'keeps the answers of node-cache in a folder of the node: %s',
    async (name) => {
      const overlay = `overlays/node-cache-${name}`;
      await withComponents(overlay, ['node-snapshot-on-node'], (objects) => {
        expect(objects.flatMap(fieldFaults)).toEqual([]);
        const set = findObject(objects, 'DaemonSet', 'node-local-dns');
        const { volumes = [] } = set.spec.template.spec;
        expect(volumes.find((volume) => volume.name === 'snapshot')?.hostPath?.path).toBe(
          '/var/lib/node-cache',
        );
        const { args, volumeMounts } = containerOf(set, 'node-cache');
        expect(args).toContain('-snapshot-file=/var/lib/node-cache/snapshot');
        expect(volumeMounts).toContainEqual({ name: 'snapshot', mountPath: '/var/lib/node-cache' });
      });
    },
  );
});

withKubectl('the component network-policy', () => {
  it('leaves each port open that the pods declare, and port 8081 to these pods alone', async () => {
    await withComponents('kube-dns', ['network-policy', 'monitoring'], (objects) => {
      expect(objects.flatMap(fieldFaults)).toEqual([]);
      const { metadata, spec } = findObject(objects, 'NetworkPolicy', 'kube-dns');
      expect(metadata.namespace).toBe('kube-system');
      const [open, own] = spec.ingress;
      const declared = containersOf(kubeDns(objects))
        .flatMap(({ ports = [] }) => ports)
        .map(({ containerPort }) => containerPort);
      expect(open?.from).toBeUndefined();
      const allowed = open?.ports.map(({ port }) => port);
      expect(allowed).toEqual(expect.arrayContaining(declared));
      expect(allowed).not.toContain(8081);
      expect(own).toEqual({
        from: [{ podSelector: { matchLabels: kubeDns(objects).spec.template.metadata.labels } }],
        ports: [{ port: 8081, protocol: 'TCP' }],
      });
    });
  });
});
