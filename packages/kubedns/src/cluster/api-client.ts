import * as http from 'node:http';
import * as https from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import { ApiError } from '../errors.js';

/** An answer whose status is 200; the body is still to be read. */
interface ApiResponse {
  readonly body: AsyncIterable<Buffer>;
}

const MAX_ERROR_BYTES = 16 * 1024;
/** A server that has not begun to answer after so long is taken for dead. */
const HEAD_LIMIT_MS = 30_000;

/**
 * Requests to one API server over a keep-alive pool. Credentials are asked for at each request, so a
 * rotated token or CA is used from the next one on.
 */
export class ApiClient {
  readonly #config: KubeConfig;
  readonly #userAgent: string;
  readonly #headLimitMs: number;
  readonly #httpAgent = new http.Agent({ keepAlive: true });
  readonly #httpsAgent = new https.Agent({ keepAlive: true });

  constructor(config: KubeConfig, userAgent: string, headLimitMs = HEAD_LIMIT_MS) {
    this.#config = config;
    this.#userAgent = userAgent;
    this.#headLimitMs = headLimitMs;
  }

  get server(): string {
    return this.#config.getCurrentCluster()?.server ?? '';
  }

  /** Sends a GET and resolves at the answer's head; rejects with an ApiError unless it is 200. */
  async get(path: string, query: URLSearchParams, signal: AbortSignal): Promise<ApiResponse> {
    const response = await this.#send(`${path}?${query.toString()}`, signal);
    if (response.statusCode === 200) return { body: response };
    const status = response.statusCode ?? 0;
    // A date in place of seconds (RFC 9110 section 10.2.3) counts as nothing said.
    const retryAfterMs = Number(response.headers['retry-after'] ?? 0) * 1000 || 0;
    throw new ApiError(status, await readReason(response), retryAfterMs);
  }

  close(): void {
    this.#httpAgent.destroy();
    this.#httpsAgent.destroy();
  }

  async #send(pathAndQuery: string, signal: AbortSignal): Promise<http.IncomingMessage> {
    const options: https.RequestOptions = { headers: {} };
    await this.#config.applyToHTTPSOptions(options);
    const cluster = this.#config.getCurrentCluster();
    const url = new URL(this.server.replace(/\/+$/, '') + pathAndQuery);
    const isPlain = url.protocol === 'http:';
    // A proxy needs the agent that client-node made for it; otherwise ours keeps connections.
    if (!cluster?.proxyUrl) options.agent = isPlain ? this.#httpAgent : this.#httpsAgent;
    options.headers = {
      ...(options.headers as http.OutgoingHttpHeaders),
      accept: 'application/json',
      'user-agent': this.#userAgent,
    };
    return new Promise((resolve, reject) => {
      const request = (isPlain ? http : https).get(url, { ...options, signal }, resolve);
      request.setTimeout(this.#headLimitMs, () => {
        request.destroy(new Error(`no answer within ${this.#headLimitMs} ms`));
      });
      // Once the head is there, a watch may be silent for long: its own limit ends it.
      request.once('response', () => request.setTimeout(0));
      // Not once(): a second error without a listener would be an uncaught one.
      request.on('error', (cause) => reject(new ApiError(0, cause.message, 0, { cause })));
    });
  }
}

/** The message of the Status object that the API server sends with an error. */
async function readReason(response: http.IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of response as AsyncIterable<Buffer>) {
    text += chunk.toString('utf8');
    if (text.length > MAX_ERROR_BYTES) break;
  }
  const status = `HTTP ${response.statusCode ?? 0}`;
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    if (typeof message === 'string') return `${status}: ${message}`;
  } catch {
    /* not a Status object: the status alone has to do */
  }
  return status;
}
