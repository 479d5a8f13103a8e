import type { IncomingMessage } from 'node:http';
import { unmappedAddress } from '@kube-dns/wire';
import type { RequestHandler } from 'express';

/** What a local page answers: a status, and JSON unless `type` says what else. */
export interface LocalAnswer {
  readonly status: number;
  readonly body: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A page for those on the same machine, or in the same pod; gets the parameters of the request's query. */
export type LocalPage = (parameters: URLSearchParams) => Promise<LocalAnswer> | LocalAnswer;

/** The host of a URL that a browser or a tool uses for this machine, with or without port. */
const LOCAL_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;
const IPV4_LOOPBACK = '127.';
/** A page of another port of this machine is `same-site`, and not ours (Fetch Metadata, section 2.3). */
const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none']);

/**
 * Whether a request comes from this machine or this pod, as `kubectl port-forward` and `exec` do: both ends of its
 * connection are loopback addresses, and so is its Host. A page of another site whose name leads here (DNS rebinding)
 * has another; one that has the browser ask here is named by `Origin` or `Sec-Fetch-Site`.
 */
export function isLocal({ socket, headers, headersDistinct, url }: LocalRequest): boolean {
  const { remoteAddress, localAddress } = socket;
  if (!isLoopback(remoteAddress) || !isLoopback(localAddress)) return false;
  const { host = [], origin = [], 'sec-fetch-site': site } = headersDistinct;
  return (
    host.length === 1 &&
    LOCAL_HOST.test(headers.host ?? '') &&
    isLocalTarget(url ?? '') &&
    origin.every(isLocalUrl) &&
    site?.every((value) => OWN_SITES.has(value)) !== false
  );
}

/** What of a request says where it comes from. */
type LocalRequest = Pick<IncomingMessage, 'socket' | 'headers' | 'headersDistinct' | 'url'>;

/** The target of a request is a path, or a URL with its host (RFC 9112 section 3.2.2). */
function isLocalTarget(target: string): boolean {
  return target.startsWith('/') || isLocalUrl(target);
}

/** Of `http` or `https`; `null`, the origin of a page without one, is none. */
function isLocalUrl(text: string): boolean {
  const [, host = ''] = /^https?:\/\/([^/?#]*)/i.exec(text) ?? [];
  return LOCAL_HOST.test(host);
}

function isLoopback(address: string | undefined): boolean {
  const plain = unmappedAddress(address ?? '');
  return plain === '::1' || plain.startsWith(IPV4_LOOPBACK);
}

/**
 * Serves pages by path to local requests, GET and HEAD, and those of `openPaths` to all; other requests go on as if there
 * were none.
 */
export function localPages(
  pages: ReadonlyMap<string, LocalPage>,
  openPaths: ReadonlySet<string> = new Set(),
): RequestHandler {
  return async (request, response, next) => {
    const page = pages.get(request.path);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const isShown = openPaths.has(request.path) || isLocal(request);
    if (page === undefined || !isRead || !isShown) {
      next();
      return;
    }
    // Not by `URL`, which throws for some of what a client can send.
    const parameters = new URLSearchParams(/\?([^#]*)/.exec(request.url)?.[1] ?? '');
    const { status, body, type = 'application/json', headers = {} } = await page(parameters);
    response
      .status(status)
      .set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff', ...headers })
      .type(type)
      .send(body);
  };
}
