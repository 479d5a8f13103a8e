import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { isIPv6, type AddressInfo, isIP } from 'node:net';
import express, {
  Router,
  type Request,
  raw,
  type ErrorRequestHandler,
  type Express,
  type RequestHandler,
  type Response,
} from 'express';
import { errorText } from '@kube-dns/base';
import { codeOf, ListenError, ApiError } from '../errors.js';
import { isJsonObject, type JsonObject } from '../object.js';
import {
  isFailureStatus,
  isRestartData,
  isVerb,
  type Failure,
  type RestartOptions,
} from '../switches.js';
import { answerJson, failureStatus, toApiError } from './answer.js';
import { parseBody, MAX_BODY_BYTES } from './body.js';
import { findDocument, HEALTH_PATHS } from './discovery.js';
import { isOfApi, methodNotAllowed, parseTarget } from './request.js';
import { handleResource, queryOf, verbOf, type ApiContext } from './resource-handler.js';
import { isBookmarks, type Bookmarks } from './watch.js';

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);
/** How long a connection may be idle; a shorter time would race with the client's next request. */
const KEEP_ALIVE_MS = 120_000;
const MAX_CONNECTIONS = 4096;

/** A port on which HTTP is served, which can be closed and opened again. */
export class Listener {
  readonly #server: Server;
  /** The address as it was given. */
  readonly host: string;
  #port = 0;

  private constructor(host: string) {
    this.host = host;
    this.#server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS });
    this.#server.maxConnections = MAX_CONNECTIONS;
  }

  /** Rejects with a {@link ListenError} when it cannot listen. Port 0: any free port. */
  static async open(host: string, port: number): Promise<Listener> {
    const listener = new Listener(host);
    listener.#port = await listener.#listen(port);
    return listener;
  }

  get port(): number {
    return this.#port;
  }

  /** The address at which clients on this machine reach the server. */
  get address(): string {
    return WILDCARDS.has(this.host) ? '127.0.0.1' : this.host;
  }

  get url(): string {
    const { address } = this;
    return `http://${isIPv6(address) ? `[${address}]` : address}:${this.#port}`;
  }

  serve(listener: RequestListener): void {
    this.#server.on('request', listener);
  }

  /** Listens again after `close`, on the same port. */
  async reopen(): Promise<void> {
    await this.#listen(this.#port);
  }

  /** Refuses new connections at once, and breaks the others after `lastWords`. */
  async close(lastWords?: Promise<unknown>): Promise<void> {
    const isClosed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await lastWords;
    this.#server.closeAllConnections();
    await isClosed;
  }

