import type { RequestHandler } from '@kube-dns/daemon';

import { healthJson, type Health } from './probe/health.js';

export const HEALTHZ_PATH = '/healthz';

/** The path of the health of the probe with this label. */
export function healthcheckPath(label: string): string {
  return `/healthcheck/${label}`;
}

/** Handlers by exact path, for any method: paths in Go are not patterns. */
export function routeByPath(handlers: ReadonlyMap<string, RequestHandler>): RequestHandler {
  return (request, response, next) => {
    const handler = handlers.get(request.path);
    if (handler !== undefined) return handler(request, response, next);
    next();
    return undefined;
  };
}

/** 200 while the probe is healthy, otherwise 503; the body has the reason. */
export function healthcheck(health: () => Health): RequestHandler {
  return (_request, response) => {
    const current = health();
    const body = healthJson(current);
    // Not `send`, which would add a charset to the type.
    response.writeHead(current.isOk ? 200 : 503, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    });
    response.end(body);
  };
}

/** 200 as long as the process lives. */
export function healthz(now: () => Date = () => new Date()): RequestHandler {
  return (_request, response) => {
    const time = now().toISOString().replace('T', ' ').replace('Z', ' +0000 UTC');
    response.type('text/plain').send(`ok (${time})\n`);
  };
}
