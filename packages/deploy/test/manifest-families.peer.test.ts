import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { unless, untilEqual } from '@kube-dns/testkit';
import {
  NetworkedPod,
  networksSkipReason,
  type PodFamily,
  PROBES,
} from './support/networked-pod.js';

const IPV6 = ['fd00:99::1', 'fd00:99::2'] as const;
const IPV4 = ['10.99.0.1', '10.99.0.2'] as const;

const FAMILIES: readonly (PodFamily & { readonly what: string })[] = [
  { what: 'with IPv6 addresses only', addresses: IPV6 },
  { what: 'without IPv4, not even on loopback', addresses: IPV6, hasNoIpv4: true },
  { what: 'with IPv6 turned off by sysctl', addresses: IPV4, ipv6Off: 'sysctl' },
  { what: 'of a kernel without IPv6', addresses: IPV4, ipv6Off: 'kernel' },
];

const WEB = { A: '10.96.7.7', AAAA: 'fd00:10:96::7' } as const;
const OBJECTS = [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      ipFamilyPolicy: 'RequireDualStack',
      ipFamilies: ['IPv4', 'IPv6'],
      clusterIP: WEB.A,
      clusterIPs: [WEB.A, WEB.AAAA],
      ports: [{ name: 'http', port: 80 }],
    },
  },
];

const withNetworks = unless(networksSkipReason(), describe);

withNetworks('the pod of manifests/kube-dns in a network', () => {
  const pods = new Map<string, NetworkedPod>();
  const podOf = (what: string) => pods.get(what)!;

  beforeAll(async () => {
    for (const family of FAMILIES) pods.set(family.what, new NetworkedPod(family));
    await Promise.all([...pods.values()].map((pod) => pod.start(OBJECTS)));
  });
  afterAll(async () => {
    await Promise.all([...pods.values()].map((pod) => pod.close()));
  });

  describe.each(FAMILIES)('$what', ({ what, addresses }) => {
    const type = addresses === IPV6 ? 'AAAA' : 'A';

    it.each(PROBES)('passes the probe $path of port $port', async (probe) => {
      await untilEqual('200', () => podOf(what).status(probe));
    });

    it.each([53, 10_053])('answers port %i over UDP and TCP, and reverse names', async (port) => {
      for (const protocol of ['+notcp', '+tcp']) {
        const words = [protocol, 'web.default.svc.cluster.local', type];
        await untilEqual(WEB[type], () => podOf(what).dig(port, ...words));
        const reverse = () => podOf(what).dig(port, protocol, '-x', WEB[type]);
        await untilEqual('web.default.svc.cluster.local.', reverse);
      }
    });

    it('has metrics of all programs', async () => {
      expect(await podOf(what).page(10_054, '/metrics')).toMatch(/^kubedns_dnsmasq_hits \d+$/m);
      expect(await podOf(what).page(10_055, '/metrics')).toMatch(/^kubedns_ready 1$/m);
    });

    it.each(['kubedns', 'dnsmasq'])('has no warning in the log of %s', (container) => {
      expect(podOf(what).log(container)).toMatch(/^I\d{4} .* serving /m);
      // dnsmasq may be ready before kubedns is.
      expect(podOf(what).log(container)).not.toMatch(/^[WEF]\d{4} (?!.* does not reply)/m);
    });
  });
});
