import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { untilEqual } from '@kube-dns/testkit';
import { containersOf, type HttpProbe } from '@kube-dns/testkit/manifests';
import { DnsLoad } from '../support/dns-load.js';
import { NAME_SERVERS } from '../support/cluster-fixture.js';
import type { Podman } from '../support/podman.js';
import { PodmanPod } from '../support/podman-pod.js';
import { BASE_DEPLOYMENT } from '../support/base-deployment.js';

const CONTAINERS = ['kubedns', 'dnsmasq', 'sidecar'] as const;
/** The sidecar asks every 5 s. */
const READY_MS = 30_000;
const WEB = 'web.shop.svc.cluster.local';
const NAMES = [WEB, 'www.acme.test', 'kubernetes.default.svc.cluster.local', 'www.example.com'];

/** The pod of manifests/kube-dns as it would be in a cluster, and what happens to it there. */
export function describePodUnderPodman(podmanOf: () => Podman): void {
  describe('the pod of manifests/kube-dns under podman', () => {
    const deployment = BASE_DEPLOYMENT;
    const probes = containersOf(deployment).flatMap(({ name, livenessProbe, readinessProbe }) => [
      ...(livenessProbe ? [{ name, kind: 'liveness', probe: livenessProbe }] : []),
      ...(readinessProbe ? [{ name, kind: 'readiness', probe: readinessProbe }] : []),
    ]);
    let pod: PodmanPod;

    beforeAll(async () => {
      pod = new PodmanPod(podmanOf(), deployment);
      await pod.start();
      for (const { probe } of probes)
        await untilEqual('200', () => statusOf(probe), { limitMs: READY_MS });
    }, 4 * READY_MS);

    afterAll(() => pod.close(), READY_MS);

    const statusOf = ({ httpGet }: HttpProbe) => pod.network.status(httpGet.port, httpGet.path);
    const dig = (...words: string[]) => pod.network.dig(...words);

    it.each(probes)('passes the $kind probe of $name', async ({ probe }) => {
      expect(await statusOf(probe)).toBe('200');
    });

    it('answers for the cluster through both DNS containers, over UDP and TCP', async () => {
      for (const port of ['53', '10053']) {
        expect(await dig('-p', port, '+notcp', WEB)).toBe('10.96.20.10');
        expect(await dig('-p', port, '+tcp', WEB)).toBe('10.96.20.10');
      }
      expect(await dig('-x', '10.96.20.10')).toBe(`${WEB}.`);
    });

    it('asks the servers of the mounted ConfigMap for other names', async () => {
      expect(await dig('www.example.com')).toBe(NAME_SERVERS.upstream.address);
      expect(await dig('www.acme.test')).toBe(NAME_SERVERS.acme.address);
    });

    it('reaches the API with the token and the certificate of its volume', () => {
      // The proxy in front of the API accepts no other token; the answers above needed its data.
      expect(pod.log('kubedns')).not.toMatch(/^[EF]\d{4}/m);
    });

    it.each(['kubedns', 'dnsmasq'])('moves the datagrams of %s in batches', (name) => {
      expect(pod.log(name)).toMatch(/\] UDP engine: batch$/m);
    });

    it('counts what it did in its metrics', async () => {
      // Every 5 s the sidecar asks dnsmasq for its counters.
      const counted = (pattern: RegExp) => async () =>
        pattern.test(await pod.network.get(10054, '/metrics'));
      await untilEqual(true, counted(/^kubedns_dnsmasq_misses [1-9]/m), { limitMs: READY_MS });
      await untilEqual(true, counted(/^kubedns_probe_kubedns_latency_ms_count [1-9]/m), {
        limitMs: READY_MS,
      });
      const kubedns = await pod.network.get(10055, '/metrics');
      expect(kubedns).toMatch(/^skydns_skydns_dns_request_count_total\{system="auth"\} [1-9]/m);
      expect(kubedns).toMatch(/^kubedns_ready 1$/m);
    }, 60_000);

    it('moves a stub domain when the ConfigMap is swapped, without losing a query', async () => {
      // Moved there and back, until the load lasts longer than a move: on a busy machine that takes its time.
      let isMeanwhile = false;
      for (const { server, address } of [NAME_SERVERS.newAcme, NAME_SERVERS.acme]) {
        const load = new DnsLoad(pod.network, 53, NAMES, 6);
        await load.hasBegun();
        await pod.cluster.configure({ 'acme.test': [server] });
        await untilEqual(address, () => dig('www.acme.test'), { limitMs: READY_MS });
        await untilEqual(address, () => dig('-p', '10053', 'www.acme.test'), { limitMs: READY_MS });
        isMeanwhile = !load.hasEnded;
        const { sent, ...others } = await load.result();
        expect(others).toEqual({ completed: sent, lost: 0, rcodes: { NOERROR: sent } });
        if (isMeanwhile) break;
      }
      expect(isMeanwhile).toBe(true);
    }, 180_000);

    it.each(CONTAINERS)(
      'has %s back when its process is killed',
      async (name) => {
        const pid = pod.pid(name);
        process.kill(pid, 'SIGKILL');
        const restarts = () => Promise.resolve(pod.inspect(name, 'RestartCount'));
        await untilEqual('1', restarts, { limitMs: READY_MS });
        for (const { probe } of probes)
          await untilEqual('200', () => statusOf(probe), { limitMs: READY_MS });
        for (const port of ['53', '10053']) {
          await untilEqual('10.96.20.10', () => dig('-p', port, WEB), { limitMs: READY_MS });
        }
        expect(pod.pid(name)).not.toBe(pid);
      },
      60_000,
    );

    // The last, as it ends the pod. Kubelet sends the signal after preStop, when clients have other pods.
    it('goes on answering while it drains, and every container ends well', async () => {
      const load = new DnsLoad(pod.network, 10053, [WEB], 3);
      await load.hasBegun();
      const stopping = pod.stop();
      await untilEqual('503', () => pod.network.status(8081, '/readiness'));
      expect(await dig('-p', '10053', '+tcp', WEB)).toBe('10.96.20.10');
      const { sent, ...others } = await load.result();
      expect(others).toEqual({ completed: sent, lost: 0, rcodes: { NOERROR: sent } });
      await stopping;
      for (const name of CONTAINERS)
        expect([name, pod.inspect(name, 'State.ExitCode')]).toEqual([name, '0']);
    }, 60_000);
  });
}
