import { fileURLToPath } from 'node:url';
import { parsePod, planPlacedPod } from '@kube-dns/cli';
import {
  needsPrograms,
  needsNamespaces,
  type RunningProgram,
  TemporaryFolder,
} from '@kube-dns/testkit';
import { containersOf, type HttpProbe } from '@kube-dns/testkit/manifests';
import { BASE_DEPLOYMENT } from './base-deployment.js';
import { PodNetwork } from './pod-network.js';
import { quickArgs } from './quick-args.js';
import { ROOT } from './root.js';

/** The addresses that a pod has, and what else is particular in its network. */
export interface PodFamily {
  /** The pod's address, and another one in the same network, from which clients ask. */
  readonly addresses: readonly [pod: string, clients: string];
  /** Loopback has ::1 alone: the arguments name ::1 wherever the manifest's name 127.0.0.1. */
  readonly hasNoIpv4?: boolean;
  /** IPv6 is turned off by sysctl, or its sockets do not exist (`ipv6.disable=1`). */
  readonly ipv6Off?: 'sysctl' | 'kernel';
}

const API_PORT = 6443;
const PACKAGES = `${ROOT}packages`;
const WITHOUT_IPV6 = fileURLToPath(new URL('../fixtures/without-ipv6.mjs', import.meta.url));
/** `timeoutSeconds` of the probes in the manifest. */
const PROBE_SECONDS = '5';
/** Of a page that is no probe, also where others use the cores. */
const PAGE_SECONDS = '60';

/** Why no pod can have a network of its own here; undefined where it can. */
export function networksSkipReason(): string | undefined {
  return needsNamespaces() ?? needsPrograms('ip', 'nsenter', 'dig', 'curl');
}

/** The probes that kubelet sends to the pod of manifests/kube-dns. */
export const PROBES: readonly HttpProbe['httpGet'][] = containersOf(BASE_DEPLOYMENT).flatMap(
  ({ livenessProbe, readinessProbe }) =>
    [livenessProbe, readinessProbe].flatMap((probe) => probe?.httpGet ?? []),
);

/**
 * The pod of manifests/kube-dns in a network of its own, on the ports of the manifest and with its arguments but for
 * those of {@link quickArgs}, beside an API server at the same address.
 */
export class NetworkedPod {
  readonly #family: PodFamily;
  readonly #network = PodNetwork.create();
  readonly #folder = new TemporaryFolder();
  readonly #config = new TemporaryFolder();
  readonly #snapshot = new TemporaryFolder();
  readonly #programs = new Map<string, RunningProgram>();

  constructor(family: PodFamily) {
    this.#family = family;
  }

  /** Starts the containers without waiting for them. */
  async start(objects: readonly object[]): Promise<void> {
    await this.#connect();
    const [address] = this.#family.addresses;
    const host = address.includes(':') ? `[${address}]` : address;
    const items = { apiVersion: 'v1', kind: 'List', items: objects };
    const file = this.#folder.file('objects.json', JSON.stringify(items));
    const apiServer = `${PACKAGES}/apiserver/dist/apiserver.cjs`;
    const place = [`--host=${address}`, `--port=${API_PORT}`, `--manifests=${file}`];
    const api = this.#network.start(process.execPath, apiServer, ...place);
    await api.waitForLine(/serving .* on http:/);
    this.#startContainers(`http://${host}:${API_PORT}`);
  }

  /** The HTTP status of a page, as kubelet asks for it: by the address of the pod. */
  async status({ port, path }: HttpProbe['httpGet']): Promise<string> {
    for (const { isRunning, output } of this.#programs.values()) {
      if (!isRunning) throw new Error(`a container has ended:\n${output}`);
    }
    const quiet = ['--silent', '--max-time', PROBE_SECONDS, '--output', '/dev/null'];
    return this.#curl(...quiet, '--write-out', '%{http_code}', this.#url(port, path));
  }

