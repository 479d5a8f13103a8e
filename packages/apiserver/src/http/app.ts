import { isIP } from 'node:net';
import express, {
  raw,
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import { ApiError } from '../errors.js';
import { answerJson, failureStatus, toApiError } from './answer.js';
import { MAX_BODY_BYTES } from './body.js';
import { findDocument, HEALTH_PATHS } from './discovery.js';
import { isOfApi, methodNotAllowed, parseTarget } from './request.js';
import { handleResource, queryOf, verbOf, type ApiContext } from './resource-handler.js';
import { createTestRoutes, type TestControls } from './test-routes.js';

const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
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
  if (LOOPBACK.test(name) || address === host) return true;
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
  app.use(answerDocument);
  app.use(readBody);
  app.use(createResourceRoute(context));
  app.use((_request, response) => {
    answerText(response.status(404), '404 page not found\n');
  });
  app.use(answerError);
  return app;
}
