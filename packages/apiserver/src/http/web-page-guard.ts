import { isIP } from 'node:net';
import type { Request, RequestHandler } from 'express';
import { ApiError } from '../errors.js';

const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
const ANY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/**
 * Refuses what a web page can make a browser send, so that no page reaches the server of the machine that shows
 * it: requests for a name that leads here (DNS rebinding), and requests from another origin. `host` is the
 * address that the server listens on.
 */
export function refuseWebPages(host: string): RequestHandler {
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
