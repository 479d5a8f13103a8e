import { isIP, isIPv4, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { EVERY_ADDRESS, parseAddress, shortIpv6, unmappedAddress } from '@kube-dns/wire';

/** How a server is asked where that is not plain UDP and TCP: DNS over TLS (RFC 7858) or over HTTPS (RFC 8484). */
export interface Encryption {
  readonly protocol: 'tls' | 'https';
  /** The DNS name or IP address that the server's certificate must have. */
  readonly name: string;
  /** Over HTTPS: the path of the URL, with its first slash; else empty. */
  readonly path: string;
}

/** A name server: an IP address (never a name) and a port. */
export interface ServerAddress {
  readonly address: string;
  readonly port: number;
  /** Plain UDP and TCP without it. */
  readonly encryption?: Encryption;
  /** It is asked over TCP alone, in plain text, on few connections that are kept (RFC 7766). */
  readonly keepsTcp?: boolean;
}

/** Whether a server is asked over connections that are kept, with many queries in flight on each. */
export function isStreamed({ encryption, keepsTcp }: ServerAddress): boolean {
  return encryption !== undefined || keepsTcp === true;
}

/** `ADDRESS#PORT`, also of an encrypted server: what has a place in a text of 40 bytes. */
export function addressText({ address, port }: ServerAddress): string {
  return `${address}#${port}`;
}

/**
 * The text of a server as dnsmasq writes it: `127.0.0.1#10053`; of an encrypted one `tls://9.9.9.9#853%dns.example`
 * or `https://dns.example/dns-query (9.9.9.9#443)`; of one that is asked over TCP alone `tcp://127.0.0.1#53`.
 * It is shown, so it is without what a URL has after `?`, which may be a secret.
 */
export function serverText(server: ServerAddress): string {
  return textWith(server, server.encryption?.path.replace(/\?.*$/s, '') ?? '');
}

/** What tells servers apart: the text, with all of a URL. Never shown. */
export function serverKey(server: ServerAddress): string {
  return textWith(server, server.encryption?.path ?? '');
}

function textWith(server: ServerAddress, path: string): string {
  const { address, encryption } = server;
  const text = addressText(server);
  if (encryption === undefined) return server.keepsTcp === true ? `tcp://${text}` : text;
  const { protocol, name } = encryption;
  if (protocol === 'https') {
    return `https://${isIPv6(name) ? `[${name}]` : name}${path} (${text})`;
  }
  return name === address ? `tls://${text}` : `tls://${text}%${name}`;
}

const WILDCARDS: ReadonlySet<string> = new Set([EVERY_ADDRESS, '0.0.0.0', '::']);
let machine: ReadonlySet<string> | undefined;

/**
 * Whether a server is the one that listens at one of `own`: the same port, and the same address or, when that of `own`
 * is a wildcard, any address of this machine. A wildcard as a server's address is this machine.
 */
export function isOwnAddress(server: ServerAddress, own: readonly ServerAddress[]): boolean {
  return own.some((each) => listensAt(server, each));
}

function listensAt(server: ServerAddress, own: ServerAddress): boolean {
  if (server.port !== own.port) return false;
  const address = canonical(server.address);
  if (!WILDCARDS.has(own.address)) {
    return WILDCARDS.has(address) || address === canonical(own.address);
  }
  if (own.address !== EVERY_ADDRESS && isIPv6(own.address) !== isIPv6(address)) return false;
  if (WILDCARDS.has(address) || address.startsWith('127.')) return true;
  return machineAddresses().has(address);
}

/** The addresses of this machine, asked once in a turn of the event loop: a configuration has many servers. */
function machineAddresses(): ReadonlySet<string> {
  if (machine === undefined) {
    const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
    machine = new Set(all.map(({ address }) => canonical(address)));
    setImmediate(() => (machine = undefined));
  }
  return machine;
}

/** One spelling of each address, without a zone; IPv4 in IPv6 (`::ffff:192.0.2.1`) is the IPv4 address. */
function canonical(text: string): string {
  if (!isIPv6(text)) return text;
  return unmappedAddress(shortIpv6(text.replace(/%.*$/, '')));
}

/** Whether an address is of the loopback interface: in 127.0.0.0/8 (RFC 1122 section 3.2.1.3), or ::1. */
export function isLoopback(address: string): boolean {
  if (isIPv4(address)) return address.startsWith('127.');
  return isIPv6(address) && shortIpv6(address) === '::1';
}

/**
 * Reads the `nameserver` lines (or those of other keywords) of a resolv.conf(5) in order; everything else
 * is ignored, also a value that is not an IP address. The port is always 53. A scope (`fe80::1%eth0`) stays.
 */
export function parseResolvConf(
  text: string,
  keywords: readonly string[] = ['nameserver'],
): ServerAddress[] {
  const servers: ServerAddress[] = [];
  for (const line of text.split('\n')) {
    const [keyword = '', value] = line.trim().split(/\s+/);
    if (!keywords.includes(keyword) || value === undefined || isIP(value) === 0) continue;
    servers.push({ address: value, port: 53 });
  }
  return servers;
}

const MAPPED_PREFIX = '::ffff:';
const DIGITS = 0x30;
const DOT = 0x2e;
const IPV4_BYTES = 4;

/** Writes the bytes of a client's address, 4 or 16, at `at`, and returns how many; one that is no address has none. */
export function copyAddress(text: string, to: Uint8Array, at: number): number {
  if (copyIpv4(text, to, at)) return IPV4_BYTES;
  const bytes = parseAddress(unmappedAddress(text));
  if (bytes === undefined) return 0;
  to.set(bytes, at);
  return bytes.length;
}

/** An IPv4 address, also as a socket of both families names it, without a string for each byte; false for any other text. */
function copyIpv4(text: string, to: Uint8Array, at: number): boolean {
  let value = -1;
  let count = 0;
  for (let i = text.startsWith(MAPPED_PREFIX) ? MAPPED_PREFIX.length : 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === DOT && value >= 0 && count < IPV4_BYTES - 1) {
      to[at + count++] = value;
      value = -1;
    } else if (code >= DIGITS && code < DIGITS + 10 && value !== 0) {
      value = Math.max(value, 0) * 10 + code - DIGITS;
      if (value > 0xff) return false;
    } else return false;
  }
  if (value < 0 || count !== IPV4_BYTES - 1) return false;
  to[at + count] = value;
  return true;
}
