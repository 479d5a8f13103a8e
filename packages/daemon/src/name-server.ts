import { isIP } from 'node:net';
import { type HostPort, MAX_PORT, parseHostPort, wrongPort } from '@kube-dns/base';
import type { Encryption } from '@kube-dns/transport';

const LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const MAX_NAME = 253;

/** Whether the text is an RFC 1123 label in lower case, as Kubernetes checks it. */
export function isDnsLabel(text: string): boolean {
  return LABEL.test(text);
}

/** Whether the text is an RFC 1123 subdomain in lower case, without a final dot. */
export function isDnsSubdomain(text: string): boolean {
  return text.length <= MAX_NAME && text.split('.').every(isDnsLabel);
}

/** Whether the text is an IPv4 or IPv6 address without a zone. */
export function isIpAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%');
}

/** A server that is asked over TLS or HTTPS, as it is written: its host may be a name, which must be resolved. */
export interface EncryptedServer extends HostPort {
  readonly port: number;
  readonly encryption: Encryption;
}

interface Place {
  readonly host: string;
  readonly port: number | null;
  /** The certificate's name, where one is given. */
  readonly name: string | null;
}

const SCHEME = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is;
const PATH = /^\/[!-~]*$/;
/** A template of RFC 6570, a fragment, and what `--server` has in front of a source. */
const NOT_IN_PATH = /[{}#@]/;
const LINK_LOCAL = /^fe[89ab]/i;
const NOT_A_HOST = 'neither an IP address nor a DNS name';

/**
 * Parses `tls://HOST[#PORT][%NAME]` and `https://HOST[:PORT][%NAME]/PATH`, where NAME is the certificate's, that
 * of the host by default; the port may have `#` or `:`, before NAME or, as CoreDNS writes it, after it. IPv6 may
 * have brackets, and needs them for `:PORT` and for a scope. Undefined for text without a scheme; throws with the
 * reason for any other scheme, and for what cannot be asked.
 */
export function parseEncryptedServer(text: string): EncryptedServer | undefined {
  const [, scheme, rest = ''] = SCHEME.exec(text) ?? [];
  if (scheme === undefined) return undefined;
  const protocol = scheme.toLowerCase();
  if (protocol !== 'tls' && protocol !== 'https') {
    throw new Error(`unknown scheme ${scheme}://, only tls:// and https:// are possible`);
  }
  const slash = rest.indexOf('/');
  const path = slash < 0 ? '' : rest.slice(slash);
  if (protocol === 'https') checkPath(path);
  else if (path !== '') throw new Error('tls:// has no path');
  const place = parsePlace(slash < 0 ? rest : rest.slice(0, slash));
  const host = checkHost(place.host);
  const name = place.name === null ? host.replace(/%.*$/s, '') : plainName(place.name);
  if (name === undefined) throw new Error(`the certificate’s name is ${NOT_A_HOST}`);
  if (place.port === 0) throw new Error('port 0 is not possible');
  const port = place.port ?? (protocol === 'tls' ? 853 : 443);
  return { host, port, encryption: { protocol, name, path } };
}

function checkPath(path: string): void {
  if (path === '') throw new Error('the path is missing, such as /dns-query');
  if (!PATH.test(path) || NOT_IN_PATH.test(path)) {
    throw new Error('a path has no blanks, braces, # or @');
  }
}

function parsePlace(text: string): Place {
  // Inside brackets it is the scope of the address.
  const percent = text.indexOf('%', text.lastIndexOf(']') + 1);
  if (percent < 0) return { ...parseHost(text), name: null };
  const before = parseHost(text.slice(0, percent));
  const after = text.slice(percent + 1);
  if (isIP(after) !== 0) return { ...before, name: after };
  const [, name = '', latePort] = /^([^#:]*)(?:[#:](.*))?$/s.exec(after) ?? [];
  return { host: before.host, port: onePort(before.port, latePort), name };
}

function parseHost(text: string): HostPort {
  const [, before = '', hashPort] = /^([^#]*)(?:#(.*))?$/s.exec(text) ?? [];
  const { host, port } = parseHostPort(before);
  return { host, port: onePort(port, hashPort) };
}

function onePort(port: number | null, text: string | undefined): number | null {
  if (text === undefined) return port;
  if (port !== null) throw new Error('two ports');
  const number = /^\d{1,5}$/.test(text) ? Number(text) : MAX_PORT + 1;
  if (number <= MAX_PORT) return number;
  throw wrongPort(text);
}

function checkHost(text: string): string {
  if (text === '') throw new Error('the address is missing');
  const isScoped = isIP(text) === 6 && text.includes('%');
  if (isScoped && !LINK_LOCAL.test(text)) throw new Error('only a link-local address has a scope');
  const host = isScoped ? text : plainName(text);
  if (host === undefined) throw new Error(NOT_A_HOST);
  return host;
}

/** An IP address, or a DNS name in lower case without its final dot; undefined for anything else. */
function plainName(text: string): string | undefined {
  if (isIP(text) !== 0) return text.includes('%') ? undefined : text;
  const name = text.toLowerCase().replace(/\.$/, '');
  // A malformed address is no name, and no certificate has one.
  return isDnsSubdomain(name) && !/(?:^|\.)\d+$/.test(name) ? name : undefined;
}

/** A name server as it is written. */
export interface NameServer extends HostPort {
  /** Plain UDP and TCP without it; with it there is a port, too. */
  readonly encryption?: Encryption;
}

/**
 * Parses `IPv4`, `IPv4:port`, `IPv6`, `[IPv6]`, `[IPv6]:port`, a name, `tls://…` or `https://…` (see
 * {@link parseEncryptedServer}); throws with the reason. An empty port (`1.2.3.4:`) counts as none. The caller
 * decides whether a name is allowed.
 */
export function parseNameServer(text: string): NameServer {
  const encrypted = parseEncryptedServer(text);
  if (encrypted !== undefined) return encrypted;
  const hasEmptyPort = text.endsWith(':') && !isIpAddress(text);
  const { host, port } = parseHostPort(hasEmptyPort ? text.slice(0, -1) : text);
  if (isIpAddress(host)) return { host, port };
  if (!isDnsSubdomain(host)) throw new Error('neither an IP address nor a DNS name');
  if (port !== null || hasEmptyPort) throw new Error('a name cannot have a port');
  return { host, port };
}