  async #listen(port: number): Promise<number> {
    try {
      // Without a host: every address of both families, as Go's net.Listen takes either wildcard.
      this.#server.listen(port, WILDCARDS.has(this.host) ? '' : this.host);
      await once(this.#server, 'listening');
    } catch (error) {
      const isInUse = codeOf(error) === 'EADDRINUSE';
      const reason = isInUse ? 'address already in use' : errorText(error);
      throw new ListenError(`cannot listen on ${this.host}:${port}: ${reason}`, { cause: error });
    }
    return (this.#server.address() as AddressInfo).port;
  }
}

/** The switches of a server, for tests in the same process and over HTTP. */
export interface TestControls {
  dropWatches(): void;
  hang(): void;
  unhang(): void;
  failRequests(failure: Failure): void;
  clearFailures(): void;
  compact(options: { readonly cache?: boolean }): void;
  delayRequests(ms: number): void;
  supportInitialEvents(isSupported: boolean): void;
  supportLimit(isSupported: boolean): void;
  setBookmarks(bookmarks: Bookmarks): void;
  backup(): void;
  restart(options: RestartOptions): Promise<void>;
}

const LOOPBACK_CLIENT = /^(?:127\.|::1$|::ffff:127\.)/;

function bodyOf(request: Request): JsonObject {
  const body = parseBody(request.body, request.get('content-type')).value ?? {};
  if (!isJsonObject(body)) throw new ApiError('BadRequest', 'the body is not an object');
  return body;
}

function readBoolean(body: JsonObject, field: string, whenMissing?: boolean): boolean {
  const value = body[field] ?? whenMissing;
  if (typeof value === 'boolean') return value;
  throw new ApiError('BadRequest', `"${field}" must be true or false`);
}

function readNumber(body: JsonObject, field: string): number | undefined {
  const value = body[field];
  if (value === undefined) return undefined;
  if (typeof value === 'number' && value >= 0) return value;
  throw new ApiError('BadRequest', `"${field}" must be a number from 0`);
}

function parseFailure(body: JsonObject): Failure {
  const { status, resource, verb } = body;
  if (!isFailureStatus(status)) {
    throw new ApiError('BadRequest', '"status" must be 403, 410, 429 or 500');
  }
  if (verb !== undefined && !isVerb(verb)) throw new ApiError('BadRequest', 'unknown "verb"');
  const times = readNumber(body, 'times');
  const retryAfterSeconds = readNumber(body, 'retryAfterSeconds');
  return {
    status,
    ...(typeof resource === 'string' && { resource }),
    ...(verb !== undefined && { verb }),
    ...(times !== undefined && { times }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
}

function parseRestart(body: JsonObject): RestartOptions {
  const { data, hasHistory } = body;
  if (data !== undefined && !isRestartData(data))
    throw new ApiError('BadRequest', 'unknown "data"');
  const downMs = readNumber(body, 'downMs');
  const refusedWatches = readNumber(body, 'refusedWatches');
  return {
    ...(data !== undefined && { data }),
    ...(downMs !== undefined && { downMs }),
    ...(hasHistory !== undefined && { hasHistory: readBoolean(body, 'hasHistory') }),
    ...(refusedWatches !== undefined && { refusedWatches }),
  };
}

function parseBookmarks({ bookmarks }: JsonObject): Bookmarks {
  if (isBookmarks(bookmarks)) return bookmarks;
  throw new ApiError('BadRequest', '"bookmarks" must be usual or rare');
}

/**
 * The switches over HTTP. Only clients on this machine may use them, on any address that the server
 * listens on.
 */
function createTestRoutes(controls: TestControls, requests: object): Router {
  const router = Router();
  const actions: Readonly<Record<string, (body: JsonObject) => void>> = {
    'drop-watches': () => controls.dropWatches(),
    hang: () => controls.hang(),
    unhang: () => controls.unhang(),
    fail: (body) => controls.failRequests(parseFailure(body)),
    'clear-failures': () => controls.clearFailures(),
    compact: (body) => controls.compact({ cache: readBoolean(body, 'cache', false) }),
    delay: (body) => controls.delayRequests(readNumber(body, 'ms') ?? 0),
    'initial-events': (body) => controls.supportInitialEvents(readBoolean(body, 'supported')),
    limit: (body) => controls.supportLimit(readBoolean(body, 'supported')),
    'set-bookmarks': (body) => controls.setBookmarks(parseBookmarks(body)),
    backup: () => controls.backup(),
    restart: (body) => void controls.restart(parseRestart(body)),
  };
  router.use((request, _response, next) => {
    if (LOOPBACK_CLIENT.test(request.socket.remoteAddress ?? '')) next();
    else throw new ApiError('Forbidden', 'test switches are for clients on this machine');
  });
  router.get('/requests', (_request, response) => void response.json(requests));
  for (const [name, act] of Object.entries(actions)) {
    router.post(`/${name}`, (request, response) => {
      act(bodyOf(request));
      response.json({});
    });
  }
  return router;
}

const LOOPBACK_HOST = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
const ANY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/**
 * Refuses what a web page can make a browser send, so that no page reaches the server of the machine that shows
 * it: requests for a name that leads here (DNS rebinding), and requests from another origin. `host` is the
 * address that the server listens on.
 */
function refuseWebPages(host: string): RequestHandler {
  return (request, _response, next) => {
    const target = request.get('host') ?? '';
    if (!isOwnHost(hostNameOf(`http://${target}`), host.toLowerCase())) {
      throw refusal(`the host "${target}" is not this server`);
    }
    if (isForeign(request, target)) throw refusal('it comes from a web page of another origin');
    next();
  };
}

/** A page cannot make an address its origin without serving it, so an address cannot be rebound. */
function isOwnHost(name: string, host: string): boolean {
  const address = name.replace(/^\[(.*)\]$/, '$1');
  if (LOOPBACK_HOST.test(name) || address === host) return true;
  return ANY_ADDRESS.has(host) && isIP(address) !== 0;
}

function isForeign(request: Request, target: string): boolean {
  const origin = request.get('origin');
  if (origin !== undefined) return origin.toLowerCase() !== `http://${target.toLowerCase()}`;
  // A request without a body has no Origin, but browsers say where it comes from.
  return ['cross-site', 'same-site'].includes(request.get('sec-fetch-site') ?? '');
}

function hostNameOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}

function refusal(reason: string): ApiError {
  return new ApiError('Forbidden', `request refused: ${reason}`);
}

/** Holds requests back while the server hangs, and for the delay of `delayRequests`. */
function createRequestDelay({ switches }: ApiContext): RequestHandler {
  return (_request, response, next) => {
    let timer: NodeJS.Timeout | undefined;
    const cancel = switches.whenRunning(() => {
      if (switches.delayMs === 0) next();
      else timer = setTimeout(next, switches.delayMs);
    });
    response.once('close', () => {
      cancel();
      clearTimeout(timer);
    });
  };
}

/** As for a path that does not exist. */
function refuseUnserved({ switches }: ApiContext): RequestHandler {
  return (request, _response, next) => {
    if (!switches.isServed(request.path)) {
      throw new ApiError('NotFound', 'the server could not find the requested resource', {});
    }
    next();
  };
}

/** Counts a request for a resource when it arrives, also when it gets no answer. */
function createCounter({ requests }: ApiContext): RequestHandler {
  return (request, _response, next) => {
    try {
      const target = parseTarget(request.path);
      const verb = verbOf(request.method, target, queryOf(request));
      if (verb) requests.record(verb, target.kind.plural, request.get('user-agent'));
    } catch {
      // not a request for a resource; a later handler answers it
    }
    next();
  };
}

function createResourceRoute(context: ApiContext): RequestHandler {
  return async (request, response, next) => {
    if (!isOfApi(request.path)) {
      next();
      return;
    }
    const target = parseTarget(request.path);
    const verb = verbOf(request.method, target, queryOf(request));
    if (!verb) throw methodNotAllowed();
    context.switches.check(verb, target.kind.plural);
    await handleResource(context, target, verb, request, response);
  };
}

function answerText(response: Response, text: string): void {
  response.type('text/plain').set('x-content-type-options', 'nosniff').send(text);
}

const answerDocument: RequestHandler = async (request, response, next) => {
  const path = request.path.replace(/(.)\/$/, '$1');
  const document = findDocument(path);
  if (HEALTH_PATHS.includes(path)) answerText(response, 'ok');
  else if (!document) next();
  else if (request.method === 'GET') await answerJson(response, document);
  else throw methodNotAllowed();
};

const answerError: ErrorRequestHandler = async (thrown: unknown, _request, response, next) => {
  const error = toApiError(thrown);
  if (response.headersSent) {
    next(thrown);
    return;
  }
  const retryAfter = error.details?.retryAfterSeconds;
  if (retryAfter !== undefined) response.set('retry-after', String(retryAfter));
  await answerJson(response, failureStatus(error), error.status);
};

const forbidCaches: RequestHandler = (_request, response, next) => {
  response.set('cache-control', 'no-cache, private');
  next();
};

/** The HTTP handlers of the server, which listens on `host`. */
export function createApp(context: ApiContext, controls: TestControls, host: string): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(refuseWebPages(host));
  app.use(forbidCaches);
  app.use(createCounter(context));
  const readBody = raw({ type: () => true, limit: MAX_BODY_BYTES });
  // Before the delay, so that a client can switch a server that hangs back on.
  app.use('/_test', readBody, createTestRoutes(controls, context.requests));
  app.use(createRequestDelay(context));
  app.use(refuseUnserved(context));
  app.use(answerDocument);
  app.use(readBody);
  app.use(createResourceRoute(context));
  app.use((_request, response) => {
    answerText(response.status(404), '404 page not found\n');
  });
  app.use(answerError);
  return app;
}
