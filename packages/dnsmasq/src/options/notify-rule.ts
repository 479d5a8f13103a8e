import { encodeKey, WireError } from '@kube-dns/wire';
import { OptionError } from '../errors.js';
import { type AddressRange, parseAddressRange } from './address-range.js';

/** `--allow-notify`: who may send a NOTIFY for names at or below a zone. */
export interface NotifyRule {
  /** Lower-cased, in wire form. */
  readonly zone: Uint8Array;
  readonly sources: readonly AddressRange[];
}

/** Reads `/zone/IP[/bits][,IP[/bits]…]`. Throws an OptionError. */
export function parseNotifyRule(text: string): NotifyRule {
  const [, zone = '', sources = ''] = /^\/([^/]+)\/(.+)$/.exec(text) ?? [];
  if (sources === '') throw new OptionError(`${JSON.stringify(text)} is not /zone/IP[/bits],…`);
  return {
    zone: parseZone(zone),
    sources: sources.split(',').map((source) => parseAddressRange(source.trim())),
  };
}

function parseZone(text: string): Uint8Array {
  try {
    return encodeKey(text);
  } catch (error) {
    if (error instanceof WireError) throw new OptionError(`bad zone: ${error.message}`);
    throw error;
  }
}
