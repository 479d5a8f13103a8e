import { parseNameServer } from '@kube-dns/daemon';
import {
  GroupLoad,
  NO_ANSWER_YET,
  QueryForwarder,
  retryPlan,
  type ServerAddress,
  ServerGroup,
  UpstreamServers,
  UpstreamSockets,
} from '@kube-dns/transport';
import { MAX_MESSAGE_BYTES, RCODE, SAFE_UDP_BYTES } from '@kube-dns/wire';
import { ImportedNames } from '../../src/answer/imported-names.js';
import { KubednsAnswerer, UPSTREAM_DEADLINE_MS } from '../../src/answer/kubedns-answerer.js';
import { combineLocalNames, type LocalNames } from '../../src/answer/local-names.js';
import { QueryStatistics } from '../../src/answer/query-statistics.js';
import { nameServerAddresses, type ZoneAnswererOptions } from '../../src/answer/zone-answerer.js';
import type { PtrMode } from '../../src/config/flags.js';
import { UpstreamStatistics } from '../../src/metrics/upstream-statistics.js';
import type { ZoneChanges } from '../../src/subscription/announced-records.js';
import type { EndpointNames } from '../../src/watch/projections.js';
import { SearchNames } from '../../src/search/search-names.js';
import { ImportedZone } from '../../src/zone/imported-zone.js';
import { Cluster } from './cluster.js';
import { type Answer, type Asked, FakeClient, readAnswer, readQuery } from './messages.js';

const TTLS = { ttlSeconds: 30, negativeTtlSeconds: 5 };

export interface AnswersOptions extends Partial<Omit<ZoneAnswererOptions, 'zone'>> {
  readonly maxInFlight?: number;
  readonly endpointNames?: EndpointNames;
  readonly ptr?: PtrMode;
  /** Is told the names whose records change. */
  readonly changes?: ZoneChanges;
  /** The zone of imported services; none unless given. */
  readonly clusterset?: string;
  /** The zone of search names, and the domains that are searched beside those of the cluster; none unless given. */
  readonly search?: { readonly domain: string; readonly extra?: readonly string[] };
  /** Other names beside the zone; none unless given. */
  readonly others?: LocalNames;
}

/** Everything between a query and its answer, fed with objects by hand. Its clock stands still: see `wait`. */
export class Answers {
  readonly cluster: Cluster;
  readonly forwarder: QueryForwarder;
  readonly #sockets = new UpstreamSockets();
  readonly #upstreams = new UpstreamServers(this.#sockets, new UpstreamStatistics(), {
    now: () => this.#nowMs,
  });
  readonly #load = new GroupLoad();
  readonly answerer: KubednsAnswerer;
  /** Used again for each answer, as a listener does: a new one for each costs most of a test with many. */
  readonly #out = new Uint8Array(MAX_MESSAGE_BYTES);
  readonly statistics = new QueryStatistics();
  #nowMs = 1_000_000;
  servers: readonly ServerAddress[] = [];
  isSynced = true;
  areImportsSynced = true;
  readonly imported: ImportedZone | undefined;

  constructor(options: AnswersOptions = {}) {
    const { maxInFlight = 10, endpointNames, ptr = 'all', ...names } = options;
    const { changes, clusterset, search, others, ...rest } = names;
    this.imported =
      clusterset === undefined
        ? undefined
        : new ImportedZone({
            domain: clusterset,
            negativeTtlSeconds: TTLS.negativeTtlSeconds,
            changes: changes ?? { isObserved: false, add: () => undefined },
          });
    const { imported } = this;
    this.cluster = new Cluster(
      endpointNames,
      undefined,
      undefined,
      undefined,
      changes,
      imported,
      rest.zonal,
    );
    const { zone } = this.cluster;
    const imports =
      imported &&
      new ImportedNames({
        ...TTLS,
        zone: imported,
        cluster: zone,
        isSynced: () => this.isSynced && this.areImportsSynced,
        serverAddresses: () => nameServerAddresses(zone, rest.ownAddresses ?? []),
        ...(rest.random && { random: rest.random }),
      });
    const searched =
      search &&
      new SearchNames({
        ...TTLS,
        domain: search.domain,
        extra: search.extra ?? [],
        zone,
        reading: {
          pods: 'insecure',
          wildcards: true,
          zonal: rest.zonal ?? false,
          hiddenNamespaces: [...(rest.hiddenNamespaces ?? [])],
          random: rest.random ?? Math.random,
        },
        others: imports,
        isSynced: () => this.isSynced,
        isFromSnapshot: rest.isFromSnapshot ?? (() => false),
        serverAddresses: () => nameServerAddresses(zone, rest.ownAddresses ?? []),
      });
    const localNames = combineLocalNames([imports ?? [], searched ?? [], others ?? []].flat());
    this.forwarder = new QueryForwarder({
      maxInFlight,
      plan: retryPlan(UPSTREAM_DEADLINE_MS),
      maxUdpBytes: SAFE_UDP_BYTES,
      unsentRcode: RCODE.SERVFAIL,
      now: () => this.#nowMs,
    });
    this.answerer = new KubednsAnswerer({
      ...TTLS,
      ...rest,
      zone,
      localNames,
      ptr,
      version: 'kube-dns 1.2.3',
      hostname: 'pod-a',
      forwarder: this.forwarder,
      upstreams: { groupFor: () => this.#group },
      statistics: this.statistics,
      isSynced: () => this.isSynced,
    });
  }

  close(): void {
    this.forwarder.close();
    this.#sockets.close();
  }

  /** Lets time go by at once, for the servers that are asked. */
  wait(ms: number): void {
    this.#nowMs += ms;
    this.forwarder.tick();
  }

  get #group(): ServerGroup {
    const servers = this.servers.map((server) => this.#upstreams.at(server));
    return new ServerGroup('.', servers, 'strict', this.#load);
  }

  /** Forwards names outside the cluster to these; to no server before the call. */
  forwardTo(...addresses: string[]): void {
    this.servers = addresses.map((text) => {
      const { host, port } = parseNameServer(text);
      return { address: host, port: port ?? 53 };
    });
  }

  /** The answer to one question, whether it comes at once or later. */
  async ask(name: string, type: string | number, asked?: Asked): Promise<Answer> {
    const client = new FakeClient();
    const out = this.#out;
    const query = readQuery(name, type, asked);
    const length = this.answerer.answer(query, out, client);
    if (length !== NO_ANSWER_YET) return readAnswer(out.slice(0, length));
    // What belongs to the listener is soon another client's.
    query.bytes.fill(0xff);
    query.read(query.bytes, query.length, false, 512);
    return client.later;
  }

  /** `TYPE data` of the records that a name has of some types, in alphabetical order. */
  async records(
    name: string,
    types = ['A', 'AAAA', 'SRV', 'CNAME', 'PTR', 'TXT'],
  ): Promise<string[]> {
    const texts: string[] = [];
    for (const type of types) {
      const { answers } = await this.ask(name, type, { isOverTcp: true });
      for (const text of answers) {
        const [owner, ...rest] = text.split(' ');
        if (owner === name && rest[0] === type) texts.push(rest.join(' '));
      }
    }
    return texts.sort();
  }
}
