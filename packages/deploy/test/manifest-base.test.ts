import { describe, expect, it } from '@jest/globals';
import { createApiServer } from '@kube-dns/apiserver';
import { parsePod } from '@kube-dns/cli';
import {
  containersOf,
  type Deployment,
  findObject,
  STOCK_OBJECTS,
} from '@kube-dns/testkit/manifests';
import { BASE_DEPLOYMENT, BASE_OBJECTS } from './support/base-deployment.js';

/** The original's dnsmasq does not know the first, nor its nanny the second. */
const OWN_ARGUMENTS = ['--negcache=push', '-metrics-addr=127.0.0.1:10056'];
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
    expect(own).toEqual(stock);
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

  it('has the same containers, with the same arguments when the domain is put in, and two more', () => {
    const linesOf = (deployment: Deployment) =>
      parsePod(JSON.stringify(deployment), 'deployment.json').containers.map(({ name, args }) => ({
        name,
        args: args.filter((arg) => !OWN_ARGUMENTS.includes(arg)),
      }));
    expect(linesOf(BASE_DEPLOYMENT)).toEqual(linesOf(stockDeployment));
    const [dnsmasq] = containersOf(BASE_DEPLOYMENT).filter(({ name }) => name === 'dnsmasq');
    expect(dnsmasq?.args).toEqual(expect.arrayContaining(OWN_ARGUMENTS));
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
