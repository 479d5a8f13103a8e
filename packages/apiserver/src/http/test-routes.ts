import { Router, type Request } from 'express';
import { ApiError } from '../errors.js';
import { isJsonObject, type JsonObject } from '../object.js';
import {
  isFailureStatus,
  isRestartData,
  isVerb,
  type Failure,
  type RestartOptions,
} from '../switches.js';
import { parseBody } from './body.js';
import { isBookmarks, type Bookmarks } from './watch.js';

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

const LOOPBACK = /^(?:127\.|::1$|::ffff:127\.)/;

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
export function createTestRoutes(controls: TestControls, requests: object): Router {
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
    if (LOOPBACK.test(request.socket.remoteAddress ?? '')) next();
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
