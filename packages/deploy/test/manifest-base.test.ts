import { dirname } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { createApiServer } from '@kube-dns/apiserver';
import { parsePod } from '@kube-dns/cli';
import { memoryBytes } from '@kube-dns/testkit';
import {
  containersOf,
  type Deployment,
  findObject,
  STOCK_OBJECTS,
} from '@kube-dns/testkit/manifests';
import { BASE_DEPLOYMENT, BASE_OBJECTS } from './support/base-deployment.js';

/** The original's dnsmasq does not know the first, nor its nanny the second, nor its kubedns the others. */
const OWN_ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  dnsmasq: ['--negcache=push', '-metrics-addr=127.0.0.1:10056'],
  kubedns: [
    '--snapshot-file=/var/lib/kube-dns/snapshot',
    '--snapshot-replicas=kube-dns-replicas.kube-system.svc.cluster.local',
    '--snapshot-token=/var/run/secrets/kube-dns/token',
  ],
};
/** Of packages/daemon/src/snapshot.ts. */
const MAX_SNAPSHOT_BYTES = 64 * 2 ** 20;
const stockDeployment = findObject(STOCK_OBJECTS, 'Deployment', 'kube-dns');

describe('the base compared with the manifest of the original', () => {
  it('has every object of it under the same name, with the same labels', () => {
    for (const { kind, metadata } of STOCK_OBJECTS) {
      const own = BASE_OBJECTS.find(
        (each) => each.kind === kind && each.metadata.name === metadata.name,
      );
      expect([kind, own?.metadata]).toEqual([kind, metadata]);
    }
  });

  it('has the same service', () => {
    const [own, stock] = [BASE_OBJECTS, STOCK_OBJECTS].map((objects) =>
      findObject(objects, 'Service', 'kube-dns'),
    );
    // The alias of PreferSameZone: API servers of 1.31 to 1.33 refuse that, and with it the service.
    expect(own).toEqual({ ...stock, spec: { ...stock!.spec, trafficDistribution: 'PreferClose' } });
  });

  it('has the same selector, pod labels and annotations', () => {
    const fixed = ({ spec }: Deployment) => [spec.selector, spec.template.metadata];
    expect(fixed(BASE_DEPLOYMENT)).toEqual(fixed(stockDeployment));
  });

  it('has the same pod around the containers, and more', () => {
    const [own, stock] = [BASE_DEPLOYMENT, stockDeployment].map(({ spec }) => spec.template.spec);
    const { tolerations = [], volumes = [] } = stock ?? {};
    const fixed = Object.entries(stock ?? {}).filter(
      ([field]) => !['containers', 'tolerations', 'volumes'].includes(field),
    );
    expect(fixed.length).toBeGreaterThanOrEqual(6);
    expect(own).toMatchObject(Object.fromEntries(fixed));
    expect(own?.tolerations).toEqual(expect.arrayContaining([...tolerations]));
    expect(own?.volumes).toEqual(expect.arrayContaining([...volumes]));
  });

  it('has the same containers, with the same arguments when the domain is put in, and our own', () => {
    const linesOf = (deployment: Deployment) =>
      parsePod(JSON.stringify(deployment), 'deployment.json').containers;
    const own = linesOf(BASE_DEPLOYMENT);
    const withoutOwn = own.map(({ name, args }) => ({
      name,
      args: args.filter((arg) => OWN_ARGUMENTS[name]?.includes(arg) !== true),
    }));
    expect(withoutOwn).toEqual(linesOf(stockDeployment).map(({ name, args }) => ({ name, args })));
    for (const { name, args } of own)
      expect(args).toEqual(expect.arrayContaining([...(OWN_ARGUMENTS[name] ?? [])]));
  });

  it.each(containersOf(stockDeployment))(
    'has the ports, probes, mounts and variables of $name',
    (stock) => {
      const own = containersOf(BASE_DEPLOYMENT).find(({ name }) => name === stock.name);
      const { name, ports, livenessProbe, readinessProbe, env = [], volumeMounts = [] } = stock;
      expect(own).toMatchObject({ name, ports, livenessProbe });
      if (readinessProbe !== undefined) expect(own?.readinessProbe).toEqual(readinessProbe);
      expect(own?.env).toEqual(expect.arrayContaining([...env]));
      expect(own?.volumeMounts ?? []).toEqual(expect.arrayContaining([...volumeMounts]));
    },
  );
});

