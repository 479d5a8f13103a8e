import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { needsPrograms, unless, untilEqual } from '@kube-dns/testkit';
import { MANIFESTS, readObjects, render } from '@kube-dns/testkit/manifests';
import type { Podman } from '../support/podman.js';
import { KUBE_DNS, LOCAL_DNS, NODE, POD, PodmanNode } from '../support/podman-node.js';

const ADDON = fileURLToPath(new URL('../fixtures/nodelocaldns.yaml', import.meta.url));
const ADDRESSES = [LOCAL_DNS, KUBE_DNS];
/** NET_BIND_SERVICE and NET_ADMIN, as bits. */
const RIGHTS = '1400';

/** The addon as its installer leaves it. */
const addon = () =>
  readObjects(
    readFileSync(ADDON, 'utf8')
      .replaceAll('__PILLAR__LOCAL__DNS__', LOCAL_DNS)
      .replaceAll('__PILLAR__DNS__SERVER__', KUBE_DNS)
      .replaceAll('__PILLAR__DNS__DOMAIN__', 'cluster.local'),
  );

/** The addon of Kubernetes unchanged but for its image, and our manifest, on a node with a pod. */
export function describeNodeUnderPodman(podmanOf: () => Podman, image: string): void {
  unless(needsPrograms('iptables', 'nft', 'conntrack', 'kubectl'), describe)(
    'node-cache on a node',
    () => {
      let node: PodmanNode;

      beforeAll(async () => {
        node = new PodmanNode(podmanOf());
        await node.start();
      });
      afterAll(() => node.close());

      const pidOf = (container: string) => podmanOf().pid(node.nameOf(container));
      const childOf = (pid: string) =>
        readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0] ?? '';

      /** Sends SIGKILL, and waits until the cluster answers the pod. */
      async function killed(pid: string): Promise<void> {
        process.kill(Number(pid), 'SIGKILL');
        await untilEqual('the cluster', () => node.answeredBy());
      }

      function answersThePod(): void {
        it('answers the pods of its node at the address of kube-dns, over UDP and TCP', async () => {
          await untilEqual('node-cache', () => node.answeredBy());
          await untilEqual('node-cache', () => node.answeredBy('+tcp'));
        });

        it('leaves no entry of a pod’s DNS in connection tracking', async () => {
          // Those of the questions from before it was there.
          await node.run('conntrack', '--flush');
          await untilEqual('node-cache', () => node.answeredBy());
          const entries = (await node.run('conntrack', '--dump')).split('\n');
          expect(entries.filter((line) => line.includes(`src=${POD} `))).toEqual([]);
        });
      }

      const get = (url: string) => node.run('curl', '-sf', '--max-time', '5', url);
      const SET_UP = 'coredns_nodecache_setup_errors_total';

      describe('by the addon of Kubernetes, unchanged but for its image', () => {
        beforeAll(() => node.play(addon(), image));
        afterAll(() => node.removePod());

        answersThePod();

        it('has the rules of the original for both addresses, and its interface', async () => {
          const rules = (await node.run('iptables-save')).split('\n');
          for (const address of ADDRESSES) {
            const own = rules.filter((line) => line.includes(` ${address}/32 `));
            const of = (text: string) => own.filter((line) => line.includes(text)).length;
            const comments = [of('NodeLocal DNS Cache: skip'), of('NodeLocal DNS Cache: allow')];
            expect([address, ...comments]).toEqual([address, 8, 4]);
          }
          expect(await node.run('nft', 'list', 'ruleset')).not.toContain('node-local-dns');
          const shown = await node.run('ip', 'address', 'show', 'dev', 'nodelocaldns');
          for (const address of ADDRESSES) expect(shown).toContain(address);
        });

        it('serves health and metrics where the original does', async () => {
          expect(await get(`${LOCAL_DNS}:8080/health`)).toBe('OK');
          for (const port of [9253, 9353])
            expect(await get(`127.0.0.1:${port}/metrics`)).toContain(SET_UP);
        });

        it('killed, leaves the pods to the DNS of the cluster', async () => {
          await killed(childOf(pidOf('node-cache')));
        });
      });

      describe('by manifests/overlays/node-cache-nftables', () => {
        const folder = join(MANIFESTS, 'overlays', 'node-cache-nftables');
        beforeAll(() => node.play(render(folder), image));
        afterAll(() => node.removePod());

        answersThePod();

        it('has one table of nftables, and no rule of iptables', async () => {
          const table = await node.run('nft', 'list', 'table', 'inet', 'node-local-dns');
          for (const address of ADDRESSES) expect(table).toContain(address);
          expect(await node.run('iptables-save')).not.toContain('NodeLocal');
        });

        it('has the rights of the manifest, and serves metrics on the address of the node alone', async () => {
          const status = readFileSync(`/proc/${childOf(pidOf('node-cache'))}/status`, 'utf8');
          expect(/^CapEff:\t0*(\w+)$/m.exec(status)?.[1]).toBe(RIGHTS);
          expect(await get(`${LOCAL_DNS}:8181/ready`)).toBe('OK');
          for (const port of [9253, 9353]) {
            expect(await get(`${NODE}:${port}/metrics`)).toContain(SET_UP);
            await expect(get(`127.0.0.1:${port}/metrics`)).rejects.toThrow();
          }
        });

        it('killed with all of its container, leaves the pods to the DNS of the cluster', async () => {
          await killed(pidOf('node-cache'));
        });
      });
    },
  );
}
