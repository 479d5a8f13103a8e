import { existsSync } from 'node:fs';
import { isIP, isIPv4 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { errorText, hideUrlSecrets, MAX_PORT, parseHostPort } from '@kube-dns/base';
import { parseEncryptedServer } from '@kube-dns/daemon';
import type { Encryption, ServerAddress } from '@kube-dns/transport';
import { parseAddress } from '@kube-dns/wire';
import { OptionError } from '../errors.js';
import { type RuleDomains, splitDomains } from './rule-domains.js';

/** The source of queries to a server; the system chooses what is undefined. */
export interface ServerSource {
  readonly address?: string;
  readonly interface?: string;
  readonly port?: number;
}

/** A server given by name, which must be resolved. */
export interface NamedServer {
  readonly host: string;
  readonly port: number;
  readonly encryption?: Encryption;
}

/** Where a domain's questions go: to servers, to the servers of no domain, or nowhere. */
export type RouteTarget =
  | { readonly kind: 'server'; readonly server: ServerAddress; readonly source?: ServerSource }
  | { readonly kind: 'named-server'; readonly server: NamedServer; readonly source?: ServerSource }
  | { readonly kind: 'default' }
  | { readonly kind: 'local' };

/** One `--server` or `--local`: a target for domains. */
export interface ServerRule extends RuleDomains {
  readonly target: RouteTarget;
}

/** One `--address`: an answer for domains; `zeros` is the unspecified address of either family. */
export interface AddressRule extends RuleDomains {
  /** In wire form: 4 or 16 bytes. */
  readonly address: Uint8Array | 'zeros';
}

/** The port of a server that is given without one. */
export const DEFAULT_PORT = 53;
const BAD_INTERFACE = 'bad interface name';
/** The message of dnsmasq's C library for text that is not a name. */
const NO_SUCH_NAME = 'Name or service not known';

/**
 * Reads the value of `--server`: `[/domain/…/]target`, where the target is nothing (the domains stay
 * local), `#` (the servers of no domain), or `host[%scope][#port][@source]`. Beyond dnsmasq's grammar,
 * `[IPv6]`, `:port`, `tls://…` and `https://…` are accepted. Throws an OptionError.
 */
export function parseServerRule(value: string): ServerRule {
  const { domains, rest } = splitDomains(value);
  return { ...domains, target: parseTarget(rest) };
}

/** Reads the value of `--address`; without an address the domains stay local. Throws an OptionError. */
export function parseAddressRule(value: string): AddressRule | ServerRule {
  const { domains, rest } = splitDomains(value);
  if (rest === '') return { ...domains, target: { kind: 'local' } };
  const address = rest === '#' ? 'zeros' : parseAddress(rest);
  if (address === undefined || rest.includes('%')) {
    throw new OptionError(`bad address ${JSON.stringify(rest)}`, 'Bad address in --address');
  }
  return { ...domains, address };
}

function parseTarget(text: string): RouteTarget {
  if (text === '') return { kind: 'local' };
  if (text === '#') return { kind: 'default' };
  const [serverText = '', ...sourceTexts] = text.split('@');
  const source = parseSource(sourceTexts);
  const server = parseServerOf(serverText, text);
  if ('host' in server) return { kind: 'named-server', server, ...withSource(source) };
  checkScope(server.address);
  checkFamilies(server.address, source?.address);
  return { kind: 'server', server, ...withSource(source) };
}

/** The part before the source. What is in front of an `@` may be a password: an error repeats none. */
function parseServerOf(serverText: string, text: string): ServerAddress | NamedServer {
  try {
    return parseEncrypted(serverText) ?? parseServer(serverText) ?? parseNamedServer(serverText);
  } catch (error) {
    const mayHavePassword = serverText.includes(':') && serverText !== text;
    if (!mayHavePassword || !(error instanceof OptionError)) throw error;
    const shown = JSON.stringify(hideUrlSecrets(text));
    throw new OptionError(`bad server ${shown}`, error.words);
  }
}

function withSource(source: ServerSource | undefined): { source?: ServerSource } {
  return source === undefined ? {} : { source };
}

/** `address[#port]`, or `interface[@address][#port]`. */
function parseSource(texts: readonly string[]): ServerSource | undefined {
  if (texts.length === 0) return undefined;
  const [first = '', second] = texts;
  const [firstText, firstPort] = splitPort(first);
  const [secondText, secondPort] =
    second === undefined ? [undefined, undefined] : splitPort(second);
  const port = secondPort ?? firstPort;
  const isAddressFirst = isIP(firstText) !== 0;
  const address = isAddressFirst ? firstText : secondText;
  if (address !== undefined && isIP(address) === 0) {
    throw new OptionError(`bad source ${JSON.stringify(address)}`, BAD_INTERFACE);
  }
  return {
    ...(address === undefined ? {} : { address }),
    ...(isAddressFirst ? {} : { interface: firstText }),
    ...(port === undefined ? {} : { port }),
  };
}

function splitPort(text: string): [text: string, port: number | undefined] {
  const [before = '', after] = text.split('#', 2);
  return [before, after === undefined ? undefined : parsePort(after)];
}

function parsePort(text: string): number {
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : MAX_PORT + 1;
  if (port > MAX_PORT) throw new OptionError(`bad port ${JSON.stringify(text)}`, 'bad port');
  return port;
}

function checkScope(address: string): void {
  const [, scope] = address.split('%');
  if (scope === undefined || hasInterface(scope)) return;
  throw new OptionError(`no interface ${JSON.stringify(scope)}`, BAD_INTERFACE);
}

/** Also one without an address, where the system lists those. */
function hasInterface(name: string): boolean {
  return Object.hasOwn(networkInterfaces(), name) || existsSync(`/sys/class/net/${name}/ifindex`);
}

function checkFamilies(server: string, source: string | undefined): void {
  if (source === undefined || isIPv4(server) === isIPv4(source)) return;
  const [one, other] = isIPv4(server) ? ['IPv4', 'IPv6'] : ['IPv6', 'IPv4'];
  throw new OptionError(
    `source ${source} of server ${server}`,
    `cannot use ${one} server address with ${other} source address`,
  );
}

function parseEncrypted(text: string): ServerAddress | NamedServer | undefined {
  try {
    const server = parseEncryptedServer(text);
    if (server === undefined || isIP(server.host) === 0) return server;
    const { host: address, port, encryption } = server;
    return { address, port, encryption };
  } catch (error) {
    throw new OptionError(`bad server ${JSON.stringify(text)}: ${errorText(error)}`);
  }
}

/** `name[#port]`. Text of only digits and dots is a malformed address. */
function parseNamedServer(text: string): NamedServer {
  const [host, port = DEFAULT_PORT] = splitPort(text);
  if (isIP(host) !== 0) throw new OptionError(`port 0 of ${host} cannot be asked`, 'bad port');
  const isName = /^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_.])?$/i.test(host) && !/^[0-9.]+$/.test(host);
  if (!isName || port === 0) {
    throw new OptionError(`bad server address ${JSON.stringify(text)}`, NO_SUCH_NAME);
  }
  return { host: host.replace(/\.$/, ''), port };
}

/**
 * `IP`, `IP#port`, `IPv4:port`, `[IPv6]`, `[IPv6]#port` or `[IPv6]:port`, an IPv6 one with or without a
 * scope; the port is 53 unless given. Undefined for anything else, a name or port 0 included.
 */
export function parseServer(text: string): ServerAddress | undefined {
  const [, before = '', hashPort] = /^([^#]*)(?:#([0-9]{1,5}))?$/.exec(text) ?? [];
  try {
    const { host: address, port: colonPort } = parseHostPort(before);
    const port = hashPort === undefined ? (colonPort ?? DEFAULT_PORT) : Number(hashPort);
    const isOnePort = hashPort === undefined || colonPort === null;
    const isAddress = isIP(address) !== 0 && isOnePort && port >= 1 && port <= MAX_PORT;
    return isAddress ? { address, port } : undefined;
  } catch {
    return undefined; // the caller tries other forms and reports the error
  }
}
