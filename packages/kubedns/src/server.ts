import { formatHostPort, inTurns, MAX_TIMER_MS, shownUrl } from '@kube-dns/base';
import {
  BucketHistogram,
  collectGarbage,
  type LocalPage,
  type Log,
  readTlsCa,
  readTsigKey,
  weakness,
} from '@kube-dns/daemon';
import {
  ChangeFeed,
  Notifier,
  NotifyMessages,
  Publisher,
  subscriberLimit,
  subscribersPage,
  VersionedAnswerer,
} from '@kube-dns/push';
import {
  QueryForwarder,
  retryPlan,
  type ServerAddress,
  type UdpEngine,
  UpstreamServers,
  UpstreamSockets,
} from '@kube-dns/transport';
import { explainPages, queryPages, Telemetry } from '@kube-dns/telemetry';
import { bindAddress, RCODE, ROOT_NAME, SAFE_UDP_BYTES, type TsigKey } from '@kube-dns/wire';
import {
  composeAnswerer,
  type KubednsAnswerer,
  ownAddresses,
  UPSTREAM_DEADLINE_MS,
} from './answer/kubedns-answerer.js';
import { QueryStatistics } from './answer/query-statistics.js';
import { combineLocalNames } from './answer/local-names.js';
import { ZoneHosts } from './answer/zone-hosts.js';
import { Configuration } from './config/configuration.js';
import type { KubednsFlags } from './config/flags.js';
import { Upstreams } from './config/upstreams.js';
import { DnsPort } from './dns-port.js';
import { Explainer } from './explain/explainer.js';
import { Federations } from './federation/federations.js';
import { ProgrammingTimes } from './metrics/metric-families.js';
import { UpstreamStatistics } from './metrics/upstream-statistics.js';
import { keptFields, type NamesBeside, namesBeside } from './names-beside.js';
import { hostsNode } from './outside/outside-json.js';
import { StaticHosts } from './outside/static-hosts.js';
import { AnnouncedRecords, clusterZones } from './subscription/announced-records.js';
import { ClusterZones } from './transfer/cluster-zones.js';
import type { TransferableZone } from './transfer/transferable-zone.js';
import { Transfers } from './transfer/transfers.js';
import { ApiClient, loadKubeConfig } from './watch/api-client.js';
import { ClusterVersion } from './watch/cluster-version.js';
import { ClusterWatch, snapshotText } from './watch/cluster-watch.js';
import { allStores } from './watch/projections.js';
import type { Replicas } from './watch/replicas.js';
import { Snapshots } from './watch/snapshots.js';
import { cacheJson } from './zone/cache-json.js';
import { ClusterZone } from './zone/cluster-zone.js';

/** Limit of questions in flight to upstream servers. */
const MAX_IN_FLIGHT = 1_500;
/** Upper bounds in seconds of the time from an object's event until its records are served. */
const EVENT_TO_SERVED_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const EXIT_FATAL = 255;
const DNS_PORT = 53;

/** The parts of a running kubedns, composed from its flags. */
export class KubednsServer {
  readonly watch: ClusterWatch;
  /** Pages for this machine and this pod alone, by path. */
  readonly localPages: ReadonlyMap<string, LocalPage>;
  readonly telemetry = new Telemetry();
  readonly #flags: KubednsFlags;
  readonly #log: Log;
  readonly #client: ApiClient;
  readonly #port: DnsPort;
  readonly #sockets: UpstreamSockets;
  readonly #forwarder: QueryForwarder;
  readonly #upstreamServers: UpstreamServers;
  readonly #upstreamStatistics = new UpstreamStatistics();
  readonly #zone: ClusterZone;
  readonly #beside: readonly NamesBeside[];
  readonly #hosts: StaticHosts;
  readonly #upstreams: Upstreams;
  readonly #federations: Federations;
  readonly #publisher: Publisher<'configuration'>;
  readonly #notifier: Notifier;
  /** Undefined without `--transfer-to`. */
  readonly #transfers: Transfers | undefined;
  readonly #configuration: Configuration;
  readonly #snapshots: Snapshots;
  readonly #statistics = new QueryStatistics();
  readonly #eventToServed = new BucketHistogram(EVENT_TO_SERVED_BOUNDS);
  readonly #programming = new ProgrammingTimes();
  readonly #answerer: KubednsAnswerer;
  /** Whether the garbage of the start is collected. */
  #isCollected = false;

