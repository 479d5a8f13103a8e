import type { ClientNetworks } from '@kube-dns/base';
import type { Log } from '@kube-dns/daemon';
import {
  type Answerer,
  type Client,
  NO_ANSWER_YET,
  type ReplyStream,
  SOURCE,
} from '@kube-dns/transport';
import {
  AnswerSigner,
  AnswerWriter,
  checkTsig,
  CLASS,
  copyQuery,
  decodeName,
  EXTENDED_ERROR,
  extendedErrorOption,
  isNewerSerial,
  type Query,
  RCODE,
  readIxfrSerial,
  readTsig,
  readUint32,
  refuseTsig,
  SECTION,
  signMessage,
  type Tsig,
  TSIG_ERROR,
  type TsigKey,
  TYPE,
} from '@kube-dns/wire';
import { Transfer } from './transfer.js';
import type { TransferableZone, TransferableZones } from './transferable-zone.js';

/** Transfers at a time: a secondary asks for several zones at once. */
const MAX_TRANSFERS = 8;
const MAX_OF_CLIENT = 4;
/** For all transfers in one turn of the event loop: then queries are answered. */
const TURN_MS = 2;
/** A secondary that reads nothing for this long is cut off. Without traffic the listener does it after ten seconds. */
const STALL_MS = 8_000;
/** One that reads, but slowly: its transfer keeps what changes meanwhile. */
const MAX_MS = 300_000;
/** How often these are looked at. */
const LOOK_MS = 1_000;
const LOG_EVERY_MS = 60_000;
/** What a signature usually takes; where it takes more, the answer has TC, and the client asks over TCP. */
const TSIG_BYTES = 256;
const CLASSIC_UDP_BYTES = 512;
/** The serial is the first of five 32-bit numbers at the end of the rdata. */
const SOA_SERIAL_FROM_END = 20;

const NOT_READY = extendedErrorOption(EXTENDED_ERROR.NOT_READY, 'no list of the cluster yet');
const FROM_SNAPSHOT = extendedErrorOption(EXTENDED_ERROR.NOT_READY, 'answers from a snapshot');
const PROHIBITED = extendedErrorOption(EXTENDED_ERROR.PROHIBITED, 'not in --transfer-to');
const UNSIGNED = extendedErrorOption(EXTENDED_ERROR.PROHIBITED, 'not signed by --transfer-key');
const NOT_OVER_UDP = extendedErrorOption(EXTENDED_ERROR.NOT_SUPPORTED, 'AXFR over TCP alone');
const NO_APEX = extendedErrorOption(EXTENDED_ERROR.NOT_AUTHORITATIVE, 'not the name of a zone');
const TOO_MANY = extendedErrorOption(EXTENDED_ERROR.OTHER, 'too many transfers');
const NOTHING = new Uint8Array(0);

/** How requests for a transfer end. */
export const TRANSFER_RESULTS = [
  /** All of the zone was sent. */
  'complete',
  /** An IXFR got the SOA alone: there is nothing newer, or it came over UDP. */
  'soa',
  /** Another address, over UDP, or not signed. */
  'refused',
  /** A wrong signature. */
  'bad_signature',
  /** An IXFR without its SOA, or a name that is no zone's. */
  'malformed',
  /** The cluster is not listed yet, or there are too many transfers. */
  'unavailable',
  /** The secondary closed the connection before the end, */
  'aborted',
  /** or read nothing, or too slowly. */
  'stalled',
] as const;
export type TransferResult = (typeof TRANSFER_RESULTS)[number];

export interface TransfersOptions {
  readonly zones: TransferableZones;
  /** Who may transfer the zones. */
  readonly networks: ClientNetworks;
  /** Requests must be signed by it, where there is one. */
  readonly key: TsigKey | undefined;
  readonly ttlSeconds: number;
  readonly isSynced: () => boolean;
  /** What a secondary has may be newer than a snapshot. */
  readonly isFromSnapshot: () => boolean;
  readonly log: Pick<Log, 'warn' | 'verbose'>;
  /** Milliseconds that never fall; the process's unless given. */
  readonly now?: () => number;
  /** Milliseconds since the epoch. */
  readonly wallNow?: () => number;
}

