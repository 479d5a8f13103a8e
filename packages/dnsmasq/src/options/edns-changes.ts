import { parseAddress } from '@kube-dns/wire';
import { OptionError } from '../errors.js';
import { wholeNumber } from './number-value.js';

/** How `--add-…`, `--strip-…` and `--umbrella` change the EDNS options of forwarded queries. */
export interface EdnsChanges {
  /** The client's MAC as bytes, and as text; either may be sent without the other. */
  readonly addsMac: boolean;
  readonly addsMacText: 'no' | 'base64' | 'text';
  readonly stripsMac: boolean;
  /** The text of the option for the client's premises; empty is none. */
  readonly cpeId: string;
  readonly umbrella: UmbrellaIds | undefined;
  readonly addsSubnet: SubnetRules | undefined;
  readonly stripsSubnet: boolean;
}

/** How much of a client's address is sent, by family; undefined sends a prefix of 0 bits. */
export interface SubnetRules {
  readonly ipv4: SubnetRule | undefined;
  readonly ipv6: SubnetRule | undefined;
}

/** This many bits of the client's address, or of `address` instead. */
export interface SubnetRule {
  readonly bits: number;
  /** In wire form: 4 or 16 bytes. */
  readonly address?: Uint8Array;
}

/** The numbers that identify a customer of Cisco Umbrella; 0 and undefined are not sent. */
export interface UmbrellaIds {
  readonly orgId: number;
  readonly assetId: number;
  /** 8 bytes. */
  readonly deviceId: Uint8Array | undefined;
}

/** Changes nothing. */
export const NO_EDNS_CHANGES: EdnsChanges = {
  addsMac: false,
  addsMacText: 'no',
  stripsMac: false,
  cpeId: '',
  umbrella: undefined,
  addsSubnet: undefined,
  stripsSubnet: false,
};

const IPV4_BITS = 32;
const IPV6_BITS = 128;
const MAX_UINT32 = 2 ** 32 - 1;

/** Reads `[[IP/]bits][,[IP/]bits]`, for clients with IPv4 and IPv6 addresses. Throws an OptionError. */
export function parseSubnets(value: string): SubnetRules {
  const [ipv4, ipv6] = value === '' ? [] : value.split(',', 2);
  return {
    ipv4: ipv4 === undefined ? undefined : parseSubnet(ipv4.trim(), IPV4_BITS),
    ipv6: ipv6 === undefined ? undefined : parseSubnet(ipv6.trim(), IPV6_BITS),
  };
}

function parseSubnet(text: string, familyBits: number): SubnetRule {
  const slash = text.indexOf('/');
  if (slash < 0) return { bits: prefixBits(text, familyBits) };
  const address = parseAddress(text.slice(0, slash));
  if (address === undefined) throw new OptionError(`bad address in ${text}`, 'bad address');
  return { bits: prefixBits(text.slice(slash + 1), address.length * 8), address };
}

function prefixBits(text: string, most: number): number {
  const bits = wholeNumber(text);
  if (bits > most) throw new OptionError(`a prefix of ${bits} bits is too long`);
  return bits;
}

/** Reads `deviceid:16 hex digits`, `orgid:number` and `assetid:number`. Throws an OptionError. */
export function parseUmbrella(fields: readonly string[]): UmbrellaIds {
  let ids: UmbrellaIds = { orgId: 0, assetId: 0, deviceId: undefined };
  for (const field of fields) {
    const [, key, value = ''] = /^(deviceid|orgid|assetid):(.*)$/.exec(field) ?? [];
    if (key === 'orgid') ids = { ...ids, orgId: wholeNumber(value, MAX_UINT32) };
    else if (key === 'assetid') ids = { ...ids, assetId: wholeNumber(value, MAX_UINT32) };
    else if (key === 'deviceid' && /^[0-9a-f]{16}$/i.test(value)) {
      ids = { ...ids, deviceId: new Uint8Array(Buffer.from(value, 'hex')) };
    } else throw new OptionError(`${JSON.stringify(field)} is no identifier`);
  }
  return ids;
}
