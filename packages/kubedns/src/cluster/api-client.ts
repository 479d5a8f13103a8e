import * as http from 'node:http';
import * as https from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import { errorText } from '@kube-dns/daemon';
import { ApiError, StreamError } from '../errors.js';
import { ApiBody } from './api-body.js';
import { Credentials } from './credentials.js';
import { parseRetryAfter } from './retry-after.js';

/** How a request is made, besides its path. */
export interface ApiRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  /** Ends the request; what it was aborted with is what the request fails with. */
  readonly signal: AbortSignal;
  /** A watch has a connection of its own; everything else shares a few. */
  readonly isWatch?: boolean;
}

const MAX_ERROR_BYTES = 16 * 1024;
/** A server that has not begun to answer after so long is taken for dead. */
const HEAD_LIMIT_MS = 30_000;
/** Lists and probes of all resources share these; more would only wait for each other in the server. */
const MAX_SHARED_SOCKETS = 4;
const IDLE_SOCKET_MS = 60_000;
/** A peer that is gone is noticed some ten seconds later: the kernel asks ten times, once a second. */
const KEEP_ALIVE_MS = 15_000;

const SHARED = {
  keepAlive: true,
  maxSockets: MAX_SHARED_SOCKETS,
  maxFreeSockets: 1,
  timeout: IDLE_SOCKET_MS,
} as const;

/** Who sends requests: an ApiClient, or something in front of one. */
export type ApiReader = Pick<ApiClient, 'get'>;

/**
 * Requests to one API server. Credentials are asked for at each request, so a token or CA that was
 * replaced is used from the next one on. The pool knows connections by their CA.
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
   * Sends a GET and resolves at the answer's head. Rejects with an ApiError unless it is 200, and with a
   * StreamError (`idle`) when it does not come in time.
   */
  async get(request: ApiRequest): Promise<ApiBody> {
    const limit = new AbortController();
    const timer = setTimeout(() => {
      limit.abort(new StreamError('idle', `no answer within ${this.#headLimitMs} ms`));
    }, this.#headLimitMs);
    const signal = AbortSignal.any([request.signal, limit.signal]);
    try {
      const response = await this.#send({ ...request, signal });
      if (response.statusCode === 200) return new ApiBody(response, signal);
      const retryAfterMs = parseRetryAfter(response.headers['retry-after']);
      throw new ApiError(
        response.statusCode ?? 0,
        await readReason(response, signal),
        retryAfterMs,
      );
    } catch (error) {
      throw signal.aborted ? (signal.reason as Error) : error;
    } finally {
      clearTimeout(timer);
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
      // The server closed a connection at the moment when it was used again: nobody's fault.
      if (error instanceof StaleConnectionError) return sendOnce(url, options);
      throw error;
    }
  }

  async #optionsFor({ isWatch = false, signal }: ApiRequest): Promise<https.RequestOptions> {
    const options = await this.#credentials.requestOptions();
    // A proxy needs the agent that client-node made for it; otherwise ours keeps connections.
    if (!this.#credentials.usesProxy) options.agent = this.#agentFor(isWatch);
    options.headers = {
      ...(options.headers as http.OutgoingHttpHeaders),
      accept: 'application/json',
      'user-agent': this.#userAgent,
    };
    return { ...options, signal };
  }

  #agentFor(isWatch: boolean): http.Agent {
    if (/^http:/i.test(this.server)) return isWatch ? this.#httpWatchAgent : this.#httpAgent;
    return isWatch ? this.#httpsWatchAgent : this.#httpsAgent;
  }
}

/** The connection was an old one, and broke before anything was answered. */
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
      reject(new Failure(0, errorText(cause), 0, { cause }));
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
    /* cut, or not a Status object: the status alone has to do */
  }
  return status;
}