/** Gives zones to their secondaries (RFC 5936, RFC 1995); all other questions go to another answerer. */
export class Transfers {
  readonly results = Object.fromEntries(TRANSFER_RESULTS.map((result) => [result, 0])) as Record<
    TransferResult,
    number
  >;
  readonly #options: TransfersOptions;
  readonly #writer = new AnswerWriter();
  readonly #now: () => number;
  readonly #wallNow: () => number;
  readonly #running = new Set<Transfer>();
  #turn: NodeJS.Immediate | undefined;
  #looking: NodeJS.Timeout | undefined;
  #loggedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: TransfersOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#wallNow = options.wallNow ?? Date.now;
  }

  /** How many there are now. */
  get running(): number {
    return this.#running.size;
  }

  /** The answerer of all questions: with the answers of another one to those that are not of a secondary. */
  before(answerer: Answerer): Answerer {
    return {
      answer: (query, out, client) => {
        const { type } = query;
        const isPlain = type !== TYPE.AXFR && type !== TYPE.IXFR && type !== TYPE.SOA;
        if (isPlain && !query.hasOtherRecords) return answerer.answer(query, out, client);
        return this.#answer(query, out, client, answerer);
      },
    };
  }

  /** Ends the transfers; may be called twice. */
  close(): void {
    for (const transfer of this.#running) transfer.stream.abort();
    for (const transfer of this.#running) this.#leave(transfer);
  }

  #answer(query: Query, out: Uint8Array, client: Client, answerer: Answerer): number {
    const { zones, networks } = this.#options;
    const isTransfer = query.type === TYPE.AXFR || query.type === TYPE.IXFR;
    // A transfer of any zone is answered here: a server that trusts this address would give its zones to all who ask here.
    const isAnswered = isTransfer || zones.concerns(query.name, query.nameLength);
    if (query.class !== CLASS.IN || !isAnswered) return answerer.answer(query, out, client);
    if (!networks.has(client.address)) {
      if (!isTransfer) return this.#answerPlain(query, out, client, answerer);
      this.#warn(client, query);
      return this.#refuse('refused', query, out, RCODE.REFUSED, PROHIBITED);
    }
    const tsig = query.hasOtherRecords ? readTsig(query.bytes.subarray(0, query.length)) : 'none';
    if (tsig === 'malformed') return this.#refuse('malformed', query, out, RCODE.FORMERR);
    if (tsig !== 'none') return this.#answerSigned(query, out, client, tsig, answerer);
    if (!isTransfer) return this.#answerPlain(query, out, client, answerer);
    if (this.#options.key !== undefined)
      return this.#refuse('refused', query, out, RCODE.REFUSED, UNSIGNED);
    return this.#answerTransfer(query, out, client, undefined);
  }

  #answerSigned(
    query: Query,
    out: Uint8Array,
    client: Client,
    tsig: Tsig,
    answerer: Answerer,
  ): number {
    const { key } = this.#options;
    const isTransfer = query.type === TYPE.AXFR || query.type === TYPE.IXFR;
    // As before there were keys here.
    if (key === undefined && !isTransfer) return this.#answerPlain(query, out, client, answerer);
    const nowSeconds = this.#wallSeconds();
    const message = query.bytes.subarray(0, query.length);
    const error = key === undefined ? TSIG_ERROR.BADKEY : checkTsig(message, tsig, key, nowSeconds);
    if (error === RCODE.FORMERR) return this.#refuse('malformed', query, out, RCODE.FORMERR);
    if (key === undefined || error === TSIG_ERROR.BADKEY || error === TSIG_ERROR.BADSIG) {
      const length = this.#refuse('bad_signature', query, out, RCODE.NOTAUTH);
      return refuseTsig(out, length, tsig, error);
    }
    const { mac, timeSeconds } = tsig;
    // The message of the query is valid during this call alone.
    const requestMac = Uint8Array.from(mac);
    if (error !== RCODE.NOERROR) {
      const length = this.#refuse('bad_signature', query, out, RCODE.NOTAUTH);
      const times = error === TSIG_ERROR.BADTIME ? { serverTimeSeconds: nowSeconds } : {};
      return signMessage(out, length, key, { timeSeconds, requestMac, error, ...times });
    }
    const { maxAnswerBytes } = query;
    query.maxAnswerBytes = Math.max(CLASSIC_UDP_BYTES, maxAnswerBytes - TSIG_BYTES);
    const length = isTransfer
      ? this.#answerTransfer(query, out, client, { key, requestMac })
      : this.#answerPlain(query, out, client, answerer);
    query.maxAnswerBytes = maxAnswerBytes;
    // What another server is asked for comes later, and is not signed.
    if (length === NO_ANSWER_YET) return length;
    return signMessage(out, length, key, { timeSeconds: nowSeconds, requestMac });
  }

  /**
   * A question that is no transfer. That for the SOA of a zone is told as to a secondary; a reverse zone has one only for a
   * secondary that asks as such: without recursion.
   */
  #answerPlain(query: Query, out: Uint8Array, client: Client, answerer: Answerer): number {
    if (query.type !== TYPE.SOA) return answerer.answer(query, out, client);
    const { zones, networks, isSynced, isFromSnapshot } = this.#options;
    const zone = zones.find(query.name, query.nameLength);
    const isKnown = isSynced() && !isFromSnapshot() && zone?.isKnown?.() !== false;
    if (zone === undefined || !isKnown) return answerer.answer(query, out, client);
    const rdata = zone.tellSoa();
    const isSecondary = !query.isRecursionDesired && networks.has(client.address);
    return isSecondary
      ? this.#answerSoa(query, out, client, rdata)
      : answerer.answer(query, out, client);
  }

  #answerSoa(query: Query, out: Uint8Array, client: Client, rdata: Uint8Array): number {
    client.answersFrom(SOURCE.ZONE);
    this.#writer.begin(query, out, query.maxAnswerBytes);
    this.#writer.setAuthoritative();
    this.#writer.add(SECTION.ANSWER, undefined, TYPE.SOA, this.#options.ttlSeconds, rdata);
    return this.#writer.finish();
  }

  #answerTransfer(
    query: Query,
    out: Uint8Array,
    client: Client,
    signing: { readonly key: TsigKey; readonly requestMac: Uint8Array } | undefined,
  ): number {
    const { zones, isSynced, isFromSnapshot } = this.#options;
    const zone = zones.find(query.name, query.nameLength);
    if (zone === undefined) return this.#refuse('malformed', query, out, RCODE.NOTAUTH, NO_APEX);
    if (!isSynced() || zone.isKnown?.() === false)
      return this.#refuse('unavailable', query, out, RCODE.SERVFAIL, NOT_READY);
    if (isFromSnapshot())
      return this.#refuse('unavailable', query, out, RCODE.SERVFAIL, FROM_SNAPSHOT);
    if (query.type === TYPE.IXFR) {
      const serial = readIxfrSerial(query);
      if (serial === undefined) return this.#refuse('malformed', query, out, RCODE.FORMERR);
      const rdata = zone.tellSoa();
      const own = readUint32(rdata, rdata.length - SOA_SERIAL_FROM_END);
      if (!query.isOverTcp || !isNewerSerial(own, serial)) {
        this.results.soa++;
        return this.#answerSoa(query, out, client, rdata);
      }
    } else if (!query.isOverTcp)
      return this.#refuse('refused', query, out, RCODE.REFUSED, NOT_OVER_UDP);
    if (this.#isFullFor(client) || client.stream === undefined)
      return this.#refuse('unavailable', query, out, RCODE.SERVFAIL, TOO_MANY);
    client.answersFrom(SOURCE.ZONE);
    const signer = signing && new AnswerSigner(signing.key, signing.requestMac);
    this.#start(zone, copyQuery(query), client.stream(), signer);
    return NO_ANSWER_YET;
  }

  #isFullFor({ address }: Client): boolean {
    if (this.#running.size >= MAX_TRANSFERS) return true;
    let own = 0;
    for (const { stream } of this.#running) if (stream.address === address) own++;
    return own >= MAX_OF_CLIENT;
  }

  #start(
    zone: TransferableZone,
    query: Query,
    stream: ReplyStream,
    signer: AnswerSigner | undefined,
  ): void {
    const { ttlSeconds, log } = this.#options;
    const transfer = new Transfer({
      query,
      stream,
      view: zone.openView(),
      ttlSeconds,
      signer,
      now: this.#now,
      wallSeconds: () => this.#wallSeconds(),
    });
    this.#running.add(transfer);
    log.verbose(1, `transfer of ${decodeName(zone.apex)} to ${stream.address}: begins`);
    stream.onDrain = () => {
      transfer.resume();
      this.#goOnLater();
    };
    stream.onClose = () => {
      this.results.aborted++;
      this.#leave(transfer);
    };
    this.#looking ??= setInterval(() => this.#look(), LOOK_MS).unref();
    this.#goOnLater();
  }

  #leave(transfer: Transfer): void {
    transfer.close();
    this.#running.delete(transfer);
    if (this.#running.size > 0) return;
    clearInterval(this.#looking);
    clearImmediate(this.#turn);
    this.#looking = this.#turn = undefined;
  }

  #goOnLater(): void {
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      this.#goOn();
    });
  }

  /** Each goes on for an equal part of the time of one turn. */
  #goOn(): void {
    const ready = [...this.#running].filter(({ isReady }) => isReady);
    for (const transfer of ready) {
      if (!transfer.goOn(this.#now() + TURN_MS / ready.length)) continue;
      this.results.complete++;
      transfer.stream.end();
      this.#leave(transfer);
      const { records, bytes, startedMs, stream } = transfer;
      const ms = Math.round(this.#now() - startedMs);
      this.#options.log.verbose(1, `transfer to ${stream.address}: ${records} records, ${bytes} bytes, ${ms} ms`); // prettier-ignore
    }
    for (const { isReady } of this.#running) if (isReady) this.#goOnLater();
  }

  #look(): void {
    const nowMs = this.#now();
    for (const transfer of this.#running) {
      const { waitingSinceMs = nowMs, startedMs, stream } = transfer;
      if (nowMs - waitingSinceMs < STALL_MS && nowMs - startedMs < MAX_MS) continue;
      this.results.stalled++;
      stream.abort();
      this.#leave(transfer);
    }
  }

  #refuse(
    result: TransferResult,
    query: Query,
    out: Uint8Array,
    rcode: number,
    reason: Uint8Array = NOTHING,
  ): number {
    this.results[result]++;
    this.#writer.begin(query, out);
    this.#writer.setRcode(rcode, reason);
    return this.#writer.finish();
  }

  #wallSeconds(): number {
    return Math.floor(this.#wallNow() / 1_000);
  }

  #warn({ address }: Client, { name, nameLength }: Query): void {
    const nowMs = this.#now();
    if (nowMs - this.#loggedAtMs < LOG_EVERY_MS) return;
    this.#loggedAtMs = nowMs;
    const zone = decodeName(name.slice(0, nameLength));
    this.#options.log.warn(`${address} may not transfer ${zone}: it is not in --transfer-to`);
  }
}