  /** The body of a page. */
  page(port: number, path: string): Promise<string> {
    return this.#curl('--silent', '--max-time', PAGE_SECONDS, this.#url(port, path));
  }

  /** What `dig` prints for a question to the pod, from another address. */
  dig(port: number, ...words: readonly string[]): Promise<string> {
    const [pod, clients] = this.#family.addresses;
    const sides = [`@${pod}`, '-b', clients, '-p', String(port)];
    return this.#network.outputOrError('dig', ...sides, '+short', '+time=5', '+tries=1', ...words);
  }

  /** The output of a container. */
  log(container: string): string {
    return this.#programs.get(container)?.output ?? '';
  }

  async close(): Promise<void> {
    await this.#network.close();
    await this.#folder.close();
    await this.#config.close();
    await this.#snapshot.close();
  }

  async #connect(): Promise<void> {
    const { addresses, hasNoIpv4, ipv6Off } = this.#family;
    const run = (...words: readonly string[]) => this.#network.output(...words);
    if (ipv6Off === 'sysctl') {
      for (const links of ['all', 'default']) {
        await run('sh', '-c', `echo 1 > /proc/sys/net/ipv6/conf/${links}/disable_ipv6`);
      }
    }
    await run('ip', 'link', 'add', 'eth0', 'type', 'bridge');
    for (const address of addresses) {
      const text = address.includes(':') ? [`${address}/64`] : [`${address}/24`];
      const isUsableAtOnce = address.includes(':') ? ['nodad'] : [];
      await run('ip', 'address', 'add', ...text, 'dev', 'eth0', ...isUsableAtOnce);
    }
    await run('ip', 'link', 'set', 'eth0', 'up');
    if (hasNoIpv4 === true) await run('ip', 'address', 'del', '127.0.0.1/8', 'dev', 'lo');
  }

  #startContainers(apiUrl: string): void {
    const { hasNoIpv4, ipv6Off } = this.#family;
    const spec = parsePod(JSON.stringify(BASE_DEPLOYMENT), 'deployment.yaml');
    const placement = {
      ports: new Map(),
      volumes: {
        'kube-dns-config': this.#config.path,
        snapshot: this.#snapshot.path,
        'snapshot-token': this.#snapshot.path,
      },
      apiUrl,
      edit: (name: string, args: readonly string[]) => {
        const own = quickArgs(name, args);
        return hasNoIpv4 === true ? overIpv6(name, own) : own;
      },
    };
    const wrapper = ipv6Off === 'kernel' ? [process.execPath, WITHOUT_IPV6] : [];
    for (const { name, file, args, env } of planPlacedPod(spec, placement, PACKAGES)) {
      // Kubelet adds the addresses of the services.
      const service = { KUBE_DNS_SERVICE_HOST: this.#family.addresses[0] };
      const variables = Object.entries({ ...env, ...service }).map(([key, value]) => `${key}=${value}`); // prettier-ignore
      const words = [...wrapper, file, ...args];
      this.#programs.set(name, this.#network.start('env', '-i', ...variables, ...words));
    }
  }

  #curl(...words: readonly string[]): Promise<string> {
    return this.#network.output('curl', ...words).catch(String);
  }

  #url(port: number, path: string): string {
    const [pod] = this.#family.addresses;
    return `http://${pod.includes(':') ? `[${pod}]` : pod}:${port}${path}`;
  }
}

/** The arguments with ::1 in place of 127.0.0.1, the default of `--dnsmasq-addr` included. */
function overIpv6(container: string, args: readonly string[]): readonly string[] {
  // dnsmasq writes `ADDRESS#PORT`, the others `[ADDRESS]:PORT`.
  const placed = args.map((arg) =>
    arg.replace(/127\.0\.0\.1:(\d+)/, '[::1]:$1').replace('127.0.0.1', '::1'),
  );
  return container === 'sidecar' ? [...placed, '--dnsmasq-addr=::1'] : placed;
}