  /**
   * Builds the parts, each from those above it. Throws a StartupError when no API server is configured, two configuration
   * sources are, or a file of a key or certificates is broken.
   */
  constructor(flags: KubednsFlags, engine: UdpEngine, log: Log, version: string) {
    this.#flags = flags;
    this.#log = log;
    const config = loadKubeConfig({
      kubecfgFile: flags['kubecfg-file'],
      masterUrl: flags['kube-master-url'],
    });
    const client = new ApiClient(
      config,
      `kube-dns/${version} (${process.platform}/${process.arch})`,
    );
    const port = new DnsPort(flags, engine, log, this.telemetry);
    this.#client = client;
    this.#port = port;

    // The servers of names outside of the cluster.
    this.#sockets = new UpstreamSockets({ engine });
    this.#upstreamServers = new UpstreamServers(this.#sockets, this.#upstreamStatistics, {
      tlsCa: readTlsCa(flags['tls-ca'], EXIT_FATAL),
      usesCookies: flags['upstream-cookies'],
      onTlsFailure: ({ text }, why) => log.warn(`name server ${text}: ${why.text}`),
    });
    const forwarder = new QueryForwarder({
      maxInFlight: MAX_IN_FLIGHT,
      isKnownClient: (address) => this.#publisher.hasClient(address),
      plan: retryPlan(UPSTREAM_DEADLINE_MS),
      maxUdpBytes: SAFE_UDP_BYTES,
      unsentRcode: RCODE.SERVFAIL,
    });
    forwarder.exchanges.add(this.telemetry);
    this.#forwarder = forwarder;

    // The zone, what it depends on, and who is notified of its changes.
    const zone = new ClusterZone({
      domain: flags.domain,
      negativeTtlSeconds: flags['negative-ttl'],
    });
    const zoneHosts = new ZoneHosts(zone);
    const upstreams = new Upstreams({
      log,
      servers: this.#upstreamServers,
      onChange: () => forwarder.forgetQuestions(),
      domain: flags.domain,
      resolveOwn: (host) => zoneHosts.resolve(host),
      own: port,
    });
    zone.listen((key) => upstreams.serviceChanged(key));
    const federations = new Federations({ client, log });
    const feed = new ChangeFeed(['configuration']);
    const clusterVersion = new ClusterVersion(answerShape(flags));
    const setNamespacesListed = (areListed: boolean) => {
      clusterVersion.depend('namespaces', String(areListed));
      // Whether a namespace without services exists is known or not: names of pods depend on it.
      zone.hasAllNamespaces = areListed;
      feed.flush('configuration');
    };
    const hosts = new StaticHosts({
      zone,
      ttlSeconds: flags['record-ttl'],
      negativeTtlSeconds: flags['negative-ttl'],
      changes: feed,
    });
    this.#hosts = hosts;
    const beside = namesBeside({
      flags,
      zone,
      changes: feed,
      isSynced: () => this.watch.isSynced,
      isKnown: (name) => this.watch.isKnown(name),
      isDenied: (name) => this.watch.isDenied(name),
      stateOf: (name) => this.watch.stateOf(name),
      isFromSnapshot: () => this.watch.isFromSnapshot,
      hosts,
      federations,
    });
    this.#beside = beside;
    const watch = new ClusterWatch({
      client,
      records: allStores(
        new AnnouncedRecords(zone, feed),
        beside.flatMap(({ records = [] }) => records),
      ),
      readsImports: flags['clusterset-domain'] !== '',
      readsZones: flags.zonal,
      optional: beside.flatMap(({ resources }) => resources),
      onOptionalKnown: () => feed.flush('configuration'),
      version: clusterVersion,
      log,
      endpointsSource: flags['endpoints-source'],
      endpointNames: flags['endpoint-names'],
      hiddenNamespaces: flags['hidden-namespaces'],
      keeps: keptFields(beside),
      limits: { maxObjects: flags['max-objects'], maxBytes: flags['max-stored-bytes'] },
      onNamespacesListed: () => setNamespacesListed(true),
      onNamespacesLost: () => setNamespacesListed(false),
      onReached: () => {
        this.#notifier.start();
        this.#publisher.welcome();
      },
      onEvent: (latencyMs) => this.#eventToServed.observe(latencyMs / 1000),
      onEndpoints: (service, triggeredMs) => {
        this.#programming.note(zone.serviceOf(service)?.kind, Date.now() - triggeredMs);
      },
    });
    this.#zone = zone;
    this.#upstreams = upstreams;
    this.#federations = federations;
    this.watch = watch;
    this.#snapshots = new Snapshots({
      path: flags['snapshot-file'],
      maxAgeMs: flags['snapshot-max-age'],
      shape: {
        endpointNames: flags['endpoint-names'],
        hiddenNamespaces: [...flags['hidden-namespaces']].sort(),
        namesBeside: [...beside.map(({ id }) => id), ...(flags.zonal ? ['zonal'] : [])].sort(),
      },
      watch,
      version: clusterVersion,
      log,
      replicas: otherReplicas(flags, log),
      tokenPath: flags['snapshot-token'],
    });
    this.#publisher = new Publisher({
      zones: clusterZones(
        zone.apex,
        watch,
        clusterVersion,
        beside.flatMap(({ zones }) => zones.map(({ apex }) => apex)),
        {
          unannounced: beside.flatMap((each) => each.unannounced ?? []),
          mayBeAny: () => flags['route-names'] || hosts.size > 0,
        },
      ),
      feed,
      rules: { networks: flags.subscribers, limit: subscriberLimit(), log },
    });
    const transferKey = readTsigKey(flags['transfer-key'], EXIT_FATAL);
    const notifyKey = readTsigKey(flags['notify-key'], EXIT_FATAL);
    const key = notifyKey ?? transferKey;
    const weak = [weakness('--transfer-key', transferKey), weakness('--notify-key', notifyKey)];
    for (const each of weak) if (each !== undefined) log.warn(each);
    const zones = beside.flatMap((each) => each.zones.map(toldZone));
    const messages = new NotifyMessages(toldZone(zone), flags['record-ttl'], key, Date.now, zones);
    this.#notifier = new Notifier({
      servers: notifiedServers(flags, log),
      secondaries: flags['transfer-to']?.hosts ?? [],
      feed,
      messages,
      log,
    });
    const others = beside.flatMap(({ transferable = [] }) => transferable);
    this.#transfers = transfersFor(flags, { zone, others, watch, key: transferKey, log });

    // Answers, and what configures them.
    this.#answerer = composeAnswerer({
      flags,
      version,
      zone,
      forwarder,
      upstreams,
      federations,
      statistics: this.#statistics,
      isFromSnapshot: () => watch.isFromSnapshot,
      isSynced: () => watch.isSynced,
      // What an administrator says counts before what objects of the cluster do.
      localNames: combineLocalNames([hosts, ...beside.map(({ names }) => names)]),
    });
    this.#configuration = new Configuration({
      flags,
      client,
      log,
      apply: async (applied) => {
        hosts.check(applied.hosts);
        await inTurns(upstreams.applying(applied));
        federations.apply(applied.federations);
        zone.hasFederations = federations.isActive;
        await inTurns(hosts.applying(applied.hosts));
        clusterVersion.depend('hosts', JSON.stringify([...applied.hosts.addresses].sort()));
        clusterVersion.depend('federations', JSON.stringify([...applied.federations].sort()));
        this.telemetry.useQueryLog(applied.queryLog ?? flags['query-log']);
        feed.flush('configuration');
      },
    });
    const answerer = this.#answerer;
    const explainer = new Explainer({ flags, zone, beside, client, answerer, watch });
    const explained = explainPages((asked) => explainer.explain(asked));
    this.localPages = new Map([...explained, ...queryPages(this.telemetry)]);
  }

  /**
   * Whether DNS is served, the whole cluster was listed, within the limits, and a configuration is active. A snapshot
   * stands for the list unless `--ready-without-api` is false.
   */
  get isReady(): boolean {
    const { isSynced, isOverLimit, isFromSnapshot } = this.watch;
    const isServing = this.#port.isOpen && this.#configuration.isActive;
    const isKnown = isSynced && (!isFromSnapshot || this.#flags['ready-without-api']);
    return isServing && this.#isCollected && isKnown && !isOverLimit;
  }

  /** What is said beside it: that answers are from a snapshot; '' while they are not. */
  get readyNote(): string {
    const { snapshot } = this.watch;
    return snapshot === undefined ? '' : snapshotText(snapshot);
  }

  /** What other replicas may have with a token; undefined without `--snapshot-token`. */
  get givenSnapshots(): Snapshots | undefined {
    return this.#snapshots.areGiven ? this.#snapshots : undefined;
  }

  /** Binds the DNS port; questions about the zone get SERVFAIL until `follow` has resolved. */
  async listen(): Promise<void> {
    const versioned = new VersionedAnswerer(this.#answerer, this.#publisher);
    const answerer = this.#transfers?.before(versioned) ?? versioned;
    await this.#port.open(answerer, this.#publisher);
  }

  /** Starts to follow the cluster and applies the first configuration. */
  async follow(): Promise<void> {
    const configured = this.#configuration.start();
    // Files can be read immediately. The API server may hang, and only one place waits for it.
    if (this.#configuration.source !== 'configmap') await configured;
    this.watch.start();
    this.#snapshots.start();
    void this.watch.waitForSync(MAX_TIMER_MS).then((isSynced) => {
      if (!isSynced) return;
      this.#publisher.remember();
      // What a cache has may be newer than a snapshot.
      if (!this.watch.isFromSnapshot) {
        this.#notifier.start();
        this.#publisher.welcome();
      }
      collectGarbage();
      this.#isCollected = true;
    });
    this.#log.info(`following ${shownUrl(this.#client.server)}`);
    await configured;
  }

  /** SIGHUP: reads resolv.conf, where it is used, and the cookie secrets again, and resolves the names of servers again. */
  reload(): void {
    this.#upstreams.refresh();
    this.#port.reload();
  }

  /**
   * It ends soon: subscribers go to another one, where there is one, and what was listed is written to `--snapshot-file`, if it has
   * changed. Resolves when that is done; never rejects.
   */
  leave(): Promise<void> {
    void this.#publisher.leave();
    return this.#snapshots.save();
  }

  /** The records as JSON, in pieces. */
  dump(): Iterable<string> {
    const hosts = { apex: ROOT_NAME, node: () => hostsNode(this.#hosts.hosts()) };
    return cacheJson(this.#zone, [...this.#beside.flatMap(({ dump = [] }) => dump), hosts]);
  }

  /** Who is notified which names change, as JSON. */
  subscribersPage(): string {
    return subscribersPage(this.#publisher);
  }

  /** The parts that metrics and the status page read. */
  get parts() {
    return {
      flags: this.#flags,
      dnsPort: this.#port,
      watch: this.watch,
      zone: this.#zone,
      beside: this.#beside,
      hosts: this.#hosts,
      servers: this.#upstreams,
      federations: this.#federations,
      subscribers: this.#publisher,
      configuration: this.#configuration,
      snapshots: this.#snapshots,
      upstreams: this.#upstreamStatistics,
      upstreamServers: this.#upstreamServers,
      forwarder: this.#forwarder,
      statistics: this.#statistics,
      eventToServed: this.#eventToServed,
      programming: this.#programming,
      notified: this.#notifier.targets,
      transfers: this.#transfers,
      telemetry: this.telemetry,
    };
  }

  /** Ends questions in flight without answers, except with `--reuse-port`; may be called twice. */
  async close(): Promise<void> {
    this.#publisher.close();
    this.#notifier.close();
    this.#transfers?.close();
    await this.#port.close();
    this.#forwarder.close();
    this.#upstreams.close();
    this.#sockets.close();
    this.#federations.close();
    await Promise.all([this.#snapshots.close(), this.watch.close(), this.#configuration.close()]);
    this.#client.close();
    await this.telemetry.close(this.#log);
  }
}

/** What a NOTIFY says of the zone is told to a secondary. */
function toldZone(zone: Pick<TransferableZone, 'apex' | 'tellSoa'>) {
  return {
    apex: zone.apex,
    get soaRdata() {
      return zone.tellSoa();
    },
  };
}

const MAX_NOTIFIED = 16;

/** Those of `--notify`, else the secondaries of `--transfer-to` whose address is known. */
function notifiedServers(flags: KubednsFlags, log: Log): readonly ServerAddress[] {
  const { notify, 'transfer-to': secondaries } = flags;
  if (notify.length > 0 || secondaries === undefined) return notify;
  const servers = secondaries.hosts.map((address) => ({ address, port: DNS_PORT }));
  if (servers.length > MAX_NOTIFIED)
    log.warn(`--transfer-to: ${servers.length - MAX_NOTIFIED} of ${servers.length} addresses get no NOTIFY`); // prettier-ignore
  return servers.slice(0, MAX_NOTIFIED);
}

function transfersFor(
  flags: KubednsFlags,
  parts: {
    readonly zone: ClusterZone;
    readonly others: readonly TransferableZone[];
    readonly watch: ClusterWatch;
    readonly key: TsigKey | undefined;
    readonly log: Log;
  },
): Transfers | undefined {
  const networks = flags['transfer-to'];
  const { zone, others, watch, key, log } = parts;
  if (networks === undefined) {
    if (key !== undefined) log.warn('--transfer-key has no use without --transfer-to');
    return undefined;
  }
  const ttlSeconds = flags['record-ttl'];
  return new Transfers({
    zones: new ClusterZones({
      zone,
      others,
      ttlSeconds,
      negativeTtlSeconds: flags['negative-ttl'],
      ptr: flags.ptr,
      ownAddresses: ownAddresses(bindAddress(flags['dns-bind-address'])),
    }),
    networks,
    key,
    ttlSeconds,
    isSynced: () => watch.isSynced,
    isFromSnapshot: () => watch.isFromSnapshot,
    log,
  });
}

/** Those of `--snapshot-replicas`; undefined where none are asked. A pod's own resolver does not know names of the cluster. */
function otherReplicas(flags: KubednsFlags, log: Log): Replicas | undefined {
  const { 'snapshot-replicas': host, 'snapshot-token': token, 'healthz-port': port } = flags;
  const { KUBE_DNS_SERVICE_HOST: address = '', KUBE_DNS_SERVICE_PORT: dnsPort } = process.env;
  if (host === '' || token === '') return undefined;
  if (address !== '') {
    const server = formatHostPort({ host: address, port: Number(dnsPort) || DNS_PORT });
    return { host, server, port };
  }
  log.warn('--snapshot-replicas: KUBE_DNS_SERVICE_HOST is not set, so no replica is asked');
  return undefined;
}

/** The flags that shape the answers of the zone, and of names beside it. */
function answerShape(flags: KubednsFlags): readonly unknown[] {
  return [
    flags.domain,
    flags['record-ttl'],
    flags['negative-ttl'],
    flags['endpoint-names'],
    [...flags['hidden-namespaces']].sort(),
    flags.pods,
    flags.ptr,
    flags.wildcards,
    flags['external-domain'],
    flags['route-names'],
    flags['clusterset-domain'],
    flags['search-zone'],
    flags['search-extra'],
    flags.zonal,
  ];
}
