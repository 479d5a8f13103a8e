import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { createApiServer } from '@kube-dns/apiserver';
import { type Closable, endPrograms, ownedBy, ScriptedNameServer } from '@kube-dns/testkit';
import { startKubedns } from './support/kubedns-process.js';
import { SHOP } from './support/objects.js';

const opened = ownedBy(afterEach);
afterEach(endPrograms);

/** Longer than a request waits before another connection is tried. */
const SILENT_MS = 4_000;
/** Until the next small request, and a second; the rest is for a machine with other work. */
const FRESH_MS = 3_000;

/** A balancer in front of an API server: it accepts all connections, and forwards those only that come while it works. */
class HungBalancer implements Closable {
  works = false;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: number) {
    this.#server = createServer((socket) => {
      this.#hold(socket);
      if (!this.works) return;
      const onward = connect(target, '127.0.0.1');
      this.#hold(onward);
      socket.pipe(onward).pipe(socket);
    });
  }

  static async start(url: string): Promise<HungBalancer> {
    const balancer = new HungBalancer(Number(new URL(url).port));
    balancer.#server.listen(0, '127.0.0.1');
    await once(balancer.#server, 'listening');
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #hold(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => void this.#sockets.delete(socket));
  }
}

it('an API server that accepts connections and is silent at the start is found soon after it works', async () => {
  const api = opened(await createApiServer());
  await api.apply(SHOP);
  const upstream = opened(await ScriptedNameServer.start());
  const balancer = opened(await HungBalancer.start(api.url));
  const kubedns = startKubedns(api, upstream, [`--kube-master-url=${balancer.url}`]);
  await kubedns.port();
  await sleep(SILENT_MS);
  // A connection for each list, and one at a time beside it.
  expect(balancer.connections).toBeLessThanOrEqual(12);
  balancer.works = true;
  const sinceMs = performance.now();
  await kubedns.ready();
  expect(performance.now() - sinceMs).toBeLessThanOrEqual(FRESH_MS);
  // None of the first connections was given up meanwhile.
  expect(kubedns.program.stderr).not.toMatch(/no answer within/);
  expect((await kubedns.ask('db-0.db.shop.svc.cluster.local', 'A')).answers).toHaveLength(1);
});
