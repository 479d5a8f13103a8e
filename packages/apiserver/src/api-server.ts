import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { isIPv6, type AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { Cluster } from './cluster/cluster.js';
import type { Clock } from './cluster/registry.js';
import { ApiserverError, codeOf, ListenError, messageOf } from './errors.js';
import { createApp } from './http/app.js';
import type { TestControls } from './http/test-routes.js';
import { WatchHub } from './http/watch-hub.js';
import type { KubeObject, Manifest } from './object.js';
import { ObjectAccess } from './object-access.js';
import { RequestLog } from './request-log.js';
import { parseCidr, type IpFamily, type IpRange } from './resources/ip.js';
import type { KindName, ObjectTypes } from './resources/resource-table.js';
import { Switches, type Failure } from './switches.js';

/** How an API server is set up; every option has a default. */
export interface ApiServerOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Range of IPv4 cluster addresses, default 10.96.0.0/16. */
  readonly serviceRange?: string;
  /** Range of IPv6 cluster addresses, default fd00:10:96::/112. */
  readonly serviceRangeV6?: string;
  /** Time in ms since the epoch, for timestamps and ages. */
  readonly clock?: Clock;
  /** Events retained per resource for watches from an earlier version, default 1000. */
  readonly historyLimit?: number;
  /** Events that may wait for one slow watch, default 10000. */
  readonly watchQueueLimit?: number;
  /** Default one minute. */
  readonly bookmarkIntervalMs?: number;
  /** Fills the server before it answers its first request; an error that it throws ends the start. */
  readonly seed?: (objects: ObjectAccess) => void;
}

const DEFAULT_HOST = '127.0.0.1';
const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);
/** How long a connection may be idle; a shorter time would race with the client's next request. */
const KEEP_ALIVE_MS = 120_000;
const MAX_CONNECTIONS = 4096;
/** Objects that `apply` writes before it yields to the event loop. */
const APPLY_BATCH = 200;
const MAX_DELAY_MS = 3_600_000;

function readRange(text: string, family: IpFamily): IpRange {
  const range = parseCidr(text);
  if (range?.family === family && range.size >= 4n) return range;
  throw new ApiserverError('usage', `"${text}" is not a range of ${family} service addresses`);
}

async function listen(server: Server, port: number, host: string): Promise<AddressInfo> {
  try {
    // Without a host: every address of both families, as Go's net.Listen takes either wildcard.
    server.listen(port, WILDCARDS.has(host) ? '' : host);
    await once(server, 'listening');
  } catch (error) {
    const isInUse = codeOf(error) === 'EADDRINUSE';
    const reason = isInUse ? 'address already in use' : messageOf(error);
    throw new ListenError(`cannot listen on ${host}:${port}: ${reason}`, { cause: error });
  }
  return server.address() as AddressInfo;
}

/** The address at which clients on this machine reach a server. */
function reachable(address: string): string {
  return WILDCARDS.has(address) ? '127.0.0.1' : address;
}

/** A running API server. Object methods and switches take effect before they return. */
export class ApiServer implements TestControls {
  readonly url: string;
  readonly port: number;
  readonly requests: RequestLog;
  readonly #server: Server;
  readonly #cluster: Cluster;
  readonly #objects: ObjectAccess;
  readonly #hub: WatchHub;
  readonly #switches: Switches;
  #closed: Promise<void> | undefined;

