import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  missing,
  monotonicMs,
  NetworkNamespace,
  Owned,
  RunningProgram,
  runProgram,
  unless,
  until,
} from '@kube-dns/testkit';
import { containersOf, findObject, readObjects } from '@kube-dns/testkit/manifests';
import { ROOT } from '../support/dockerfile.js';
import type { Podman } from '../support/podman.js';

const ADDON = fileURLToPath(new URL('../fixtures/nodelocaldns.yaml', import.meta.url));
const READY_MS = 30_000;
const LOCAL_DNS = '169.254.20.10';
const KUBE_DNS = '10.96.0.10';
const UPSTREAM = '10.96.0.99';
const CLUSTER_DNS = '10.244.9.53';
/** Longer than node-cache gives: who has answered shows in the TTL. */
const CLUSTER_TTL = 1000;
const CONTAINER = 'node-local-dns-node-cache';
const NAME = 'web.shop.svc.cluster.local';

/** What kube-proxy does in its iptables mode: both services lead to the cluster's DNS. */
const KUBE_PROXY = `
  iptables -t mangle -N KUBE-PROXY-CANARY
  ip link set lo up; ip address add ${CLUSTER_DNS}/32 dev lo; ip route add 10.96.0.0/16 dev lo
  for service in ${KUBE_DNS} ${UPSTREAM}; do for protocol in udp tcp; do for chain in PREROUTING OUTPUT; do
    iptables -t nat -A $chain -p $protocol -d $service --dport 53 -j DNAT --to-destination ${CLUSTER_DNS}
  done; done; done`;

