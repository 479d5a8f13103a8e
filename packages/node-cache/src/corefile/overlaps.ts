import { addressText, parseAddress } from '@kube-dns/wire';
import type { ServerBlock } from './server-block.js';

/** A zone that two blocks serve in one place. */
export interface Overlap {
  /** The later one. */
  readonly block: ServerBlock;
  readonly reason: string;
}

/**
 * Zones that are served twice on one port and address; a block without `bind` is on every address. Words and rule
 * are those of CoreDNS (core/dnsserver/register.go, validateZonesAndListeningAddresses).
 */
export function overlaps(blocks: readonly ServerBlock[]): Overlap[] {
  const found: Overlap[] = [];
  /** By zone and port: the addresses so far, '' for all. */
  const taken = new Map<string, Set<string>>();
  for (const block of blocks) {
    for (const { zone, port } of block.zones) {
      const key = `dns://${zone === '.' ? '.' : `${zone}.`}:${port}`;
      const addresses = taken.get(key) ?? new Set<string>();
      taken.set(key, addresses);
      const own = block.addresses.length === 0 ? [''] : block.addresses.map(canonical);
      for (const address of own) {
        const where = on(key, address);
        const [other = ''] = address === '' || addresses.has('') ? addresses : [];
        if (addresses.has(address)) {
          found.push({ block, reason: `cannot serve ${where} - it is already defined` });
        } else if (addresses.size > 0 && (address === '' || addresses.has(''))) {
          const reason = `cannot serve ${where} - zone overlap listener capacity with ${on(key, other)}`;
          found.push({ block, reason });
        }
        addresses.add(address);
      }
    }
  }
  return found;
}

function on(key: string, address: string): string {
  return address === '' ? key : `${key} on ${address}`;
}

function canonical(address: string): string {
  const bytes = parseAddress(address);
  const scope = /%.*$/.exec(address)?.[0] ?? '';
  return bytes === undefined ? address : addressText(bytes) + scope;
}
