import * as http from 'node:http';
import * as https from 'node:https';
import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { createGunzip } from 'node:zlib';
import { errorText, shownUrl, threadCpuMs, TLS_CLIENT, watchTickets } from '@kube-dns/base';
import {
  connectionReason,
  denialAdvice,
  isHandshakeFailure,
  loadKubeconfig,
  readTextFile,
  StartupError,
  useApiServer,
} from '@kube-dns/daemon';
import { KubeConfig } from '@kubernetes/client-node';
import { ApiError, StreamError } from '../errors.js';
import { shownValue } from './json-stream.js';
import { withLimit } from './pace.js';

/** One GET request. */
export interface ApiRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  /** Ends the request, which then rejects with the abort reason. */
  readonly signal: AbortSignal;
  /** A watch gets its own connection; all other requests share a few. */
  readonly isWatch?: boolean;
  /** So does this one, which none was used for before. */
  readonly isAlone?: boolean;
}

const MAX_ERROR_BYTES = 16 * 1024;
/** A server that sends no head within this time counts as dead. */
const HEAD_LIMIT_MS = 30_000;
/** The same for a watch, for which a server has nothing to prepare. */
const WATCH_HEAD_LIMIT_MS = 10_000;
/** A SYN is sent again after a second: twice it was lost, or dropped. The kernel itself would try for two minutes. */
const CONNECT_LIMIT_MS = 3_000;
/** For lists and probes of all resources; more would only wait for each other in the server. */
const MAX_SHARED_SOCKETS = 4;
const IDLE_SOCKET_MS = 60_000;
/** A lost peer is noticed some ten seconds later: the kernel sends ten probes, one per second. */
const KEEP_ALIVE_MS = 15_000;
/**
 * What is read of a plain connection at a time, as a record of TLS has at most. Node reads four times as much: 4,000
 * informational responses, which take 150 ms.
 */
const READ_BYTES = 16 * 1024;
/** After a handshake that failed and took so much CPU there is no other one for the pause. */
const COSTLY_HANDSHAKE_MS = 20;
const COSTLY_PAUSE_MS = 10_000;
/** An API server sends none. */
const MAX_INFORMATIONAL = 8;

const SHARED = {
  keepAlive: true,
  maxSockets: MAX_SHARED_SOCKETS,
  maxFreeSockets: 1,
  timeout: IDLE_SOCKET_MS,
} as const;

/** Sends requests: an ApiClient, or a wrapper of one. */
export interface ApiReader {
  get(request: ApiRequest): Promise<ApiBody>;
}

/**
 * Requests to one API server. Credentials are read at each request, so a replaced token or CA is used from
 * the next one on. The pool reuses a connection only for the same CA.
 */
export class ApiClient implements ApiReader {
  readonly #config: KubeConfig;
  readonly #userAgent: string;
  readonly #headLimitMs: number;
  readonly #httpAgent = plainAgent(SHARED);
  readonly #httpsAgent = new https.Agent(SHARED);
  readonly #httpLoneAgent = plainAgent({ keepAlive: false });
  readonly #httpsLoneAgent = new https.Agent({ keepAlive: false });

  readonly #cpuMs: () => number;
  /** Why no request is sent until then. */
  #refusal: ApiError | undefined;
  #refusedUntilMs = -Infinity;

  /** `cpuMs`: what the thread has used. */
  constructor(
    config: KubeConfig,
    userAgent: string,
    headLimitMs = HEAD_LIMIT_MS,
    cpuMs = threadCpuMs,
  ) {
    this.#cpuMs = cpuMs;
    this.#config = config;
    this.#userAgent = userAgent;
    this.#headLimitMs = headLimitMs;
  }

  get server(): string {
    return this.#config.getCurrentCluster()?.server ?? '';
  }

