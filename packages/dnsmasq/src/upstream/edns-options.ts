import type { Log } from '@kube-dns/daemon';
import { MAX_MESSAGE_BYTES, Query } from '@kube-dns/wire';
import { clientAddress } from '../listen/client-address.js';
import type { EdnsChanges } from '../options/edns-changes.js';
import { subnetData, umbrellaData } from './client-options.js';
import type { Neighbours } from './neighbours.js';
import { findOption, type OptionChange, writeChanged } from './option-changes.js';

/** EDNS options: RFC 7871, Cisco's, and those of dnsmasq and Nominum (dnsmasq src/dns-protocol.h). */
const OPTION = { SUBNET: 8, UMBRELLA: 20292, MAC: 65001, MAC_TEXT: 65073, CPE_ID: 65074 } as const;
/** The offset of SCOPE PREFIX-LENGTH, which only a reply sets. */
const SCOPE_AT = 3;
const LOG_EVERY_MS = 1_000;

/** A query as it is sent upstream. */
export interface ChangedQuery {
  /** Valid until the next call. What concerns the client is as in the original query. */
  readonly query: Query;
  /** The answer may be sent to other clients. */
  readonly isForAll: boolean;
  /** The subnet in the query: a reply about another one is discarded. */
  readonly subnet: Uint8Array | undefined;
}

/** Changes the EDNS options of queries for upstream servers as `--add-…` and `--strip-…` say. */
export class EdnsOptions {
  readonly #changes: EdnsChanges;
  readonly #neighbours: Neighbours;
  readonly #log: Pick<Log, 'warn'>;
  readonly #bytes = new Uint8Array(MAX_MESSAGE_BYTES);
  readonly #changed = new Query();
  #nextLogMs = 0;

  constructor(changes: EdnsChanges, neighbours: Neighbours, log: Pick<Log, 'warn'>) {
    this.#changes = changes;
    this.#neighbours = neighbours;
    this.#log = log;
  }

  /** The query of a client at this address, with its options changed. */
  apply(query: Query, address: string): ChangedQuery {
    const client = clientAddress(address);
    const mac = this.#macOf(client);
    const { addsSubnet, umbrella } = this.#changes;
    const subnet = addsSubnet === undefined ? undefined : subnetData(addsSubnet, client);
    const length = writeChanged(query, this.#changesFor(client, mac, subnet?.data), this.#bytes);
    const sent = length === 0 ? query : this.#read(query, length);
    return {
      query: sent,
      isForAll: mac === undefined && umbrella === undefined && subnet?.isOfClient !== true,
      subnet:
        subnet === undefined
          ? undefined
          : findOption(sent.bytes, sent.length, OPTION.SUBNET)?.slice(),
    };
  }

  /** Whether a reply names another subnet than the query (RFC 7871 section 7.3). */
  isForeign(reply: Uint8Array, subnet: Uint8Array): boolean {
    const named = findOption(reply, reply.length, OPTION.SUBNET);
    if (named === undefined || isSameSubnet(named, subnet)) return false;
    const now = performance.now();
    if (now >= this.#nextLogMs) {
      this.#nextLogMs = now + LOG_EVERY_MS;
      this.#log.warn('discarding DNS reply: subnet option mismatch');
    }
    return true;
  }

  /** In the order in which dnsmasq adds them (src/edns0.c, add_edns0_config). */
  #changesFor(
    client: Uint8Array,
    mac: Uint8Array | undefined,
    subnet: Uint8Array | undefined,
  ): readonly OptionChange[] {
    const { addsMac, addsMacText, stripsMac, cpeId, umbrella, stripsSubnet } = this.#changes;
    const macText =
      mac === undefined || addsMacText === 'no' ? undefined : textOf(mac, addsMacText);
    return [
      { code: OPTION.MAC, data: addsMac ? mac : undefined, replaces: stripsMac },
      { code: OPTION.MAC_TEXT, data: macText, replaces: stripsMac },
      ...(cpeId === '' ? [] : [{ code: OPTION.CPE_ID, data: Buffer.from(cpeId), replaces: true }]),
      ...(umbrella === undefined
        ? []
        : [{ code: OPTION.UMBRELLA, data: umbrellaData(umbrella, client), replaces: true }]),
      { code: OPTION.SUBNET, data: subnet, replaces: stripsSubnet },
    ];
  }

  #macOf(client: Uint8Array): Uint8Array | undefined {
    const { addsMac, addsMacText } = this.#changes;
    return addsMac || addsMacText !== 'no' ? this.#neighbours.macOf(client) : undefined;
  }

  /** The changed query; what concerns the client, such as whether it uses EDNS, stays. */
  #read(query: Query, length: number): Query {
    const changed = this.#changed;
    const { isOverTcp, maxUdpBytes, hasEdns, maxAnswerBytes } = query;
    if (changed.read(this.#bytes, length, isOverTcp, maxUdpBytes) !== 'answer') return query;
    changed.hasEdns = hasEdns;
    changed.maxAnswerBytes = maxAnswerBytes;
    return changed;
  }
}

/** Whether any option is to be changed. */
export function changesOptions(changes: EdnsChanges): boolean {
  const { addsMac, addsMacText, stripsMac, cpeId, umbrella, addsSubnet, stripsSubnet } = changes;
  const isAdding = addsMac || addsMacText !== 'no' || cpeId !== '' || umbrella !== undefined;
  return isAdding || addsSubnet !== undefined || stripsMac || stripsSubnet;
}

function textOf(mac: Uint8Array, form: 'base64' | 'text'): Buffer {
  const text = form === 'base64' ? Buffer.from(mac).toString('base64') : hexPairs(mac);
  return Buffer.from(text);
}

function hexPairs(mac: Uint8Array): string {
  return Array.from(mac, (byte) => byte.toString(16).padStart(2, '0')).join(':');
}

function isSameSubnet(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  return one.every((byte, i) => i === SCOPE_AT || byte === other[i]);
}
