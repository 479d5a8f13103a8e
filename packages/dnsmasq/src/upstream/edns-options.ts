import type { Log } from '@kube-dns/daemon';
import type { AddedOptions } from '@kube-dns/transport';
import { EDNS_OPTION, type Query } from '@kube-dns/wire';
import { clientAddress } from '../listen/client-address.js';
import type { EdnsChanges } from '../options/values.js';
import { isSubnetData, subnetData, umbrellaData } from './client-options.js';
import type { Neighbours } from './neighbours.js';
import { encodeOption, findOption } from './option-bytes.js';

/** EDNS options: Cisco's, and those of dnsmasq and Nominum (dnsmasq src/dns-protocol.h). */
const OPTION = { UMBRELLA: 20292, MAC: 65001, MAC_TEXT: 65073, CPE_ID: 65074 } as const;
/** The offset of SCOPE PREFIX-LENGTH, which only a reply sets. */
const SCOPE_AT = 3;
const LOG_EVERY_MS = 1_000;

/** The options that a client's query is sent upstream with. */
export interface QueryOptions extends AddedOptions {
  /** The answer may be sent to other clients. */
  readonly isForAll: boolean;
  /** The subnet among them: a reply about another one is discarded. */
  readonly subnet: Uint8Array | undefined;
}

/**
 * The EDNS options that queries for upstream servers get by `--add-…` and `--umbrella`. Options of clients do not
 * leave (RFC 6891 section 6.1.1), but with `--add-subnet` a client's own subnet takes the place of ours, unless
 * `--strip-subnet` says otherwise.
 */
export class EdnsOptions {
  readonly #changes: EdnsChanges;
  readonly #neighbours: Neighbours;
  readonly #log: Pick<Log, 'warn'>;
  readonly #now: () => number;
  #nextLogMs = 0;

  /** `now`: milliseconds that never fall. */
  constructor(
    changes: EdnsChanges,
    neighbours: Neighbours,
    log: Pick<Log, 'warn'>,
    now = () => performance.now(),
  ) {
    this.#changes = changes;
    this.#neighbours = neighbours;
    this.#log = log;
    this.#now = now;
  }

  /** The options for the query of a client at this address, in dnsmasq's order (src/edns0.c, add_edns0_config). */
  optionsFor(query: Query, address: string): QueryOptions {
    const { addsMac, addsMacText, cpeId, umbrella, addsSubnet } = this.#changes;
    const client = clientAddress(address);
    const mac = this.#macOf(client);
    const options: Buffer[] = [];
    if (addsMac && mac !== undefined) options.push(encodeOption(OPTION.MAC, mac));
    if (addsMacText !== 'no' && mac !== undefined) {
      options.push(encodeOption(OPTION.MAC_TEXT, textOf(mac, addsMacText)));
    }
    if (cpeId !== '') options.push(encodeOption(OPTION.CPE_ID, Buffer.from(cpeId)));
    if (umbrella !== undefined) {
      options.push(encodeOption(OPTION.UMBRELLA, umbrellaData(umbrella, client)));
    }
    const theirs = this.#clientSubnet(query);
    const ours = addsSubnet === undefined ? undefined : subnetData(addsSubnet, client);
    const subnet = theirs ?? ours?.data;
    if (subnet !== undefined) options.push(encodeOption(EDNS_OPTION.SUBNET, subnet));
    const isOfClient = theirs !== undefined || ours?.isOfClient === true;
    return {
      bytes: Buffer.concat(options),
      hasClientSubnet: theirs !== undefined,
      isForAll: mac === undefined && umbrella === undefined && !isOfClient,
      // A query with other records is sent without these options.
      subnet: query.hasOtherRecords ? undefined : subnet,
    };
  }

  /** Whether a reply names another subnet than the query (RFC 7871 section 7.3). */
  isForeign(reply: Uint8Array, subnet: Uint8Array): boolean {
    const named = findOption(reply, reply.length, EDNS_OPTION.SUBNET);
    if (named === undefined || isSameSubnet(named, subnet)) return false;
    const nowMs = this.#now();
    if (nowMs >= this.#nextLogMs) {
      this.#nextLogMs = nowMs + LOG_EVERY_MS;
      this.#log.warn('discarding DNS reply: subnet option mismatch');
    }
    return true;
  }

  /** The subnet that a client sent, when it is to be sent on. */
  #clientSubnet(query: Query): Uint8Array | undefined {
    const { addsSubnet, stripsSubnet } = this.#changes;
    if (addsSubnet === undefined || stripsSubnet || !query.hasEdns) return undefined;
    const subnet = findOption(query.bytes, query.length, EDNS_OPTION.SUBNET);
    return subnet !== undefined && isSubnetData(subnet) ? new Uint8Array(subnet) : undefined;
  }

  #macOf(client: Uint8Array): Uint8Array | undefined {
    const { addsMac, addsMacText } = this.#changes;
    return addsMac || addsMacText !== 'no' ? this.#neighbours.macOf(client) : undefined;
  }
}

/** Whether any option is to be added. */
export function addsOptions(changes: EdnsChanges): boolean {
  const { addsMac, addsMacText, cpeId, umbrella, addsSubnet } = changes;
  const addsId = addsMac || addsMacText !== 'no' || cpeId !== '' || umbrella !== undefined;
  return addsId || addsSubnet !== undefined;
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