  /**
   * Sends a GET and resolves when the head of the answer has arrived. Rejects with an ApiError unless the
   * status is 200, and with a StreamError when no head arrives in time (`idle`), or one with a compression that
   * was not asked for (`garbled`).
   */
  get(request: ApiRequest): Promise<ApiBody> {
    const { path, signal: outer, isWatch = false } = request;
    const limitMs = Math.min(this.#headLimitMs, isWatch ? WATCH_HEAD_LIMIT_MS : Infinity);
    return withLimit(outer, limitMs, 'no answer', async ({ signal }) => {
      try {
        const response = await this.#send(request, signal);
        if (response.statusCode === 200) return new ApiBody(response, signal);
        const retryAfterMs = parseRetryAfter(response.headers['retry-after']);
        const status = response.statusCode ?? 0;
        const advice = denialAdvice(status, path, this.#config, 'list and watch');
        throw new ApiError(status, (await readReason(response, signal)) + advice, retryAfterMs);
      } catch (error) {
        throw signal.aborted ? (signal.reason as Error) : error;
      }
    });
  }

  close(): void {
    this.#httpAgent.destroy();
    this.#httpsAgent.destroy();
  }

  async #send(request: ApiRequest, signal: AbortSignal): Promise<http.IncomingMessage> {
    if (performance.now() < this.#refusedUntilMs) throw this.#refusal!;
    const options = await this.#optionsFor(request, signal);
    const base = this.server.replace(/\/+$/, '');
    const url = new URL(`${base}${request.path}?${request.query.toString()}`);
    try {
      return await sendOnce(url, options, this.#cpuMs);
    } catch (error) {
      if (error instanceof CostlyHandshakeError) {
        this.#refusal = error;
        this.#refusedUntilMs = performance.now() + COSTLY_PAUSE_MS;
      }
      // The server closed an idle connection at the moment of its reuse: a normal race, so retry.
      if (error instanceof StaleConnectionError) return sendOnce(url, options, this.#cpuMs);
      throw error;
    }
  }

  /** Headers and TLS options for one request, with credentials. */
  async #optionsFor(
    { isWatch = false, isAlone = false }: ApiRequest,
    signal: AbortSignal,
  ): Promise<https.RequestOptions> {
    const options: https.RequestOptions & { headers: http.OutgoingHttpHeaders } = {
      ...TLS_CLIENT,
      headers: {},
    };
    try {
      await this.#config.applyToHTTPSOptions(options);
      const token = this.#readToken();
      // client-node caches a token for a minute, even a refused one, and never removes its line feed.
      if (token !== undefined) options.headers.Authorization = `Bearer ${token}`;
    } catch (cause) {
      throw new ApiError(0, connectionReason(cause, shownUrl(this.server)), 0, { cause });
    }
    // A proxy needs the agent of client-node; otherwise our agents reuse connections.
    if (!this.#config.getCurrentCluster()?.proxyUrl)
      options.agent = this.#agentFor(isWatch || isAlone);
    options.headers.accept = 'application/json';
    // As client-go; the API server compresses lists above 128 KiB, and no watches.
    options.headers['accept-encoding'] = 'gzip';
    options.headers['user-agent'] = this.#userAgent;
    options.signal = signal;
    return options;
  }

  /** Of the file of a service account, which is read at each request: there are few. */
  #readToken(): string | undefined {
    const authProvider: unknown = this.#config.getCurrentUser()?.authProvider;
    const path = (authProvider as { config?: { tokenFile?: unknown } } | undefined)?.config
      ?.tokenFile;
    return typeof path === 'string' ? readTextFile(path).trim() : undefined;
  }

  #agentFor(isAlone: boolean): http.Agent {
    if (/^http:/i.test(this.server)) return isAlone ? this.#httpLoneAgent : this.#httpAgent;
    return isAlone ? this.#httpsLoneAgent : this.#httpsAgent;
  }
}

/** A reused connection broke before the answer. */
class StaleConnectionError extends ApiError {}

/** The handshake failed, and has stopped what else this program does: each try would again. */
class CostlyHandshakeError extends ApiError {}

function plainAgent(options: http.AgentOptions): http.Agent {
  const agent = new http.Agent(options);
  agent.createConnection = (target) => {
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    const callback = (length: number): boolean =>
      socket.push(Buffer.copyBytesFrom(buffer, 0, length));
    // What an agent has for a connection is more than its types say.
    const given = target as TcpNetConnectOpts;
    const socket: Socket = connect({ ...given, onread: { buffer, callback } });
    return socket;
  };
  return agent;
}

function sendOnce(
  url: URL,
  options: https.RequestOptions,
  cpuMs: () => number,
): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'http:' ? http : https).get(url, options, resolve);
    let cpuAtConnectMs = Infinity;
    request.once('socket', (socket) => {
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      limitConnecting(socket);
      if (request.reusedSocket || !(socket instanceof TLSSocket)) return;
      socket.once('connect', () => (cpuAtConnectMs = cpuMs()));
      watchTickets(socket, () => socket.destroy(flood('session tickets')));
    });
    let informational = 0;
    request.on('information', () => {
      if (++informational > MAX_INFORMATIONAL) request.destroy(flood('informational responses'));
    });
    // Not once(): a second error without a listener would be an uncaught one.
    request.on('error', (cause: NodeJS.ErrnoException) => {
      if (cause instanceof StreamError) {
        reject(cause);
        return;
      }
      const isStaleSocket =
        request.reusedSocket && (cause.code === 'ECONNRESET' || cause.code === 'EPIPE');
      const isCostly = isHandshakeFailure(cause) && cpuMs() - cpuAtConnectMs >= COSTLY_HANDSHAKE_MS;
      const Failure = isStaleSocket
        ? StaleConnectionError
        : isCostly
          ? CostlyHandshakeError
          : ApiError;
      reject(new Failure(0, connectionReason(cause, url.origin), 0, { cause }));
    });
  });
}

