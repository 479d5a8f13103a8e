import {
  ConfigDirectory,
  errorText,
  type Log,
  parseDnsConfig,
  StartupError,
} from '@kube-dns/daemon';
import { Forwarder, listen, type Listener, ListenError } from '@kube-dns/transport';
import { ExternalNames } from './answer/external-name.js';
import { KubednsAnswerer } from './answer/kubedns-answerer.js';
import { ZoneAnswerer } from './answer/zone-answerer.js';
import { ApiClient } from './cluster/api-client.js';
import { ClusterWatch } from './cluster/cluster-watch.js';
import { loadKubeConfig } from './cluster/kube-config.js';
import type { KubednsFlags } from './config/flags.js';
import { Nameservers } from './config/nameservers.js';
import { ClusterZone } from './zone/cluster-zone.js';

/** Questions that may wait for an upstream at the same time. */
const MAX_IN_FLIGHT = 1_500;
/** Clients give up after 5 s; they hear SERVFAIL before. */
const UPSTREAM_DEADLINE_MS = 4_000;
const EXIT_CANNOT_BIND = 1;

/** The parts of a running kubedns, composed from its flags. */
export class KubednsServer {
  readonly answerer: KubednsAnswerer;
  readonly watch: ClusterWatch;
  readonly #flags: KubednsFlags;
  readonly #log: Log;
  readonly #client: ApiClient;
  readonly #forwarder: Forwarder;
  readonly #nameservers: Nameservers;
  #configDirectory: ConfigDirectory | undefined;
  #listener: Listener | undefined;

  /** Throws a StartupError when there is no API server to be found. */
  constructor(flags: KubednsFlags, log: Log, userAgent: string) {
    this.#flags = flags;
    this.#log = log;
    const config = loadKubeConfig({
      kubecfgFile: flags['kubecfg-file'],
      masterUrl: flags['kube-master-url'],
    });
    this.#client = new ApiClient(config, userAgent);
    const ttls = {
      ttlSeconds: flags['record-ttl'],
      negativeTtlSeconds: flags['negative-ttl'],
    };
    const zone = new ClusterZone({ domain: flags.domain, log, ...ttls });
    this.watch = new ClusterWatch({
      client: this.#client,
      keeper: zone,
      log,
      endpointsSource: flags['endpoints-source'],
      onNamespacesKnown: () => void (zone.knowsNamespaces = true),
    });
    this.#forwarder = new Forwarder({
      maxInFlight: MAX_IN_FLIGHT,
      deadlineMs: UPSTREAM_DEADLINE_MS,
    });
    this.#nameservers = new Nameservers(log);
    const servers = () => this.#nameservers.current;
    const zoneAnswerer = new ZoneAnswerer({ zone, ...ttls });
    const forwarder = this.#forwarder;
    this.answerer = new KubednsAnswerer({
      zone: zoneAnswerer,
      externalNames: new ExternalNames({ zone: zoneAnswerer, forwarder, servers, ...ttls }),
      forwarder,
      servers,
      isSynced: () => this.watch.isSynced,
    });
  }

  /** Reads the configuration, binds and starts to follow the cluster. Throws a StartupError. */
  async start(): Promise<void> {
    const { 'config-dir': path, 'config-period': periodMs } = this.#flags;
    this.#nameservers.apply(path === '' ? this.#flags.nameservers : []);
    if (path !== '') {
      this.#configDirectory = new ConfigDirectory({
        path,
        periodMs,
        log: this.#log,
        onChange: ({ files }) => {
          this.#nameservers.apply(parseDnsConfig(files).upstreamNameservers);
        },
      });
      await this.#configDirectory.start();
    }
    this.#listener = await this.#listen();
    const { port, engine } = this.#listener;
    this.#log.info(`serving ${this.#flags.domain} on port ${port}, UDP engine ${engine}`);
    this.watch.start();
    this.#log.info(`following ${this.#client.server}`);
  }

  /** Ends what is under way without answers; may be called twice. */
  async close(): Promise<void> {
    this.#configDirectory?.close();
    await this.#listener?.close();
    this.#forwarder.close();
    await this.watch.close();
    this.#client.close();
  }

  async #listen(): Promise<Listener> {
    const address = this.#flags['dns-bind-address'].replace(/^\[(.*)\]$/, '$1');
    try {
      return await listen({
        answerer: this.answerer,
        address,
        port: this.#flags['dns-port'],
        onFailure: (error) => this.#log.error(`answering: ${errorText(error)}`),
      });
    } catch (error) {
      if (error instanceof ListenError) throw new StartupError(error.message, EXIT_CANNOT_BIND);
      throw error;
    }
  }
}
