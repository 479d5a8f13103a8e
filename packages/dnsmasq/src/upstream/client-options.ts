import { writeUint16 } from '@kube-dns/wire';
import type { SubnetRules, UmbrellaIds } from '../options/values.js';

const IPV4_BYTES = 4;
/** The address families of RFC 7871 section 6. */
const FAMILY = { IPV4: 1, IPV6: 2 } as const;
/** Cisco's "Identifying DNS traffic": magic, version and flags, then fields of these types. */
const UMBRELLA_HEAD = Buffer.from('ODNS\u0001\0', 'latin1');
const UMBRELLA_FIELD = { ASSET: 0x04, ORG: 0x08, IPV4: 0x10, IPV6: 0x20, DEVICE: 0x40 } as const;

/** The client subnet that is sent upstream; `isOfClient` when it depends on the client's address. */
export interface SentSubnet {
  readonly data: Uint8Array;
  readonly isOfClient: boolean;
}

/** The data of an EDNS Client Subnet option (RFC 7871 section 6; dnsmasq src/edns0.c, calc_subnet_opt). */
export function subnetData({ ipv4, ipv6 }: SubnetRules, client: Uint8Array): SentSubnet {
  const rule = client.length === IPV4_BYTES ? ipv4 : ipv6;
  const address = rule?.address ?? client;
  const bits = rule?.bits ?? 0;
  const bytes = Math.ceil(bits / 8);
  const data = new Uint8Array(4 + bytes);
  data[1] = address.length === IPV4_BYTES ? FAMILY.IPV4 : FAMILY.IPV6;
  data[2] = bits;
  data.set(address.subarray(0, bytes), 4);
  const spare = bytes * 8 - bits;
  if (spare > 0) data[3 + bytes]! &= 0xff << spare;
  return { data, isOfClient: bits > 0 && rule?.address === undefined };
}

/** Whether the data of a query's Client Subnet option are well formed. */
export function isSubnetData(data: Uint8Array): boolean {
  if (data.length < 4 || data[0] !== 0 || data[3] !== 0) return false;
  const maxBits = { [FAMILY.IPV4]: 32, [FAMILY.IPV6]: 128 }[data[1]!];
  const bits = data[2]!;
  return maxBits !== undefined && bits <= maxBits && data.length === 4 + Math.ceil(bits / 8);
}

/** The data of the option that identifies the client to Cisco Umbrella. */
export function umbrellaData(ids: UmbrellaIds, client: Uint8Array): Uint8Array {
  const { orgId, assetId, deviceId } = ids;
  const family = client.length === IPV4_BYTES ? UMBRELLA_FIELD.IPV4 : UMBRELLA_FIELD.IPV6;
  return Buffer.concat([
    UMBRELLA_HEAD,
    ...(orgId > 0 ? [umbrellaField(UMBRELLA_FIELD.ORG, uint32(orgId))] : []),
    umbrellaField(family, client),
    ...(deviceId === undefined ? [] : [umbrellaField(UMBRELLA_FIELD.DEVICE, deviceId)]),
    ...(assetId > 0 ? [umbrellaField(UMBRELLA_FIELD.ASSET, uint32(assetId))] : []),
  ]);
}

function umbrellaField(type: number, value: Uint8Array): Buffer {
  const field = Buffer.alloc(2 + value.length);
  writeUint16(field, 0, type);
  field.set(value, 2);
  return field;
}

function uint32(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(number);
  return bytes;
}
