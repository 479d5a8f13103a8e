import type { Writer } from 'protobufjs/minimal.js';

/** What a message is about (dnstap.proto, Message.Type): a query or an answer of a server of its own zone, of a resolver's clients, or of its own servers. */
export const DNSTAP_TYPE = {
  AUTH_QUERY: 1,
  AUTH_RESPONSE: 2,
  CLIENT_QUERY: 5,
  CLIENT_RESPONSE: 6,
  FORWARDER_QUERY: 7,
  FORWARDER_RESPONSE: 8,
} as const;
export type DnstapType = (typeof DNSTAP_TYPE)[keyof typeof DNSTAP_TYPE];

/** How it travelled (dnstap.proto, SocketProtocol). */
export const DNSTAP_PROTOCOL = { UDP: 1, TCP: 2, DOT: 3, DOH: 4 } as const;
export type DnstapProtocol = (typeof DNSTAP_PROTOCOL)[keyof typeof DNSTAP_PROTOCOL];

/** One message, reused for the next one. */
export interface DnstapMessage {
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
export class DnstapEncoder {
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
