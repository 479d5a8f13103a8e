import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { untilEqual } from '@kube-dns/testkit';
import { containersOf, type HttpProbe } from '@kube-dns/testkit/manifests';
import { DnsLoad } from '../support/dns-load.js';
import { NAME_SERVERS } from '../support/cluster-fixture.js';
import type { Podman } from '../support/podman.js';
import { PodmanPod } from '../support/podman-pod.js';
import { BASE_DEPLOYMENT } from '../support/base-deployment.js';

const CONTAINERS = ['kubedns', 'dnsmasq', 'sidecar'] as const;
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
      for (const { probe } of probes) await untilEqual('200', () => statusOf(probe));
    });

    afterAll(() => pod.close());

    const statusOf = ({ httpGet }: HttpProbe) => pod.network.status(httpGet.port, httpGet.path);
    const dig = (...words: string[]) => pod.network.dig(...words);

    it.each(probes)('passes the $kind probe of $name', async ({ probe }) => {
      await untilEqual('200', () => statusOf(probe));
    });

    it('answers for the cluster through both DNS containers, over UDP and TCP', async () => {
      for (const port of ['53', '10053']) {
        for (const protocol of ['+notcp', '+tcp'])
          await untilEqual('10.96.20.10', () => dig('-p', port, protocol, WEB));
      }
      await untilEqual(`${WEB}.`, () => dig('-x', '10.96.20.10'));
    });

    it('asks the servers of the mounted ConfigMap for other names', async () => {
      await untilEqual(NAME_SERVERS.upstream.address, () => dig('www.example.com'));
      await untilEqual(NAME_SERVERS.acme.address, () => dig('www.acme.test'));
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
      await untilEqual(true, counted(/^kubedns_dnsmasq_misses [1-9]/m));
      await untilEqual(true, counted(/^kubedns_probe_kubedns_latency_ms_count [1-9]/m));
      const kubedns = await pod.network.get(10055, '/metrics');
      expect(kubedns).toMatch(/^skydns_skydns_dns_request_count_total\{system="auth"\} [1-9]/m);
      expect(kubedns).toMatch(/^kubedns_ready 1$/m);
    });

    it('moves a stub domain when the ConfigMap is swapped, without losing a query', async () => {
      // Moved there and back, under a load of twice the time, until it lasts longer than the move.
      const { acme, newAcme } = NAME_SERVERS;
      for (let seconds = 2, to: typeof acme | typeof newAcme = newAcme; ; seconds *= 2) {
        const load = new DnsLoad(pod.network, 53, NAMES, seconds);
        await load.hasBegun();
        await pod.cluster.configure({ 'acme.test': [to.server] });
        await untilEqual(to.address, () => dig('www.acme.test'));
        await untilEqual(to.address, () => dig('-p', '10053', 'www.acme.test'));
        const isMeanwhile = !load.hasEnded;
        const { sent, ...others } = await load.result();
        expect(others).toEqual({ completed: sent, lost: 0, rcodes: { NOERROR: sent } });
        if (isMeanwhile) return;
        to = to === acme ? newAcme : acme;
      }
    });

    it.each(CONTAINERS)('has %s back when its process is killed', async (name) => {
      const pid = pod.pid(name);
      process.kill(pid, 'SIGKILL');
      const restarts = () => Promise.resolve(pod.inspect(name, 'RestartCount'));
      await untilEqual('1', restarts);
      for (const { probe } of probes) await untilEqual('200', () => statusOf(probe));
      for (const port of ['53', '10053']) {
        await untilEqual('10.96.20.10', () => dig('-p', port, WEB));
      }
      expect(pod.pid(name)).not.toBe(pid);
    });

    // The last, as it ends the pod. Kubelet sends the signal after preStop, when clients have other pods.
    it('goes on answering while it drains, and every container ends well', async () => {
      const load = new DnsLoad(pod.network, 10053, [WEB], 2);
      await load.hasBegun();
      const stopping = pod.stop();
      await untilEqual('503', () => pod.network.status(8081, '/readiness'));
      expect(await dig('-p', '10053', '+tcp', WEB)).toBe('10.96.20.10');
      const { sent, ...others } = await load.result();
      expect(others).toEqual({ completed: sent, lost: 0, rcodes: { NOERROR: sent } });
      await stopping;
      for (const name of CONTAINERS)
        expect([name, pod.inspect(name, 'State.ExitCode')]).toEqual([name, '0']);
    });
  });
}
