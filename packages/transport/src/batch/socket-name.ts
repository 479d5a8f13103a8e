import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { addressBytes, addressText, readUint16, writeUint16 } from '@kube-dns/wire';
import { AF_INET, AF_INET6 } from './constants.js';

/** struct sockaddr_in6, the longer of the two. */
export const MAX_NAME_BYTES = 28;
const IPV4_NAME_BYTES = 16;
const PORT_AT = 2;
const IPV4_AT = 4;
const IPV6_AT = 8;
const SCOPE_AT = 24;

/** A struct sockaddr_in or sockaddr_in6; an IPv4 address for an IPv6 socket is mapped (RFC 4291 section 2.5.5.2). */
export function encodeSocketName(address: string, port: number, isIpv6Socket: boolean): Uint8Array {
  const [host = '', scope = ''] = address.split('%');
  const bytes = addressBytes(isIpv6Socket && !isIPv6(host) ? `::ffff:${host}` : host);
  const isIpv6 = bytes.length === 16;
  const name = new Uint8Array(isIpv6 ? MAX_NAME_BYTES : IPV4_NAME_BYTES);
  // The family is in the order of the machine, which is little-endian here.
  name[0] = isIpv6 ? AF_INET6 : AF_INET;
  writeUint16(name, PORT_AT, port);
  name.set(bytes, isIpv6 ? IPV6_AT : IPV4_AT);
  if (isIpv6) new DataView(name.buffer).setUint32(SCOPE_AT, scopeNumber(scope), true);
  return name;
}

/** The port in a socket name. */
export function portOf(name: Uint8Array): number {
  return readUint16(name, PORT_AT);
}

/** The address in a socket name, as node:dgram writes it. */
export function addressOf(name: Uint8Array): string {
  if (name[0] === AF_INET) return addressText(name.subarray(IPV4_AT, IPV4_AT + 4));
  const address = addressText(name.subarray(IPV6_AT, SCOPE_AT));
  const scope = name[SCOPE_AT]! | (name[SCOPE_AT + 1]! << 8);
  return scope === 0 ? address : `${address}%${scopeName(scope)}`;
}

function scopeNumber(scope: string): number {
  if (/^\d*$/.test(scope)) return Number(scope);
  return networkInterfaces()[scope]?.find(({ scopeid }) => (scopeid ?? 0) > 0)?.scopeid ?? 0;
}

function scopeName(scope: number): string {
  for (const [name, addresses] of Object.entries(networkInterfaces())) {
    if (addresses?.some(({ scopeid }) => scopeid === scope) === true) return name;
  }
  return String(scope);
}
