import { isIP } from 'node:net';
import type { ServerAddress } from '@kube-dns/transport';
import { encodeKey, WireError } from '@kube-dns/wire';
import { OptionError } from '../errors.js';

/** Where a domain's questions go: to servers, to the servers of no domain, or nowhere. */
export type RouteTarget =
  | { readonly kind: 'server'; readonly server: ServerAddress }
  | { readonly kind: 'default' }
  | { readonly kind: 'local' };

/** One `--server` or `--local`: a target for domains, or for every name when there is no domain. */
export interface ServerRule {
  /** Lower-cased names in wire form; empty means every name. */
  readonly domains: readonly Uint8Array[];
  readonly target: RouteTarget;
}

/** The port of a server that is given without one. */
export const DEFAULT_PORT = 53;
const MAX_PORT = 65_535;

/**
 * Reads the value of `--server`: `[/domain/…/]IP[#port]`. An empty target keeps the domains local, `#`
 * sends them to the servers of no domain. Beyond dnsmasq's grammar, `[IPv6]` and `IPv4:port` are
 * accepted. Throws an OptionError.
 */
export function parseServerRule(value: string): ServerRule {
  if (!value.startsWith('/')) return { domains: [], target: parseTarget(value) };
  const end = value.lastIndexOf('/');
  if (end === 0) throw new OptionError(`bad server ${JSON.stringify(value)}: no domain`);
  const domains = value.slice(1, end).split('/').map(parseDomain);
  return { domains, target: parseTarget(value.slice(end + 1)) };
}

/** A leading dot and a trailing one make no difference; `#` is every name. */
function parseDomain(text: string): Uint8Array {
  if (text === '#') return encodeKey('.');
  if (text === '' || text.startsWith('*')) {
    throw new OptionError(`unsupported domain ${JSON.stringify(text)} in a server`);
  }
  try {
    return encodeKey(text.replace(/^\.+/, ''));
  } catch (error) {
    if (error instanceof WireError) throw new OptionError(`bad domain: ${error.message}`);
    throw error;
  }
}

function parseTarget(text: string): RouteTarget {
  if (text === '') return { kind: 'local' };
  if (text === '#') return { kind: 'default' };
  const server = parseServer(text);
  if (server === undefined) throw new OptionError(`bad server address ${JSON.stringify(text)}`);
  return { kind: 'server', server };
}

/** The ways to write an address that is not a bare one: dnsmasq's own, and the ConfigMap's. */
const ADDRESS_FORMS = [
  /^([^#[\]]+)#([0-9]{1,5})$/,
  /^([0-9.]+):([0-9]{1,5})$/,
  /^\[([^\]]*:[^\]]*)\](?:[#:]([0-9]{1,5}))?$/,
];

/**
 * `IP`, `IP#port`, `IPv4:port`, `[IPv6]`, `[IPv6]#port` or `[IPv6]:port`; the port is 53 unless given.
 * Undefined for anything else, a name or port 0 included.
 */
export function parseServer(text: string): ServerAddress | undefined {
  if (isIP(text) !== 0) return { address: text, port: DEFAULT_PORT };
  for (const form of ADDRESS_FORMS) {
    const [, address = '', port = String(DEFAULT_PORT)] = form.exec(text) ?? [];
    const isPort = Number(port) >= 1 && Number(port) <= MAX_PORT;
    if (isIP(address) !== 0 && isPort) return { address, port: Number(port) };
  }
  return undefined;
}
