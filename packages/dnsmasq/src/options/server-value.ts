import { existsSync } from 'node:fs';
import { isIP, isIPv4 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { errorText, MAX_PORT, parseHostPort, quote } from '@kube-dns/base';
import { parseEncryptedServer } from '@kube-dns/daemon';
import type { Encryption, ServerAddress } from '@kube-dns/transport';
import {
  BITS_PER_REVERSE_LABEL,
  encodeKey,
  parseAddress,
  reverseName,
  ROOT_NAME,
  WireError,
} from '@kube-dns/wire';
import { OptionError } from '../errors.js';
import { addressOf, wholeNumber } from './values.js';

/** `*end.parent`: names with a label before `parent` that ends so. All lower-cased. */
export interface WildcardDomain {
  /** May be empty: every name below `parent` then. */
  readonly labelEnd: Uint8Array;
  /** In wire form. */
  readonly parent: Uint8Array;
}

/** Domains without wildcards. */
export interface PlainDomains {
  /** Lower-cased names in wire form, each with all below it; the root is every name. */
  readonly domains: readonly Uint8Array[];
  /** Names of one label, too. */
  readonly isUnqualified?: boolean;
}

/** The names that a rule applies to. */
export interface RuleDomains extends PlainDomains {
  readonly wildcards?: readonly WildcardDomain[];
}

/** Where the scheme of a server begins: at the slash before it, or with the text. */
const SCHEME = /(?:^|\/)[a-z][a-z0-9+.-]*:\/\//i;

/**
 * Reads `/domain/…/` or one bare domain, in which `*` is an ordinary character; an empty one is the names
 * of one label. Throws an OptionError.
 */
export function parsePlainDomains(value: string): PlainDomains {
  const texts = value.replace(/^\/|\/$/g, '').split('/');
  return {
    domains: texts.filter((text) => text !== '').map(parseDomain),
    ...(texts.includes('') ? { isUnqualified: true } : {}),
  };
}

/** Splits `/domain/…/rest`; without domains it is every name. Throws an OptionError. */
export function splitDomains(value: string): { domains: RuleDomains; rest: string } {
  // The slashes of `https://…/…` divide no domains. Without a second slash there is no domain: `/` alone is every
  // name, as the empty value.
  const scheme = SCHEME.exec(value);
  const end = scheme === null ? value.lastIndexOf('/') : scheme.index;
  if (end < 1) {
    const rest = value === '/' ? '' : value;
    return { domains: { domains: [ROOT_NAME] }, rest };
  }
  const texts = value.startsWith('/') ? value.slice(1, end).split('/') : undefined;
  if (texts === undefined) return { domains: { domains: [ROOT_NAME] }, rest: value };
  const wildcards = texts.filter(isWildcard).map(parseWildcard);
  return {
    domains: {
      domains: texts.filter((text) => text !== '' && !isWildcard(text)).map(parseDomain),
      ...(wildcards.length > 0 ? { wildcards } : {}),
      ...(texts.includes('') ? { isUnqualified: true } : {}),
    },
    rest: value.slice(end + 1),
  };
}

function isWildcard(text: string): boolean {
  return text.startsWith('*');
}

/** Leading and trailing dots are ignored; `#` is every name. */
function parseDomain(text: string): Uint8Array {
  const name = text.replace(/^\.+/, '');
  if (text === '#' || name === '') return ROOT_NAME;
  try {
    return encodeKey(name);
  } catch (error) {
    if (error instanceof WireError) throw new OptionError(`bad domain: ${error.message}`);
    throw error;
  }
}

function parseWildcard(text: string): WildcardDomain {
  const [labelEnd = '', ...parents] = text.slice(1).split('.');
  return {
    labelEnd: labelEnd === '' ? new Uint8Array(0) : parseDomain(labelEnd).slice(1, -1),
    parent: parseDomain(parents.join('.')),
  };
}

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
    throw new OptionError(`bad server ${quote(text)}`, error.words);
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
    throw new OptionError(`bad source ${quote(address)}`, BAD_INTERFACE);
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
  if (port > MAX_PORT) throw new OptionError(`bad port ${quote(text)}`, 'bad port');
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
    throw new OptionError(`bad server ${quote(text)}: ${errorText(error)}`);
  }
}

/** `name[#port]`. Text of only digits and dots is a malformed address. */
function parseNamedServer(text: string): NamedServer {
  const [host, port = DEFAULT_PORT] = splitPort(text);
  if (isIP(host) !== 0) throw new OptionError(`port 0 of ${host} cannot be asked`, 'bad port');
  const isName = /^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_.])?$/i.test(host) && !/^[0-9.]+$/.test(host);
  if (!isName || port === 0) {
    throw new OptionError(`bad server address ${quote(text)}`, NO_SUCH_NAME);
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

/**
 * Reads `IP[/bits],server`: the server answers for the reverse zones of the addresses, several zones
 * where the prefix ends inside a label. Throws an OptionError.
 */
export function parseReverseServer(value: string): ServerRule {
  const comma = value.indexOf(',');
  const range = comma < 0 ? value : value.slice(0, comma);
  const { target } = parseServerRule(comma < 0 ? '' : value.slice(comma + 1).trim());
  return { domains: reverseZones(range.trim()).map((zone) => encodeKey(zone)), target };
}

function reverseZones(text: string): string[] {
  const [addressText = '', bitsText] = text.split('/', 2);
  const address = addressOf(addressText);
  const isIpv4 = address.length === 4;
  const most = address.length * 8;
  const words = `bad ${isIpv4 ? 'IPv4' : 'IPv6'} prefix length`;
  const bits = bitsText === undefined ? most : wholeNumber(bitsText, most, words);
  if (bits === 0) throw new OptionError('a prefix of 0 bits is every name', words);
  const step = BITS_PER_REVERSE_LABEL[isIpv4 ? 'ipv4' : 'ipv6'];
  const whole = Math.ceil(bits / step) * step;
  return Array.from({ length: 2 ** (whole - bits) }, (_, i) =>
    reverseName(withLastBits(address, bits, whole, i), whole),
  );
}

/** The address with `value` in its bits from `from` to `to`; both are in one byte. */
function withLastBits(address: Uint8Array, from: number, to: number, value: number): Uint8Array {
  const changed = address.slice();
  if (to === from) return changed;
  const at = (to - 1) >> 3;
  const mask = (2 ** (to - from) - 1) << ((8 - (to % 8)) % 8);
  changed[at] = (changed[at]! & ~mask) | (value << ((8 - (to % 8)) % 8));
  return changed;
}