function limitConnecting(socket: Socket): void {
  if (!socket.connecting) return;
  const timer = setTimeout(() => {
    socket.destroy(new StreamError('idle', `no connection within ${CONNECT_LIMIT_MS} ms`));
  }, CONNECT_LIMIT_MS);
  const end = () => clearTimeout(timer);
  socket.once('connect', end).once('close', end);
}

function flood(what: string): StreamError {
  return new StreamError('garbled', `the API server sends ${what} without end`);
}

/** The message of the Status object that the API server sends with an error. */
async function readReason(response: http.IncomingMessage, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  const status = `HTTP ${response.statusCode ?? 0}`;
  try {
    for await (const { bytes } of new ApiBody(response, signal)) {
      chunks.push(bytes);
      if ((size += bytes.length) > MAX_ERROR_BYTES) break;
    }
    const { message } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { message?: unknown };
    if (typeof message === 'string') return `${status}: ${message}`;
  } catch {
    /* cut, or not a Status object: only the status is reported */
  }
  return status;
}

/**
 * The pause that the header `Retry-After` requests, in ms from now: seconds or a date (RFC 9110 section
 * 10.2.3). 0 when there is none, when it is past, and when it is invalid.
 */
export function parseRetryAfter(value: string | undefined, now: () => number = Date.now): number {
  const text = value?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  // Only what looks like a date: Date.parse accepts almost everything.
  const atMs = /^[A-Za-z]{3,9},? .*\d\d:\d\d:\d\d/.test(text) ? Date.parse(text) : NaN;
  return Math.max(atMs - now(), 0) || 0;
}

/** A piece of a body, decompressed, and when it arrived by `performance.now()`. */
export interface BodyChunk {
  readonly bytes: Buffer;
  readonly arrivedMs: number;
}

/**
 * Bytes that may be buffered before the server has to wait. Less than one read of the socket: buffered data
 * outlives the young generation, and most of 190 MB would become garbage that is collected late.
 */
const MAX_BUFFERED_BYTES = 16 * 1024;

/**
 * The size of a decompressed piece. Each is a turn of the thread pool: at 16 KiB the 145 MB of 50,000 slices
 * take a fifth more CPU time. It is also all that a stream which expands a thousandfold gets at a time.
 */
const PIECE_BYTES = 64 * 1024;

/**
 * An event of a watch has more bytes, and a list fewer pieces than bytes. Each piece costs some 5 µs and 200 bytes of memory
 * until its object is complete: a body in pieces of one byte is ended.
 */
const SMALL_BYTES = 64;
const MAX_SMALL_PIECES = 1_000;

/**
 * The body of an answer as a stream, decompressed where the server compressed it. Iterate it once; leaving the
 * loop early closes the connection. An incomplete body throws the abort reason of its signal, or a StreamError.
 */
export class ApiBody implements AsyncIterable<BodyChunk> {
  /** As the server sent them, possibly compressed. */
  receivedBytes = 0;
  /** Decompressed. */
  contentBytes = 0;
  /** When the head or the last piece arrived, by `performance.now()`. */
  lastByteMs = performance.now();
  readonly #content: Readable;
  readonly #signal: AbortSignal;
  readonly #buffered: BodyChunk[] = [];
  #bufferedBytes = 0;
  /** In a row. */
  #smallPieces = 0;
  #isEnded = false;
  #error: Error | undefined;
  #wake: () => void = () => undefined;

