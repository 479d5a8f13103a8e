import { hostname } from 'node:os';
import type { Writer } from 'protobufjs/minimal.js';
import { type Log, VERSION } from '@kube-dns/daemon';
import { isStreamed, type ServerAddress } from '@kube-dns/transport';
import { addressBytes, parseAddress } from '@kube-dns/wire';
import type { DnstapTarget } from './dnstap-target.js';
import { FrameStream } from './frame-stream.js';
import type { ObservedAnswer, QuerySink } from './observed-answer.js';

/** Whose answers these are: those of a server for its own zone, or of one that asks others. */
export type DnstapRole = 'authoritative' | 'resolver';

export interface DnstapOptions {
  /** Null for no messages. */
  readonly target: DnstapTarget | null;
  readonly role: DnstapRole;
  /** Its name in the messages, with the version. */
  readonly program: string;
  /** Where clients ask: an address, '' where it may be any, and a port. */
  readonly served: { readonly address: string; readonly port: number };
  readonly log: Pick<Log, 'info' | 'warn'>;
}

type SenderOptions = Omit<DnstapOptions, 'target'>;

/** What a message is about (dnstap.proto, Message.Type): a query or an answer of a server of its own zone, of a resolver's clients, or of its own servers. */
const DNSTAP_TYPE = {
  AUTH_QUERY: 1,
  AUTH_RESPONSE: 2,
  CLIENT_QUERY: 5,
  CLIENT_RESPONSE: 6,
  FORWARDER_QUERY: 7,
  FORWARDER_RESPONSE: 8,
} as const;
type DnstapType = (typeof DNSTAP_TYPE)[keyof typeof DNSTAP_TYPE];

/** How it travelled (dnstap.proto, SocketProtocol). */
const DNSTAP_PROTOCOL = { UDP: 1, TCP: 2, DOT: 3, DOH: 4 } as const;
type DnstapProtocol = (typeof DNSTAP_PROTOCOL)[keyof typeof DNSTAP_PROTOCOL];

/** One message, reused for the next one. */
interface DnstapMessage {
  type: DnstapType;
  protocol: DnstapProtocol;
  /** Who asks: the client, or this process. Empty where that is not known, port 0 likewise. */
  queryAddress: Uint8Array;
  queryPort: number;
  /** Who answers. */
  responseAddress: Uint8Array;
  responsePort: number;
  /** Milliseconds since the epoch, with fractions. */
  queryMs: number;
  /** 0 in the message of a query. */
  responseMs: number;
  /** The bytes of the query, or of the answer. */
  message: Uint8Array;
}

const CLIENT_TYPES = {
  authoritative: [DNSTAP_TYPE.AUTH_QUERY, DNSTAP_TYPE.AUTH_RESPONSE],
  resolver: [DNSTAP_TYPE.CLIENT_QUERY, DNSTAP_TYPE.CLIENT_RESPONSE],
} as const;
const UNKNOWN = new Uint8Array(0);

/** Sends every query and answer, and what servers are asked and reply, as dnstap messages; off unless `--dnstap` is given. */
export class Dnstap implements QuerySink {
  readonly stream: FrameStream;
  readonly #encoder: DnstapEncoder;
  readonly #types: (typeof CLIENT_TYPES)[DnstapRole];
  readonly #servedAddress: Uint8Array;
  readonly #servedPort: number;
  readonly #message: DnstapMessage = {
    type: DNSTAP_TYPE.CLIENT_QUERY,
    protocol: DNSTAP_PROTOCOL.UDP,
    queryAddress: UNKNOWN,
    queryPort: 0,
    responseAddress: UNKNOWN,
    responsePort: 0,
    queryMs: 0,
    responseMs: 0,
    message: UNKNOWN,
  };
  /** The bytes of servers' addresses; of those that are asked now. */
  readonly #addresses = new WeakMap<ServerAddress, Uint8Array>();

  private constructor(target: DnstapTarget, options: SenderOptions, encoder: DnstapEncoder) {
    const { role, served, log } = options;
    this.stream = new FrameStream({ target, log });
    this.#encoder = encoder;
    this.#types = CLIENT_TYPES[role];
    this.#servedAddress = parseAddress(served.address) ?? UNKNOWN;
    this.#servedPort = served.port;
  }

  /** Loads what writes the messages, and begins to look for the reader. */
  static async open(target: DnstapTarget, options: SenderOptions): Promise<Dnstap> {
    const { default: protobuf } = await import('protobufjs/minimal.js');
    const identity = target.identity ?? hostname();
    const writer = protobuf.Writer.create();
    return new Dnstap(
      target,
      options,
      new DnstapEncoder(writer, identity, `${options.program} ${VERSION}`),
    );
  }

  /** A client's query, and its answer if there was one. */
  answered(answer: ObservedAnswer): void {
    const { query, address, addressBytes: bytes, startedMs, endedMs, length } = answer;
    const message = this.#message;
    const epochMs = Date.now() - performance.now();
    message.type = this.#types[0];
    message.protocol = query.isOverTcp ? DNSTAP_PROTOCOL.TCP : DNSTAP_PROTOCOL.UDP;
    message.queryAddress = address.subarray(0, bytes);
    message.queryPort = answer.port;
    message.responseAddress = this.#servedAddress;
    message.responsePort = this.#servedPort;
    message.queryMs = epochMs + startedMs;
    message.responseMs = 0;
    message.message = query.bytes.subarray(0, query.length);
    this.#send();
    if (length === 0) return;
    message.type = this.#types[1];
    message.responseMs = epochMs + endedMs;
    message.message = answer.message.subarray(0, length);
    this.#send();
  }

  sent(server: ServerAddress, query: Uint8Array, isOverTcp: boolean): void {
    const message = this.#about(server, isOverTcp);
    message.type = DNSTAP_TYPE.FORWARDER_QUERY;
    message.queryMs = Date.now();
    message.responseMs = 0;
    message.message = query;
    this.#send();
  }

  replied(
    server: ServerAddress,
    _query: Uint8Array,
    reply: Uint8Array,
    isOverTcp: boolean,
    ms: number,
  ): void {
    const message = this.#about(server, isOverTcp);
    message.type = DNSTAP_TYPE.FORWARDER_RESPONSE;
    message.responseMs = Date.now();
    message.queryMs = message.responseMs - ms;
    message.message = reply;
    this.#send();
  }

  /** Sends what waits, half a second long at most. */
  close(): Promise<void> {
    return this.stream.close();
  }

  #send(): void {
    if (this.stream.hasRoom) this.stream.send(this.#encoder.encode(this.#message));
    else this.stream.drop();
  }

  #about(server: ServerAddress, isOverTcp: boolean): DnstapMessage {
    const message = this.#message;
    let address = this.#addresses.get(server);
    if (address === undefined) {
      address = addressBytes(server.address.replace(/%.*$/, ''));
      this.#addresses.set(server, address);
    }
    message.protocol = protocolOf(server, isOverTcp);
    // Its own address is the system's choice.
    message.queryAddress = UNKNOWN;
    message.queryPort = 0;
    message.responseAddress = address;
    message.responsePort = server.port;
    return message;
  }
}