/** The addon of Kubernetes unchanged but for its image: on a node with a pod, each a network of its own. */
export function describeAddonUnderPodman(podmanOf: () => Podman, image: string): void {
  unless(missing('iptables', 'nft', 'conntrack'), describe)(
    'the addon of NodeLocal DNSCache',
    () => {
      const owned = new Owned();
      let node: NetworkNamespace;
      let pod: NetworkNamespace;

      beforeAll(async () => {
        node = owned.add(await NetworkNamespace.create());
        pod = owned.add(await NetworkNamespace.create());
        await node.run('sh', '-ec', KUBE_PROXY);
        await node.run(
          'ip',
          ...`link add pod type veth peer name eth0 netns ${pod.pid}`.split(' '),
        );
        await node.run('sh', '-ec', 'ip address add 10.244.0.1/24 dev pod; ip link set pod up');
        await pod.run('sh', '-ec', 'ip link set lo up; ip address add 10.244.0.2/24 dev eth0');
        await pod.run('sh', '-ec', 'ip link set eth0 up; ip route add default via 10.244.0.1');
        const dnsmasq = [process.execPath, `${ROOT}packages/dnsmasq/dist/dnsmasq.cjs`, '--'];
        const place = ['--port=53', `--listen-address=${CLUSTER_DNS}`, '--bind-interfaces'];
        const answers = ['--no-resolv', '--no-hosts', '--address=/cluster.local/192.0.2.1'];
        const words = [...dnsmasq, ...place, ...answers, `--local-ttl=${CLUSTER_TTL}`];
        const [nsenter = '', ...args] = [...node.entrance, ...words];
        const dns = owned.add(new RunningProgram('cluster DNS', nsenter, args));
        await dns.waitForLine(/serving on port 53/);
        play();
        const log = () => podmanOf().outputOf('logs', CONTAINER);
        const isThere = async () => (await answeredBy()) === 'node-cache';
        await until(() => `node-cache:\n${log()}`, isThere, { limitMs: READY_MS });
      }, 2 * READY_MS);

      afterAll(async () => {
        podmanOf().run('pod', 'rm', '--all', '--force', '--time', '0');
        await owned.close();
      }, READY_MS);

      /** Makes of the DaemonSet the pod that kubelet runs; what podman does not do is done here. */
      function play(): void {
        const podman = podmanOf();
        const text = readFileSync(ADDON, 'utf8')
          .replaceAll('__PILLAR__LOCAL__DNS__', LOCAL_DNS)
          .replaceAll('__PILLAR__DNS__SERVER__', KUBE_DNS)
          .replaceAll('__PILLAR__DNS__DOMAIN__', 'cluster.local');
        const objects = readObjects(text);
        const set = findObject(objects, 'DaemonSet', 'node-local-dns');
        const corefile = findObject(objects, 'ConfigMap', 'node-local-dns').data?.Corefile ?? '';
        const template = join(podman.folder, 'corefile');
        mkdirSync(template);
        writeFileSync(join(template, 'Corefile.base'), corefile);
        writeFileSync(join(podman.folder, 'xtables.lock'), '');
        const paths: Readonly<Record<string, string>> = {
          'config-volume': template,
          'xtables-lock': join(podman.folder, 'xtables.lock'),
        };
        const containers = containersOf(set).map((container) => ({
          ...container,
          image,
          ports: undefined,
          livenessProbe: undefined,
          env: [{ name: 'KUBE_DNS_UPSTREAM_SERVICE_HOST', value: UPSTREAM }],
          volumeMounts: container.volumeMounts?.filter(({ name }) => name in paths),
        }));
        const { spec, metadata } = set.spec.template;
        const volumes = Object.entries(paths).map(([name, path]) => ({ name, hostPath: { path } }));
        const played = {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { ...metadata, name: 'node-local-dns' },
          // Nothing starts it again, so that the cluster's DNS is what answers afterwards.
          spec: { ...spec, containers, volumes, restartPolicy: 'Never' },
        };
        const file = join(podman.folder, 'node-local-dns.json');
        writeFileSync(file, JSON.stringify(played));
        const [nsenter = '', ...words] = node.entrance;
        podman.command(nsenter, ...words, 'podman', 'kube', 'play', '--network=host', file);
      }

      /** Who answers what the pod asks of kube-dns: '' is no answer within a second. */
      async function answeredBy(...how: readonly string[]): Promise<string> {
        const dig = [
          'dig',
          `@${KUBE_DNS}`,
          '+time=1',
          '+tries=1',
          '+noall',
          '+answer',
          ...how,
          NAME,
        ];
        const [nsenter = '', ...words] = [...pod.entrance, ...dig];
        const { stdout } = await runProgram(nsenter, words);
        const ttl = /^\S+\s+(\d+)\s+IN\s+A\s+192\.0\.2\.1$/m.exec(stdout)?.[1];
        if (ttl === undefined) return '';
        return Number(ttl) === CLUSTER_TTL ? 'the cluster' : 'node-cache';
      }

      it('answers the pods of its node at the address of kube-dns, over UDP and TCP', async () => {
        expect([await answeredBy(), await answeredBy('+tcp')]).toEqual([
          'node-cache',
          'node-cache',
        ]);
      });

      it('has the rules of the original for both addresses, and its interface', async () => {
        const rules = (await node.run('iptables-save')).split('\n');
        for (const address of [LOCAL_DNS, KUBE_DNS]) {
          const own = rules.filter((line) => line.includes(` ${address}/32 `));
          const of = (text: string) => own.filter((line) => line.includes(text)).length;
          const comments = [of('NodeLocal DNS Cache: skip'), of('NodeLocal DNS Cache: allow')];
          expect([address, ...comments]).toEqual([address, 8, 4]);
        }
        expect(await node.run('nft', 'list', 'ruleset')).not.toContain('node-local-dns');
        expect(await node.run('ip', 'address', 'show', 'dev', 'nodelocaldns')).toContain(KUBE_DNS);
      });

      it('leaves no entry of a pod’s DNS in connection tracking', async () => {
        // Those of the questions from before it was there.
        await node.run('conntrack', '--flush');
        expect(await answeredBy()).toBe('node-cache');
        const entries = await node.run('conntrack', '--dump');
        expect(entries.split('\n').filter((line) => line.includes('src=10.244.0.2 '))).toEqual([]);
      });

      it('serves health and metrics where the original does', async () => {
        for (const url of [
          `${LOCAL_DNS}:8080/health`,
          '127.0.0.1:9253/metrics',
          '127.0.0.1:9353/metrics',
        ])
          expect([url, await node.run('curl', '-sf', '--max-time', '5', url)]).toEqual([
            url,
            expect.stringMatching(/^OK|coredns_nodecache_setup_errors_total/),
          ]);
      });

      it('killed, leaves the pods to the DNS of the cluster within two seconds', async () => {
        const guard = podmanOf().pid(CONTAINER);
        const children = readFileSync(`/proc/${guard}/task/${guard}/children`, 'utf8').trim();
        process.kill(Number(children.split(' ')[0]), 'SIGKILL');
        const killedMs = monotonicMs();
        await until('the cluster', async () => (await answeredBy()) === 'the cluster');
        expect(monotonicMs() - killedMs).toBeLessThan(2_000);
      });
    },
  );
}
