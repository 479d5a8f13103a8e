import { chmodSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ConfigVolume, untilEqual } from '@kube-dns/testkit';
import { ROOT } from './root.js';
import type { PodNetwork } from './pod-network.js';

const PROXY = fileURLToPath(new URL('../fixtures/api-proxy.mjs', import.meta.url));
/** A CA, and its server certificate for 127.0.0.1. */
const TLS = `${ROOT}packages/kubedns/test/fixtures/tls`;
const API_PORT = 18080;
const PROXY_PORT = 18443;
const TOKEN = 'token-of-kube-dns';

/** Name servers in the pod's network; each answers all names with one address. */
export const NAME_SERVERS = {
  upstream: { server: '127.0.0.1:5301', address: '192.0.2.1' },
  acme: { server: '127.0.0.1:5302', address: '192.0.2.2' },
  newAcme: { server: '127.0.0.1:5303', address: '192.0.2.3' },
} as const;

type StubDomains = Readonly<Record<string, readonly string[]>>;

/** The ConfigMap kube-dns: `upstream` gets all names but those of stub domains. */
function configuration(stubDomains: StubDomains): Readonly<Record<string, string>> {
  return {
    upstreamNameservers: JSON.stringify([NAME_SERVERS.upstream.server]),
    stubDomains: JSON.stringify(stubDomains),
  };
}

/**
 * What a node and a cluster provide to a pod: the volumes of manifests/kube-dns as folders, the variables with
 * the address of the API server, and in the pod's network that API server and the {@link NAME_SERVERS}.
 */
export class ClusterFixture {
  readonly #volumes = new Map<string, ConfigVolume>();
  readonly environment = [
    { name: 'KUBERNETES_SERVICE_HOST', value: '127.0.0.1' },
    { name: 'KUBERNETES_SERVICE_PORT', value: String(PROXY_PORT) },
  ];

  /** The folder of a volume; throws for an unknown name, and before the start. */
  folderOf(volume: string): string {
    return this.#volumeOf(volume).path;
  }

  /** Puts other stub domains into the mounted ConfigMap; at first `acme.test` is at `acme`. */
  async configure(stubDomains: StubDomains): Promise<void> {
    await this.#volumeOf('kube-dns-config').put(configuration(stubDomains));
  }

  /** Makes the volumes and starts the servers, which end with the network. */
  async start(network: PodNetwork): Promise<void> {
    const config = configuration({ 'acme.test': [NAME_SERVERS.acme.server] });
    this.#volumes.set('kube-dns-config', await ConfigVolume.create(config));
    const access = {
      token: TOKEN,
      'ca.crt': readFileSync(`${TLS}/ca-one.pem`, 'utf8'),
      namespace: 'kube-system',
    };
    this.#volumes.set('api-access', await ConfigVolume.create(access));
    for (const name of ['snapshot', 'snapshot-token']) {
      this.#volumes.set(name, await ConfigVolume.create());
    }
    // Kubelet makes it for fsGroup.
    chmodSync(this.folderOf('snapshot'), 0o777);
    const node = process.execPath;
    const objects = `--manifests=${ROOT}manifests/local/objects`;
    const apiServer = `${ROOT}packages/apiserver/dist/apiserver.cjs`;
    const api = network.start(node, apiServer, `--port=${API_PORT}`, objects);
    const proxy = network.start(
      ...[node, PROXY, `http://127.0.0.1:${API_PORT}`, String(PROXY_PORT), TOKEN, TLS],
    );
    const nameServers = Object.values(NAME_SERVERS).map(({ server, address }) => {
      const [listenAddress, port] = server.split(':');
      const program = [node, `${ROOT}packages/dnsmasq/dist/dnsmasq.cjs`, '--'];
      const place = [`--port=${port}`, `--listen-address=${listenAddress}`, '--bind-interfaces'];
      const answers = ['--no-resolv', '--no-hosts', `--address=/#/${address}`];
      network.start(...program, ...place, ...answers);
      const is = () => network.dig('-p', String(port), 'a.test');
      return { address, is };
    });
    await Promise.all([api.waitForLine(/serving .* on http:/), proxy.waitForLine(/^serving$/m)]);
    for (const { address, is } of nameServers) await untilEqual(address, is);
  }

  async close(): Promise<void> {
    for (const volume of this.#volumes.values()) await volume.close();
  }

  #volumeOf(name: string): ConfigVolume {
    const volume = this.#volumes.get(name);
    if (volume === undefined) throw new Error(`no folder for the volume ${name}`);
    return volume;
  }
}
