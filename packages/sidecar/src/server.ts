import { parseHostPort } from '@kube-dns/base';

/** A server to ask: an IP literal or a host name, and a port. */
export interface Server {
  readonly host: string;
  readonly port: number;
}

export const DNS_PORT = 53;
const THIS_MACHINE = '127.0.0.1';

/**
 * Parses `host`, `host:port`, `IPv6`, `[IPv6]` or `[IPv6]:port`; the default port is 53, the default host
 * this machine, as Go dials `:53`. Throws with the reason.
 */
export function parseServer(text: string): Server {
  const { host, port } = parseHostPort(text);
  if (!host.includes(':') && /[^\w.-]/.test(host)) {
    throw new Error(`${JSON.stringify(host)} is not a host`);
  }
  if (port === 0) throw new Error('port 0 is not possible');
  return { host: host === '' ? THIS_MACHINE : host, port: port ?? DNS_PORT };
}