describe('the service of manifests/kube-dns', () => {
  it.each([
    ['SingleStack', '10.96.7.7', ['IPv4']],
    ['SingleStack', 'fd00:10:96::7', ['IPv6']],
    ['PreferDualStack', 'fd00:10:96::7', ['IPv6', 'IPv4']],
  ])('with ipFamilyPolicy %s and the address %s has %j', async (policy, clusterIP, ipFamilies) => {
    const api = await createApiServer();
    try {
      const { spec } = findObject(BASE_OBJECTS, 'Service', 'kube-dns');
      const families = policy === 'SingleStack' ? {} : { ipFamilyPolicy: policy };
      const metadata = { name: 'kube-dns', namespace: 'kube-system' };
      const service = { apiVersion: 'v1', kind: 'Service', metadata };
      await api.apply({ ...service, spec: { ...spec, clusterIP, ...families } });
      expect(api.get('Service', 'kube-system', 'kube-dns')?.spec).toMatchObject({
        clusterIP,
        ipFamilies,
        ipFamilyPolicy: policy,
      });
    } finally {
      await api.close();
    }
  });
});

describe('the snapshot of kubedns', () => {
  const { volumes = [] } = BASE_DEPLOYMENT.spec.template.spec;
  const kubedns = containersOf(BASE_DEPLOYMENT).find(({ name }) => name === 'kubedns');
  const { args = [] } =
    parsePod(JSON.stringify(BASE_DEPLOYMENT), 'deployment.json').containers.find(
      ({ name }) => name === 'kubedns',
    ) ?? {};
  const valueOf = (flag: string) =>
    args.find((arg) => arg.startsWith(`--${flag}=`))?.slice(flag.length + 3) ?? '';
  const volumeAt = (file: string) => {
    const mount = kubedns?.volumeMounts?.find(({ mountPath }) => mountPath === dirname(file));
    return volumes.find(({ name }) => name === mount?.name);
  };

  it('has a volume with room for the largest file and its successor', () => {
    const limit = memoryBytes(volumeAt(valueOf('snapshot-file'))?.emptyDir?.sizeLimit);
    expect(limit).toBeGreaterThan(2 * MAX_SNAPSHOT_BYTES);
  });

  it('is asked of the pods that are ready, at the port of /readiness', () => {
    const service = findObject(BASE_OBJECTS, 'Service', 'kube-dns-replicas');
    expect(valueOf('snapshot-replicas')).toBe(
      `${service.metadata.name}.${service.metadata.namespace}.svc.cluster.local`,
    );
    expect(service.spec).toMatchObject({
      clusterIP: 'None',
      publishNotReadyAddresses: false,
      selector: BASE_DEPLOYMENT.spec.template.metadata.labels,
      ports: [{ port: kubedns?.readinessProbe?.httpGet.port }],
    });
  });

  it('is for those who have the token, which is there only where somebody has made it', () => {
    expect(volumeAt(valueOf('snapshot-token'))).toEqual({
      name: 'snapshot-token',
      secret: { secretName: 'kube-dns-snapshot', optional: true },
    });
    const holders = containersOf(BASE_DEPLOYMENT).filter(({ volumeMounts = [] }) =>
      volumeMounts.some(({ name }) => name === 'snapshot-token'),
    );
    expect(holders.map(({ name }) => name)).toEqual(['kubedns']);
  });
});
