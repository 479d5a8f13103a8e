import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2';
import { isIPv6, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import {
  buildQuery,
  encodeKey,
  HEADER_BYTES,
  MAX_MESSAGE_BYTES,
  readUint16,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';
import { randomId } from '../random-id.js';
import type { ServerAddress } from '../server-address.js';
import { paddable, paddedLength, writePadded } from './padding.js';

/** Loaded with the first server of DNS over HTTPS, see tls.ts. */
const nodeHttp2 = () => process.getBuiltinModule('node:http2');
/** One TLS record (RFC 8446 section 5.1): the queries of a turn of the event loop usually fit. */
const BLOCK_BYTES = 16_384;
const PREFIX_BYTES = 2;
const NOTHING = Buffer.alloc(0);
const MAX_STREAMS = 100;
const HTTPS_PORT = 443;
const MESSAGE_TYPE = 'application/dns-message';
const OK = 200;
/** Of one answer. A name server has no use for them; each is an event of its own. */
const MAX_INFORMATIONAL = 8;
/** An orderly end has two (RFC 9113 section 6.8). */
const MAX_GOAWAYS = 4;
/** Of one body: they come in frames of 16 KiB, or in what a segment of TCP takes. */
const MAX_PIECES = 512;

/** Receives what comes over one open connection. */
export interface CarrierHandler {
  /** A message of the server; its ID says which query it may answer. It belongs to the handler. */
  onMessage(message: Buffer): void;
  /** The server is there. */
  onAlive(): void;
  /** The server does not take this query on this connection; another may. */
  onRefused(id: number): void;
  /** The server cannot answer this query: a code for the text of the failure. */
  onRejected(id: number, code: string): void;
  /** The server takes no more queries here; it answers those that it has. */
  retire(): void;
  /** The connection is over, for the reason with this code: FLOOD where the server sends what has no use. */
  onEnd(code: string): void;
}

/** How queries and replies travel over one open connection: DNS over TLS, HTTPS or TCP. */
export interface Carrier {
  /** How many queries may be outstanding. */
  readonly limit: number;
  /** Sends a query under an ID that no other outstanding query has; the message may change afterwards. */
  send(id: number, query: Buffer): void;
  /** Takes what has arrived, where the socket is not its own to read. */
  push?(bytes: Buffer, length: number): void;
  /** Waits for no reply to this query any more. */
  cancel(id: number): void;
  /** Makes the server say something. */
  ping(): void;
  /** Ends the connection in order; the handler is not called afterwards. */
  close(): void;
}

/** What the carriers of a process do at the end of a turn of the event loop: write all that was sent, read all that came. */
export class EndOfTurn {
  #unflushed: StreamCarrier[] = [];
  #unread: StreamCarrier[] = [];
  readonly #flushAll = () => this.#flush();
  readonly #readAll: () => void;

  /** `together` runs `work`, which answers clients; the answers leave together where possible. */
  constructor(together: (work: () => void) => void) {
    const read = () => this.#read();
    this.#readAll = () => together(read);
  }

  flushLater(carrier: StreamCarrier): void {
    if (this.#unflushed.length === 0) setImmediate(this.#flushAll);
    this.#unflushed.push(carrier);
  }

  readLater(carrier: StreamCarrier): void {
    if (this.#unread.length === 0) setImmediate(this.#readAll);
    this.#unread.push(carrier);
  }

  #flush(): void {
    const carriers = this.#unflushed;
    this.#unflushed = [];
    for (const carrier of carriers) carrier.flush();
  }

  #read(): void {
    const carriers = this.#unread;
    this.#unread = [];
    for (const carrier of carriers) carrier.read();
  }
}

/**
 * DNS over TLS (RFC 7858) or TCP: messages with a length in front, answers in any order (RFC 7766). The queries of one turn of
 * the event loop are written together, each into its place in a block of memory that is used once. Its replies, each of
 * which may be a TLS record of its own, are read together.
 */
export class StreamCarrier implements Carrier {
  readonly limit = Number.POSITIVE_INFINITY;
  readonly #handler: CarrierHandler;
  readonly #turn: EndOfTurn;
  readonly #socket: Socket;
  readonly #pads: boolean;
  readonly #frames = new FrameBlocks();
  #isUnread = false;
  #block = NOTHING;
  #begin = 0;
  #end = 0;

  constructor(handler: CarrierHandler, turn: EndOfTurn, socket: Socket, pads: boolean) {
    this.#handler = handler;
    this.#turn = turn;
    this.#socket = socket;
    this.#pads = pads;
    const read = () => this.read();
    for (const event of ['end', 'error', 'close']) socket.prependListener(event, read);
  }

  send(id: number, query: Buffer): void {
    const length = this.#pads ? paddedLength(query) : query.length;
    if (this.#begin === this.#end) this.#turn.flushLater(this);
    if (this.#end + PREFIX_BYTES + length > this.#block.length) this.#renew(PREFIX_BYTES + length);
    const at = this.#end + PREFIX_BYTES;
    writeUint16(this.#block, this.#end, length);
    writePadded(query, this.#block, at, length);
    writeUint16(this.#block, at, id);
    this.#end = at + length;
  }

  push(bytes: Buffer, length: number): void {
    this.#frames.push(bytes, length);
    if (!this.#isUnread) this.#turn.readLater(this);
    this.#isUnread = true;
  }

  /** Reads what has arrived. */
  read(): void {
    this.#isUnread = false;
    for (let message = this.#frames.next(); message !== undefined; message = this.#frames.next()) {
      // RFC 1035 section 4.1.1: no message is shorter. Some 100,000 empty ones fit into a turn of the event loop.
      if (message.length < HEADER_BYTES) {
        this.#handler.onEnd('FLOOD');
        return;
      }
      this.#handler.onMessage(message);
    }
  }

  cancel(): void {
    // The reply will be ignored.
  }

  /** Any name server has a reply to this, if only a refusal. */
  ping(): void {
    const query = buildQuery(encodeKey('.'), TYPE.SOA);
    this.send(randomId(), this.#pads ? paddable(query) : Buffer.from(query));
  }

  /** Writes what the queries of this turn have left. */
  flush(): void {
    if (this.#begin === this.#end) return;
    const bytes = this.#block.subarray(this.#begin, this.#end);
    this.#begin = this.#end;
    this.#socket.write(bytes);
  }

  close(): void {
    this.flush();
    this.#socket.resume().destroySoon();
  }

  #renew(bytes: number): void {
    this.flush();
    this.#block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, bytes));
    this.#begin = this.#end = 0;
    this.#turn.flushLater(this);
  }
}

/**
 * Cuts a byte stream into DNS messages as FrameReader does, out of memory that may be overwritten afterwards: what
 * arrives is copied into blocks that are used once, so messages may be retained. It holds one block, and twice a
 * message that is longer.
 */
class FrameBlocks {
  #block = Buffer.alloc(0);
  #begin = 0;
  #end = 0;

  /** Adds the first bytes of what arrived. */
  push(bytes: Buffer, length: number): void {
    if (this.#end + length > this.#block.length) this.#renew(length);
    bytes.copy(this.#block, this.#end, 0, length);
    this.#end += length;
  }

  /** The next whole message; undefined when more bytes are needed. */
  next(): Buffer | undefined {
    const begin = this.#begin + PREFIX_BYTES;
    if (begin > this.#end) return undefined;
    const end = begin + readUint16(this.#block, this.#begin);
    if (end > this.#end) return undefined;
    this.#begin = end;
    return this.#block.subarray(begin, end);
  }

  #renew(bytes: number): void {
    const held = this.#end - this.#begin;
    // Doubled, so that a message in many pieces is copied a few times only.
    const block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, 2 * held + bytes));
    this.#block.copy(block, 0, this.#begin, this.#end);
    this.#block = block;
    this.#begin = 0;
    this.#end = held;
  }
}

/** DNS over HTTPS (RFC 8484): a POST in a stream of its own for each query, all over one HTTP/2 session. */
export class DohCarrier implements Carrier {
  readonly #handler: CarrierHandler;
  readonly #session: ClientHttp2Session;
  readonly #streams = new Map<number, ClientHttp2Stream>();
  readonly #headers: OutgoingHttpHeaders;

  constructor(handler: CarrierHandler, socket: TLSSocket, { port, encryption }: ServerAddress) {
    const { name, path } = encryption!;
    const host = isIPv6(name) ? `[${name}]` : name;
    const authority = port === HTTPS_PORT ? host : `${host}:${port}`;
    this.#handler = handler;
    this.#headers = {
      ':method': 'POST',
      ':scheme': 'https',
      ':authority': authority,
      ':path': path,
      'content-type': MESSAGE_TYPE,
      accept: MESSAGE_TYPE,
    };
    const session = nodeHttp2().connect(`https://${authority}`, {
      createConnection: () => socket,
      settings: { enablePush: false },
      peerMaxConcurrentStreams: MAX_STREAMS,
    });
    this.#session = session;
    session.unref();
    let goaways = 0;
    session.on('goaway', () => {
      handler.retire();
      if (++goaways > MAX_GOAWAYS) handler.onEnd('FLOOD');
    });
    session.on('error', (error: NodeJS.ErrnoException) => handler.onEnd(error.code ?? 'HTTP2'));
    session.on('close', () => handler.onEnd('CLOSED'));
  }

  get limit(): number {
    // Undefined until the server's settings have arrived.
    const settings = this.#session.remoteSettings as { maxConcurrentStreams?: number } | undefined;
    return Math.min(MAX_STREAMS, settings?.maxConcurrentStreams ?? MAX_STREAMS);
  }

  send(id: number, query: Buffer): void {
    const length = paddedLength(query);
    const body = Buffer.allocUnsafe(length);
    writePadded(query, body, 0, length);
    // RFC 8484 section 4.1: equal questions are equal requests.
    writeUint16(body, 0, 0);
    const stream = this.#request(length);
    if (stream === undefined) {
      setImmediate(() => this.#handler.onRefused(id));
      return;
    }
    this.#streams.set(id, stream);
    this.#read(id, stream);
    stream.end(body);
  }

  cancel(id: number): void {
    const stream = this.#streams.get(id);
    this.#streams.delete(id);
    stream?.close(nodeHttp2().constants.NGHTTP2_CANCEL);
  }

  ping(): void {
    if (this.#session.destroyed) return;
    this.#session.ping((error) => {
      if (error === null) this.#handler.onAlive();
    });
  }

  close(): void {
    this.#session.close();
  }

  /** Undefined when the session takes no more requests. */
  #request(length: number): ClientHttp2Stream | undefined {
    if (this.#session.closed || this.#session.destroyed) return undefined;
    return this.#session.request({ ...this.#headers, 'content-length': length });
  }

  #read(id: number, stream: ClientHttp2Stream): void {
    const pieces: Buffer[] = [];
    let length = 0;
    let informational = 0;
    stream.on('headers', () => {
      if (++informational > MAX_INFORMATIONAL) this.#handler.onEnd('FLOOD');
    });
    stream.on('response', (headers) => {
      const status = headers[':status'];
      if (status !== OK) this.#reject(id, `HTTP_${status}`);
      else if (headers['content-type']?.split(';')[0]?.trim() !== MESSAGE_TYPE) {
        this.#reject(id, 'HTTP_NO_DNS');
      }
    });
    stream.on('data', (piece: Buffer) => {
      length += piece.length;
      if (pieces.length === MAX_PIECES) this.#handler.onEnd('FLOOD');
      else if (length > MAX_MESSAGE_BYTES) this.#reject(id, 'HTTP_TOO_LONG');
      else pieces.push(piece);
    });
    stream.on('end', () => {
      if (this.#streams.get(id) !== stream || length < HEADER_BYTES) return;
      this.#streams.delete(id);
      const message = Buffer.concat(pieces);
      writeUint16(message, 0, id);
      this.#handler.onMessage(message);
    });
    // The close says what to do.
    stream.on('error', () => undefined);
    stream.on('close', () => {
      // The end of a session is the end of all its streams, which is told at once.
      if (this.#streams.get(id) !== stream || this.#session.destroyed) return;
      this.#streams.delete(id);
      const code = stream.rstCode;
      if (code === nodeHttp2().constants.NGHTTP2_REFUSED_STREAM) this.#handler.onRefused(id);
      else this.#handler.onRejected(id, `HTTP_STREAM_${code}`);
    });
  }

  #reject(id: number, code: string): void {
    if (!this.#streams.has(id)) return;
    this.cancel(id);
    this.#handler.onRejected(id, code);
  }
}
