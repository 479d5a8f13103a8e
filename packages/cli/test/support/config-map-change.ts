import {
  addressRecords,
  ask,
  LoopbackUpstream,
  type Question,
  ScriptedNameServer,
  untilEqual,
} from '@kube-dns/testkit';
import type { LocalPod } from './local-pod.js';
import { dataOf } from './record-data.js';

/** Of www.acme.test and www.corp.test, from the server of their stub domains. */
const STUB_ADDRESS = '192.0.2.7';
const STEP_LIMIT_MS = 2_000;

/** How a test changes the ConfigMap kube-dns. */
export interface ConfigMapMeans {
  readonly create: (data: object) => Promise<unknown>;
  readonly patch: (data: object) => Promise<unknown>;
  readonly remove: () => Promise<unknown>;
}

/** The name servers of a ConfigMap, on loopback, so that no query leaves the machine. */
export class ConfigMapServers {
  readonly #upstream: LoopbackUpstream;
  readonly #stub: ScriptedNameServer;

  private constructor(upstream: LoopbackUpstream, stub: ScriptedNameServer) {
    this.#upstream = upstream;
    this.#stub = stub;
  }

  static async start(): Promise<ConfigMapServers> {
    const answers = addressRecords(60, STUB_ADDRESS);
    return new ConfigMapServers(
      await LoopbackUpstream.start(),
      await ScriptedNameServer.start(() => ({ answers })),
    );
  }

  /**
   * Creates the ConfigMap, changes and deletes it, and waits for the answers of each. `whenCreated` is called with the
   * first content, which has an upstream server.
   */
  async change(
    { ports, run }: LocalPod,
    means: ConfigMapMeans,
    whenCreated: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<void> {
    const options = { limitMs: STEP_LIMIT_MS };
    const answers = async (question: Question | string) => {
      const message = await ask(ports.dns, question, options).catch(() => undefined);
      return message && dataOf(message).join();
    };
    /** The servers of dnsmasq, which are those of its configuration, without their numbers of queries and failures. */
    const servers = async () => {
      const texts = await answers({ name: 'servers.bind', type: 'TXT', class: 'CH' });
      return texts?.replaceAll(/ \d+ \d+(?=[, ]|$)/g, '');
    };
    const before = await servers();
    const upstreamNameservers = JSON.stringify([`127.0.0.1:${this.#upstream.port}`]);
    const stub = [`127.0.0.1:${this.#stub.port}`];
    await means.create({ upstreamNameservers, stubDomains: JSON.stringify({ 'acme.test': stub }) });
    await untilEqual(STUB_ADDRESS, () => answers('www.acme.test'));
    await untilEqual('192.0.2.1', () => answers('www.example.com'));
    await whenCreated();
    const moved = { 'acme.test': ['127.0.0.1:9'], 'corp.test': stub };
    await means.patch({ stubDomains: JSON.stringify(moved) });
    await untilEqual(STUB_ADDRESS, () => answers('www.corp.test'));
    await means.remove();
    await untilEqual(before, servers);
    await run?.waitForLine(/kube-dns +\| the volume of ConfigMap kube-dns has no keys/);
  }

  async close(): Promise<void> {
    await this.#upstream.close();
    await this.#stub.close();
  }
}