function protocolOf(server: ServerAddress, isOverTcp: boolean): DnstapProtocol {
  const { encryption } = server;
  if (encryption?.protocol === 'tls') return DNSTAP_PROTOCOL.DOT;
  if (encryption?.protocol === 'https') return DNSTAP_PROTOCOL.DOH;
  return isOverTcp || isStreamed(server) ? DNSTAP_PROTOCOL.TCP : DNSTAP_PROTOCOL.UDP;
}

/** Field numbers with their wire types, as in dnstap.proto. */
const tag = (field: number, wire: number) => (field << 3) | wire;
const VARINT = 0;
const BYTES = 2;
const FIXED32 = 5;
const DNSTAP = {
  identity: tag(1, BYTES),
  version: tag(2, BYTES),
  message: tag(14, BYTES),
  type: tag(15, VARINT),
};
const MESSAGE = {
  type: tag(1, VARINT),
  family: tag(2, VARINT),
  protocol: tag(3, VARINT),
  queryAddress: tag(4, BYTES),
  responseAddress: tag(5, BYTES),
  queryPort: tag(6, VARINT),
  responsePort: tag(7, VARINT),
  querySeconds: tag(8, VARINT),
  queryNanoseconds: tag(9, FIXED32),
  query: tag(10, BYTES),
  responseSeconds: tag(12, VARINT),
  responseNanoseconds: tag(13, FIXED32),
  response: tag(14, BYTES),
};
const TYPE_MESSAGE = 1;
const FAMILY = { INET: 1, INET6: 2 };
const IPV6_BYTES = 16;
const NS_PER_MS = 1_000_000;

/** Writes messages as protobuf. */
class DnstapEncoder {
  readonly #writer: Writer;
  /** The fields that all messages begin with. */
  readonly #head: Uint8Array;

  constructor(writer: Writer, identity: string, version: string) {
    this.#writer = writer;
    writer.uint32(DNSTAP.identity).bytes(Buffer.from(identity));
    writer.uint32(DNSTAP.version).bytes(Buffer.from(version));
    writer.uint32(DNSTAP.type).uint32(TYPE_MESSAGE);
    this.#head = writer.finish();
  }

  /** The bytes of a message, valid until the next call. */
  encode(message: DnstapMessage): Uint8Array {
    const { type, protocol, queryAddress, responseAddress, responseMs } = message;
    const writer = this.#writer.reset();
    writer.raw(this.#head).uint32(DNSTAP.message).fork();
    writer.uint32(MESSAGE.type).uint32(type);
    const isIpv6 = queryAddress.length === IPV6_BYTES || responseAddress.length === IPV6_BYTES;
    writer.uint32(MESSAGE.family).uint32(isIpv6 ? FAMILY.INET6 : FAMILY.INET);
    writer.uint32(MESSAGE.protocol).uint32(protocol);
    this.#addAddress(MESSAGE.queryAddress, queryAddress);
    this.#addAddress(MESSAGE.responseAddress, responseAddress);
    this.#addPort(MESSAGE.queryPort, message.queryPort);
    this.#addPort(MESSAGE.responsePort, message.responsePort);
    this.#addTime(MESSAGE.querySeconds, MESSAGE.queryNanoseconds, message.queryMs);
    if (responseMs > 0) {
      this.#addTime(MESSAGE.responseSeconds, MESSAGE.responseNanoseconds, responseMs);
    }
    writer.uint32(responseMs > 0 ? MESSAGE.response : MESSAGE.query).bytes(message.message);
    return writer.ldelim().finish(true);
  }

  #addAddress(field: number, address: Uint8Array): void {
    if (address.length > 0) this.#writer.uint32(field).bytes(address);
  }

  #addPort(field: number, port: number): void {
    if (port > 0) this.#writer.uint32(field).uint32(port);
  }

  #addTime(secondsField: number, nanosecondsField: number, ms: number): void {
    const seconds = Math.floor(ms / 1_000);
    const nanoseconds = Math.floor((ms - seconds * 1_000) * NS_PER_MS);
    this.#writer.uint32(secondsField).uint32(seconds).uint32(nanosecondsField).fixed32(nanoseconds);
  }
}
