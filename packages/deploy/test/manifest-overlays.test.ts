import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { needsPrograms, unless } from '@kube-dns/testkit';
import {
  containerOf,
  containersOf,
  findObject,
  type KubeManifest,
  MANIFESTS,
  objectsOf,
  render,
} from '@kube-dns/testkit/manifests';
import { NODE_OBJECTS } from './support/base-deployment.js';

const withKubectl = unless(needsPrograms('kubectl'), describe);

const overlay = (name: string) => render(join(MANIFESTS, 'overlays', name));
const kubeDns = (objects: readonly KubeManifest[]) => findObject(objects, 'Deployment', 'kube-dns');

withKubectl('the overlay autoscaler', () => {
  it('leaves the number of pods to the autoscaler, and nothing else out', () => {
    const base = kubeDns(render(join(MANIFESTS, 'kube-dns')));
    const { replicas, ...rest } = base.spec;
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
        coresPerReplica: 256,
        nodesPerReplica: 16,
        preventSinglePointFailure: true,
        includeUnschedulableNodes: true,
      },
    });
  });
});

withKubectl('the overlay gke-like', () => {
  it('adds prometheus-to-sd as the fourth container, and changes no other', () => {
    const base = containersOf(kubeDns(render(join(MANIFESTS, 'kube-dns'))));
    const containers = containersOf(kubeDns(overlay('gke-like')));
    expect(containers.slice(0, -1)).toEqual(base);
    const exporter = containers.at(-1);
    expect(exporter?.name).toBe('prometheus-to-sd');
    expect(exporter?.command).toContain('--pod-id=$(POD_NAME)');
  });
});

withKubectl('the overlay monitoring', () => {
  const objects = needsPrograms('kubectl') === undefined ? overlay('monitoring') : [];

  it('opens the port of metrics of dnsmasq, and changes no other', () => {
    const [base, own] = [render(join(MANIFESTS, 'kube-dns')), objects].map((each) =>
      containersOf(kubeDns(each)),
    );
    const expected = base?.map((container) => {
      if (container.name !== 'dnsmasq') return container;
      const { args: [own, ...args] = [], ports = [] } = container;
      expect(own).toBe('-metrics-addr=127.0.0.1:10056');
      const port = { containerPort: 10056, name: 'metrics', protocol: 'TCP' };
      return { ...container, args: ['-metrics-addr=:10056', ...args], ports: [...ports, port] };
    });
    expect(own).toEqual(expected);
  });

  it('has Prometheus scrape every port for metrics that the containers have', () => {
    const { spec } = findObject(objects, 'ServiceMonitor', 'kube-dns');
    const service = findObject(objects, 'Service', 'kube-dns-metrics');
    expect(service.metadata.labels).toMatchObject(spec.selector.matchLabels);
    const ports = spec.endpoints.map(
      ({ port }) => service.spec.ports.find(({ name }) => name === port)?.port,
    );
    const declared = containersOf(kubeDns(objects))
      .flatMap((container) => container.ports ?? [])
      .filter(({ name }) => name === 'metrics')
      .map(({ containerPort }) => containerPort);
    expect(ports.sort()).toEqual(declared.sort());
  });

  it('calls the job by the name that the alerts ask for', () => {
    const { spec } = findObject(objects, 'ServiceMonitor', 'kube-dns');
    const service = findObject(objects, 'Service', 'kube-dns-metrics');
    const rules = JSON.stringify(findObject(objects, 'PrometheusRule', 'kube-dns'));
    const jobs = new Set([...rules.matchAll(/job=\\"([^"\\]*)/g)].map((match) => match[1]));
    const nodes = findObject(objects, 'ServiceMonitor', 'node-local-dns').spec;
    const [cache] = objectsOf(NODE_OBJECTS, 'Service').filter(
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
    const { spec } = findObject(objects, 'ServiceMonitor', 'kube-dns');
    const clients = findObject(objects, 'Service', 'kube-dns');
    expect(clients.metadata.labels).not.toMatchObject(spec.selector.matchLabels);
  });

  it('brings the dashboard where Grafana looks for it', () => {
    const map = findObject(objects, 'ConfigMap', 'kube-dns-dashboard');
    expect(map.metadata.labels).toEqual({ grafana_dashboard: '1' });
    const { title } = JSON.parse(map.data?.['kube-dns.json'] ?? '') as { title: string };
    expect(title).toBe('kube-dns');
  });
});