  /** Throws a StreamError (`garbled`) for a compression that was not asked for. */
  constructor(response: http.IncomingMessage, signal: AbortSignal) {
    this.#signal = signal;
    const content = (this.#content = contentOf(response));
    response.on('data', (bytes: Buffer) => {
      this.lastByteMs = performance.now();
      this.receivedBytes += bytes.length;
    });
    content.on('data', (bytes: Buffer) => this.#take(bytes));
    content.on('end', () => {
      this.#isEnded = true;
      this.#wake();
    });
    content.on('error', (error) => this.#break(error));
    content.on('close', () => this.#break(new Error('the connection was closed')));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<BodyChunk, void> {
    try {
      for (;;) {
        const chunk = this.#buffered.shift();
        if (chunk !== undefined) {
          this.#bufferedBytes -= chunk.bytes.length;
          if (this.#content.isPaused() && this.#bufferedBytes === 0) this.#content.resume();
          yield chunk;
          if (this.#signal.aborted) throw this.#signal.reason as Error;
        } else if (this.#isEnded) {
          return;
        } else if (this.#error !== undefined) {
          throw this.#error;
        } else {
          await new Promise<void>((resolve) => (this.#wake = resolve));
        }
      }
    } finally {
      if (!this.#isEnded) this.#content.destroy();
    }
  }

  #take(bytes: Buffer): void {
    this.#smallPieces = bytes.length < SMALL_BYTES ? this.#smallPieces + 1 : 0;
    if (this.#smallPieces > MAX_SMALL_PIECES) {
      this.#break(flood(`pieces of fewer than ${SMALL_BYTES} bytes`));
      this.#content.destroy();
      return;
    }
    this.contentBytes += bytes.length;
    this.#buffered.push({ bytes, arrivedMs: this.lastByteMs });
    this.#bufferedBytes += bytes.length;
    if (this.#bufferedBytes >= MAX_BUFFERED_BYTES) this.#content.pause();
    this.#wake();
  }

  #break(cause: Error): void {
    if (this.#isEnded || this.#error !== undefined) return;
    this.#error = this.#signal.aborted ? (this.#signal.reason as Error) : streamError(cause);
    this.#wake();
  }
}

function streamError(cause: NodeJS.ErrnoException): StreamError {
  if (cause instanceof StreamError) return cause;
  // Those of zlib, as Z_DATA_ERROR; a body that ends before its gzip stream, too.
  return cause.code?.startsWith('Z_') === true
    ? new StreamError('garbled', `the answer is not gzip: ${cause.message}`, { cause })
    : new StreamError('closed', `the connection broke: ${errorText(cause)}`, { cause });
}

/** The body as a stream of what was compressed. */
function contentOf(response: http.IncomingMessage): Readable {
  const encoding = response.headers['content-encoding'] ?? 'identity';
  switch (encoding.toLowerCase()) {
    case 'identity':
      return response;
    case 'gzip': {
      const gunzip = createGunzip({ chunkSize: PIECE_BYTES });
      return pipeline(response, gunzip, () => undefined);
    }
    default: {
      response.destroy();
      const reason = `the answer has the content encoding ${shownValue(encoding)}`;
      throw new StreamError('garbled', reason);
    }
  }
}

/** The API server as given by the flags. */
export interface ClusterFlags {
  /** `--kubecfg-file`, or empty. */
  readonly kubecfgFile: string;
  /** `--kube-master-url`, or empty; it overrides the file's server. */
  readonly masterUrl: string;
}

const EXIT_FATAL = 255;

/**
 * Finds the API server and the credentials for it: a kubeconfig file, a URL, or the service account
 * of the pod when both are empty. Throws a StartupError (exit 255, as the original) that names
 * the source and its fault.
 */
export function loadKubeConfig(flags: ClusterFlags): KubeConfig {
  const config = new KubeConfig();
  try {
    if (flags.kubecfgFile !== '') loadFile(config, flags.kubecfgFile);
    else if (flags.masterUrl !== '') loadAnonymous(config, flags.masterUrl);
    else loadServiceAccount(config);
    useApiServer(config, flags.masterUrl === '' ? undefined : flags.masterUrl);
  } catch (cause) {
    if (cause instanceof StartupError) throw cause;
    throw new StartupError(`${sourceOf(flags)}: ${errorText(cause)}`, EXIT_FATAL, { cause });
  }
  return config;
}

function sourceOf({ kubecfgFile, masterUrl }: ClusterFlags): string {
  if (kubecfgFile !== '') return `cannot read the kubeconfig ${kubecfgFile}`;
  return masterUrl === '' ? 'no API server' : 'kube-master-url';
}

function loadFile(config: KubeConfig, path: string): void {
  try {
    loadKubeconfig(config, path);
  } catch (cause) {
    throw new StartupError(errorText(cause), EXIT_FATAL, { cause });
  }
}

function loadAnonymous(config: KubeConfig, server: string): void {
  const cluster = { name: 'master', server, skipTLSVerify: false };
  config.loadFromClusterAndUser(cluster, { name: 'nobody' });
}

function loadServiceAccount(config: KubeConfig): void {
  for (const name of ['KUBERNETES_SERVICE_HOST', 'KUBERNETES_SERVICE_PORT']) {
    if (process.env[name]) continue;
    throw new Error(`not in a pod (${name} is not set); give --kubecfg-file or --kube-master-url`);
  }
  config.loadFromCluster();
  const authProvider = config.getCurrentUser()?.authProvider as
    { config?: { tokenFile?: string } } | undefined;
  // They are read at each request; without them no request can succeed.
  for (const file of [config.getCurrentCluster()?.caFile, authProvider?.config?.tokenFile]) {
    if (file !== undefined) readTextFile(file);
  }
}
