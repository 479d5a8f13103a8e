import {
  Forwarder,
  NO_ANSWER_YET,
  parseServerAddress,
  type ServerAddress,
} from '@kube-dns/transport';
import { MAX_MESSAGE_BYTES } from '@kube-dns/wire';
import { ExternalNames } from '../../src/answer/external-name.js';
import { KubednsAnswerer } from '../../src/answer/kubedns-answerer.js';
import { ZoneAnswerer } from '../../src/answer/zone-answerer.js';
import { ClusterState } from '../../src/cluster/cluster-state.js';
import { ClusterZone } from '../../src/zone/cluster-zone.js';
import { keptLog } from './kept-log.js';
import { type Answer, type Asked, FakeClient, readAnswer, readQuery } from './messages.js';

const TTLS = { ttlSeconds: 30, negativeTtlSeconds: 5 };

/** Everything between a query and its answer, fed with objects by hand. */
export class Answers {
  readonly log = keptLog();
  readonly zone = new ClusterZone({ domain: 'cluster.local.', log: this.log, ...TTLS });
  readonly state = new ClusterState(this.zone, (work) => work());
  readonly forwarder: Forwarder;
  readonly answerer: KubednsAnswerer;
  servers: readonly ServerAddress[] = [];
  isSynced = true;

  constructor(options: { deadlineMs?: number; maxInFlight?: number } = {}) {
    const { deadlineMs = 2_000, maxInFlight = 10 } = options;
    this.forwarder = new Forwarder({ deadlineMs, maxInFlight });
    const zone = new ZoneAnswerer({ zone: this.zone, ...TTLS });
    const base = { forwarder: this.forwarder, servers: () => this.servers };
    this.answerer = new KubednsAnswerer({
      ...base,
      zone,
      externalNames: new ExternalNames({ ...base, zone, ...TTLS }),
      isSynced: () => this.isSynced,
    });
  }

  /** Asks these in place of nobody for names outside the cluster. */
  forwardTo(...addresses: string[]): void {
    this.servers = addresses.map((address) => parseServerAddress(address)!);
  }

  /** The answer to one question, whether it comes at once or later. */
  async ask(name: string, type: string | number, asked?: Asked): Promise<Answer> {
    const client = new FakeClient();
    const out = new Uint8Array(MAX_MESSAGE_BYTES);
    const query = readQuery(name, type, asked);
    const length = this.answerer.answer(query, out, client);
    if (length !== NO_ANSWER_YET) return readAnswer(out.subarray(0, length));
    // What belongs to the listener is soon another client's.
    query.bytes.fill(0xff);
    query.read(query.bytes, query.length, false, 512);
    return client.later;
  }
}