  private constructor(
    server: Server,
    { address, port }: AddressInfo,
    cluster: Cluster,
    hub: WatchHub,
    options: ApiServerOptions,
  ) {
    const host = reachable(address);
    this.#server = server;
    this.port = port;
    this.url = `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
    this.requests = new RequestLog();
    this.#cluster = cluster;
    this.#objects = new ObjectAccess(cluster);
    this.#hub = hub;
    this.#switches = new Switches();
    cluster.start(host, port);
    options.seed?.(this.#objects);
    const context = {
      cluster,
      hub,
      switches: this.#switches,
      requests: this.requests,
      clock: options.clock ?? Date.now,
    };
    server.on('request', createApp(context, this, options.host ?? DEFAULT_HOST));
  }

  /**
   * Starts a server. Rejects with a {@link ListenError} when it cannot listen, and with any error
   * that `seed` throws; nothing is left running then.
   */
  static async start(options: ApiServerOptions = {}): Promise<ApiServer> {
    const ranges = {
      IPv4: readRange(options.serviceRange ?? '10.96.0.0/16', 'IPv4'),
      IPv6: readRange(options.serviceRangeV6 ?? 'fd00:10:96::/112', 'IPv6'),
    };
    const clock = options.clock ?? Date.now;
    const cluster = new Cluster({ ranges, clock, historyLimit: options.historyLimit ?? 1000 });
    const hub = new WatchHub({
      queueLimit: options.watchQueueLimit ?? 10_000,
      bookmarkIntervalMs: options.bookmarkIntervalMs ?? 60_000,
    });
    const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS });
    server.maxConnections = MAX_CONNECTIONS;
    const address = await listen(server, options.port ?? 0, options.host ?? DEFAULT_HOST);
    try {
      // Synchronous, so no connection is handled before it is complete.
      return new ApiServer(server, address, cluster, hub, options);
    } catch (error) {
      server.close();
      server.closeAllConnections();
      throw error;
    }
  }

  /** Ends every connection immediately; may be called twice. */
  close(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
    return this.#closed;
  }

  // Objects

  /** Creates or replaces objects in the order given. Stops at the first that is refused. */
  async apply(manifests: Manifest | readonly Manifest[]): Promise<void> {
    const all = 'kind' in manifests ? [manifests] : manifests;
    for (const [i, manifest] of all.entries()) {
      this.#objects.put(manifest);
      // Watches write in between, so that no watch fills its whole queue.
      if ((i + 1) % APPLY_BATCH === 0) await setImmediate();
    }
  }

  create(manifest: Manifest): KubeObject {
    return this.#objects.create(manifest);
  }

  update(manifest: Manifest): KubeObject {
    return this.#objects.update(manifest);
  }

  /** Deletes an object and returns its last state. Throws a 404 when it does not exist. */
  delete(kind: KindName, namespace: string | undefined, name: string): KubeObject {
    return this.#objects.delete(kind, namespace, name);
  }

  get<K extends KindName>(
    kind: K,
    namespace: string | undefined,
    name: string,
  ): ObjectTypes[K] | undefined {
    return this.#objects.get(kind, namespace, name);
  }

  /** All objects of a kind, of one namespace when it is given. */
  list<K extends KindName>(kind: K, namespace?: string): ObjectTypes[K][] {
    return this.#objects.list(kind, namespace);
  }

  /** The access that `seed` receives. */
  get objects(): ObjectAccess {
    return this.#objects;
  }

  /** Version of the last write. */
  get resourceVersion(): string {
    return String(this.#cluster.store.revision);
  }

  /** Number of open watches, of one resource such as `services` or of all. */
  watchCount(resource?: string): number {
    return this.#hub.count(resource);
  }

  // Switches

  /** Breaks the connection of every watch. */
  dropWatches(): void {
    this.#hub.dropAll();
  }

  /** Requests get no answer and watches get no events until `unhang`; none of them is lost. */
  hang(): void {
    this.#switches.setHung(true);
    this.#hub.setSilent(true);
  }

  unhang(): void {
    this.#switches.setHung(false);
    this.#hub.setSilent(false);
  }

  /** Refuses the requests that match, until `clearFailures` or `failure.times` times. */
  failRequests(failure: Failure): void {
    this.#switches.fail(failure);
  }

  clearFailures(): void {
    this.#switches.clearFailures();
  }

  /** Discards all history: watches and pages from earlier versions are answered with 410. */
  compact(): void {
    this.#cluster.store.compact();
  }

  /** Delays every request by this time; 0 ends that. */
  delayRequests(ms: number): void {
    this.#switches.delayMs = Math.min(ms, MAX_DELAY_MS);
  }

  /** Off: watches with `sendInitialEvents` are refused with 422. On at the start. */
  supportInitialEvents(isSupported: boolean): void {
    this.#switches.supportsInitialEvents = isSupported;
  }

  /** Off: lists are complete whatever the `limit`. On at the start. */
  supportLimit(isSupported: boolean): void {
    this.#switches.supportsLimit = isSupported;
  }
}

/** Starts an API server; see {@link ApiServer.start}. */
export function createApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  return ApiServer.start(options);
}
