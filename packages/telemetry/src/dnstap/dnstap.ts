import { hostname } from 'node:os';
import { type Log, VERSION } from '@kube-dns/daemon';
import { type ExchangeObserver, isStreamed, type ServerAddress } from '@kube-dns/transport';
import { addressBytes, parseAddress } from '@kube-dns/wire';
import type { AnswerSink, ObservedAnswer } from '../observed-answer.js';
import {
  DNSTAP_PROTOCOL,
  DNSTAP_TYPE,
  DnstapEncoder,
  type DnstapMessage,
  type DnstapProtocol,
} from './dnstap-message.js';
import { DnstapStream } from './dnstap-stream.js';
import type { DnstapTarget } from './dnstap-target.js';

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

const CLIENT_TYPES = {
  authoritative: [DNSTAP_TYPE.AUTH_QUERY, DNSTAP_TYPE.AUTH_RESPONSE],
  resolver: [DNSTAP_TYPE.CLIENT_QUERY, DNSTAP_TYPE.CLIENT_RESPONSE],
} as const;
const UNKNOWN = new Uint8Array(0);

/** Sends every query and answer, and what servers are asked and reply, as dnstap messages; off unless `--dnstap` is given. */
export class Dnstap implements AnswerSink, ExchangeObserver {
  readonly stream: DnstapStream;
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
    this.stream = new DnstapStream({ target, log });
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
  note(answer: ObservedAnswer): void {
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
