import * as http from 'node:http';
import * as https from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import { connectionReason } from '@kube-dns/daemon';
import { ApiError } from '../errors.js';
import { ApiBody } from './api-body.js';
import { Credentials } from './credentials.js';
import { Deadline } from './deadline.js';
import { parseRetryAfter } from './retry-after.js';

/** One GET request. */
export interface ApiRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  /** Ends the request, which then rejects with the abort reason. */
  readonly signal: AbortSignal;
  /** A watch gets its own connection; all other requests share a few. */
  readonly isWatch?: boolean;
}

const MAX_ERROR_BYTES = 16 * 1024;
/** A server that sends no head within this time counts as dead. */
const HEAD_LIMIT_MS = 30_000;
/** The same for a watch, for which a server has nothing to prepare. */
const WATCH_HEAD_LIMIT_MS = 10_000;
/** For lists and probes of all resources; more would only wait for each other in the server. */
const MAX_SHARED_SOCKETS = 4;
const IDLE_SOCKET_MS = 60_000;
/** A lost peer is noticed some ten seconds later: the kernel sends ten probes, one per second. */
const KEEP_ALIVE_MS = 15_000;

const SHARED = {
  keepAlive: true,
  maxSockets: MAX_SHARED_SOCKETS,
  maxFreeSockets: 1,
  timeout: IDLE_SOCKET_MS,
} as const;

/** Sends requests: an ApiClient, or a wrapper of one. */
export type ApiReader = Pick<ApiClient, 'get'>;

/**
 * Requests to one API server. Credentials are read at each request, so a replaced token or CA is used from
 * the next one on. The pool reuses a connection only for the same CA.
 */
export class ApiClient {
  readonly #credentials: Credentials;
  readonly #userAgent: string;
  readonly #headLimitMs: number;
  readonly #httpAgent = new http.Agent(SHARED);
  readonly #httpsAgent = new https.Agent(SHARED);
  readonly #httpWatchAgent = new http.Agent({ keepAlive: false });
  readonly #httpsWatchAgent = new https.Agent({ keepAlive: false });

  constructor(config: KubeConfig, userAgent: string, headLimitMs = HEAD_LIMIT_MS) {
    this.#credentials = new Credentials(config);
    this.#userAgent = userAgent;
    this.#headLimitMs = headLimitMs;
  }

  get server(): string {
    return this.#credentials.server;
  }

  /**
   * Sends a GET and resolves when the head of the answer has arrived. Rejects with an ApiError unless the
   * status is 200, and with a StreamError when no head arrives in time (`idle`), or one with a compression that
   * was not asked for (`garbled`).
   */
  async get(request: ApiRequest): Promise<ApiBody> {
    const limitMs = Math.min(
      this.#headLimitMs,
      request.isWatch === true ? WATCH_HEAD_LIMIT_MS : Infinity,
    );
    const deadline = new Deadline(request.signal, limitMs, 'no answer');
    const { signal } = deadline;
    try {
      const response = await this.#send({ ...request, signal });
      if (response.statusCode === 200) return new ApiBody(response, signal);
      const retryAfterMs = parseRetryAfter(response.headers['retry-after']);
      const status = response.statusCode ?? 0;
      const advice = this.#credentials.adviceFor(status, request.path);
      throw new ApiError(status, (await readReason(response, signal)) + advice, retryAfterMs);
    } catch (error) {
      throw signal.aborted ? (signal.reason as Error) : error;
    } finally {
      deadline.close();
    }
  }

  close(): void {
    this.#httpAgent.destroy();
    this.#httpsAgent.destroy();
  }

  async #send(request: ApiRequest): Promise<http.IncomingMessage> {
    const options = await this.#optionsFor(request);
    const base = this.server.replace(/\/+$/, '');
    const url = new URL(`${base}${request.path}?${request.query.toString()}`);
    try {
      return await sendOnce(url, options);
    } catch (error) {
      // The server closed an idle connection at the moment of its reuse: a normal race, so retry.
      if (error instanceof StaleConnectionError) return sendOnce(url, options);
      throw error;
    }
  }

  async #optionsFor({ isWatch = false, signal }: ApiRequest): Promise<https.RequestOptions> {
    const options = await this.#credentials.requestOptions().catch((cause: unknown) => {
      throw new ApiError(0, connectionReason(cause), 0, { cause });
    });
    // A proxy needs the agent of client-node; otherwise our agents reuse connections.
    if (!this.#credentials.usesProxy) options.agent = this.#agentFor(isWatch);
    options.headers = {
      ...(options.headers as http.OutgoingHttpHeaders),
      accept: 'application/json',
      // As client-go; the API server compresses lists above 128 KiB, and no watches.
      'accept-encoding': 'gzip',
      'user-agent': this.#userAgent,
    };
    return { ...options, signal };
  }

  #agentFor(isWatch: boolean): http.Agent {
    if (/^http:/i.test(this.server)) return isWatch ? this.#httpWatchAgent : this.#httpAgent;
    return isWatch ? this.#httpsWatchAgent : this.#httpsAgent;
  }
}

/** A reused connection broke before the answer. */
class StaleConnectionError extends ApiError {}

function sendOnce(url: URL, options: https.RequestOptions): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'http:' ? http : https).get(url, options, resolve);
    request.once('socket', (socket) => socket.setKeepAlive(true, KEEP_ALIVE_MS));
    // Not once(): a second error without a listener would be an uncaught one.
    request.on('error', (cause: NodeJS.ErrnoException) => {
      const isStaleSocket =
        request.reusedSocket && (cause.code === 'ECONNRESET' || cause.code === 'EPIPE');
      const Failure = isStaleSocket ? StaleConnectionError : ApiError;
      reject(new Failure(0, connectionReason(cause), 0, { cause }));
    });
  });
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
