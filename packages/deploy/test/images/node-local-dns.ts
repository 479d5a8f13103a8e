import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { needsPrograms, monotonicMs, unless, until } from '@kube-dns/testkit';
import { MANIFESTS, readObjects, render } from '@kube-dns/testkit/manifests';
import type { Podman } from '../support/podman.js';
import { KUBE_DNS, LOCAL_DNS, NODE, POD, PodmanNode } from '../support/podman-node.js';

const ADDON = fileURLToPath(new URL('../fixtures/nodelocaldns.yaml', import.meta.url));
const START_MS = 60_000;
/** For so long the pods of a node wait after a kill, and so often one is tried. */
const GONE_MS = 2_000;
const KILLS = 3;
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
      }, START_MS);
      afterAll(() => node.close(), START_MS);

      const pidOf = (container: string) => podmanOf().pid(node.nameOf(container));
      const childOf = (pid: string) =>
        readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0] ?? '';

      /** Sends SIGKILL and returns how long the pod waits for an answer of the cluster. */
      async function killed(pid: string): Promise<number> {
        process.kill(Number(pid), 'SIGKILL');
        const killedMs = monotonicMs();
        await until('the cluster', async () => (await node.answeredBy()) === 'the cluster');
        return monotonicMs() - killedMs;
      }

      /** The same again with a new container, where the machine may have stood still: the shortest time counts. */
      async function shortestKilled(pidOfIt: () => string, play: () => Promise<void>) {
        let shortestMs = await killed(pidOfIt());
        for (let tries = 1; tries < KILLS && shortestMs >= GONE_MS; tries++) {
          node.removePod();
          await play();
          shortestMs = Math.min(shortestMs, await killed(pidOfIt()));
        }
        return shortestMs;
      }

      function answersThePod(): void {
        it('answers the pods of its node at the address of kube-dns, over UDP and TCP', async () => {
          const by = [await node.answeredBy(), await node.answeredBy('+tcp')];
          expect(by).toEqual(['node-cache', 'node-cache']);
        });

        it('leaves no entry of a pod’s DNS in connection tracking', async () => {
          // Those of the questions from before it was there.
          await node.run('conntrack', '--flush');
          expect(await node.answeredBy()).toBe('node-cache');
          const entries = (await node.run('conntrack', '--dump')).split('\n');
          expect(entries.filter((line) => line.includes(`src=${POD} `))).toEqual([]);
        });
      }

      const get = (url: string) => node.run('curl', '-sf', '--max-time', '5', url);
      const SET_UP = 'coredns_nodecache_setup_errors_total';

      describe('by the addon of Kubernetes, unchanged but for its image', () => {
        const play = () => node.play(addon(), image);
        beforeAll(play, START_MS);
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

        it(
          'killed, leaves the pods to the DNS of the cluster within two seconds',
          async () => {
            const pid = () => childOf(pidOf('node-cache'));
            expect(await shortestKilled(pid, play)).toBeLessThan(GONE_MS);
          },
          KILLS * START_MS,
        );
      });

      describe('by manifests/overlays/node-cache-nftables', () => {
        const folder = join(MANIFESTS, 'overlays', 'node-cache-nftables');
        const play = () => node.play(render(folder), image);
        beforeAll(play, START_MS);
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

        it(
          'killed with all of its container, leaves the pods to the DNS of the cluster',
          async () => {
            const pid = () => pidOf('node-cache');
            expect(await shortestKilled(pid, play)).toBeLessThan(GONE_MS);
          },
          KILLS * START_MS,
        );
      });
    },
  );
}
