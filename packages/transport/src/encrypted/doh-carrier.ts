import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2';
import { isIPv6 } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { HEADER_BYTES, MAX_MESSAGE_BYTES, writeUint16 } from '@kube-dns/wire';
import type { ServerAddress } from '../server-address.js';
import type { Carrier, CarrierOwner } from './carrier.js';
import { nodeHttp2 } from './node-modules.js';
import { paddedLength, writePadded } from './padding.js';

const MAX_STREAMS = 100;
const HTTPS_PORT = 443;
const MESSAGE_TYPE = 'application/dns-message';
const OK = 200;

/** DNS over HTTPS (RFC 8484): a POST in a stream of its own for each query, all over one HTTP/2 session. */
export class DohCarrier implements Carrier {
  readonly #owner: CarrierOwner;
  readonly #session: ClientHttp2Session;
  readonly #streams = new Map<number, ClientHttp2Stream>();
  readonly #headers: OutgoingHttpHeaders;

  constructor(owner: CarrierOwner, socket: TLSSocket, { port, encryption }: ServerAddress) {
    const { name, path } = encryption!;
    const host = isIPv6(name) ? `[${name}]` : name;
    const authority = port === HTTPS_PORT ? host : `${host}:${port}`;
    this.#owner = owner;
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
    session.on('goaway', () => owner.onGoAway());
    session.on('error', (error: NodeJS.ErrnoException) => owner.onEnd(error.code ?? 'HTTP2'));
    session.on('close', () => owner.onEnd('CLOSED'));
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
      setImmediate(() => this.#owner.onRefused(id));
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
      if (error === null) this.#owner.onAlive();
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
    stream.on('response', (headers) => {
      const status = headers[':status'];
      if (status !== OK) this.#reject(id, `HTTP_${status}`);
      else if (headers['content-type']?.split(';')[0]?.trim() !== MESSAGE_TYPE) {
        this.#reject(id, 'HTTP_NO_DNS');
      }
    });
    stream.on('data', (piece: Buffer) => {
      length += piece.length;
      if (length > MAX_MESSAGE_BYTES) this.#reject(id, 'HTTP_TOO_LONG');
      else pieces.push(piece);
    });
    stream.on('end', () => {
      if (this.#streams.get(id) !== stream || length < HEADER_BYTES) return;
      this.#streams.delete(id);
      const message = Buffer.concat(pieces);
      writeUint16(message, 0, id);
      this.#owner.onMessage(message);
    });
    // The close says what to do.
    stream.on('error', () => undefined);
    stream.on('close', () => {
      // The end of a session is the end of all its streams, which is told at once.
      if (this.#streams.get(id) !== stream || this.#session.destroyed) return;
      this.#streams.delete(id);
      const code = stream.rstCode;
      if (code === nodeHttp2().constants.NGHTTP2_REFUSED_STREAM) this.#owner.onRefused(id);
      else this.#owner.onRejected(id, `HTTP_STREAM_${code}`);
    });
  }

  #reject(id: number, code: string): void {
    if (!this.#streams.has(id)) return;
    this.cancel(id);
    this.#owner.onRejected(id, code);
  }
}
