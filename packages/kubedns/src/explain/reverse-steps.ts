import type { ExplainedStep } from '@kube-dns/telemetry';
import { addressText, ReverseAddress } from '@kube-dns/wire';
import type { PackedAddresses } from '../watch/projections.js';
import type { PtrMode } from '../config/flags.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import type { ZoneService } from '../zone/zone-service.js';
import { listed } from './words.js';

/** What is known of the address of a reverse name. */
export interface ReverseReading {
  /** Undefined for a name that is not the whole one of an address. */
  readonly address: string | undefined;
  /** The services whose names the address has. */
  readonly owners: readonly ZoneService[];
  /** Services with a cluster address whose endpoint it is. */
  readonly behind: readonly ZoneService[];
}

const MAX_OWNERS = 16;

/** Reads a lower-cased reverse name. */
export function readReverse(key: Uint8Array, zone: ClusterZone): ReverseReading {
  const { isCanonical, bytes, size } = new ReverseAddress().read(key, key.length);
  if (!isCanonical) return { address: undefined, owners: [], behind: [] };
  const address = Buffer.from(bytes.subarray(0, size));
  const text = address.toString('latin1');
  const owners: ZoneService[] = [];
  let place = zone.addresses.first(zone.addresses.hashBytes(bytes, size));
  for (; place >= 0 && owners.length < MAX_OWNERS; place = zone.addresses.next(place)) {
    const owner = zone.index.serviceAt(zone.addresses.serviceOf(place));
    if (hasAddress(owner, text)) owners.push(owner);
  }
  const behind = owners.length > 0 ? [] : behindAddress(zone, text);
  return { address: addressText(address), owners, behind };
}

/** How a reverse name is read, and why it has a name or none. */
export function reverseStep(
  { address, owners, behind }: ReverseReading,
  ptr: PtrMode,
): ExplainedStep {
  if (address === undefined) {
    const text = 'It is a reverse name, but not the whole one of an address.';
    return { step: 'name', text, kind: 'reverse' };
  }
  const keys = owners.map(({ key }) => key).sort();
  const facts = { kind: 'reverse', address, services: keys };
  if (keys.length > 0) {
    const first =
      owners.length > 1 && ptr === 'first'
        ? ' With --ptr=first only one of its names is told.'
        : '';
    const what = owners.every(({ isHeadless }) => isHeadless)
      ? 'an endpoint of the headless service'
      : 'an address of the service';
    const text = `It is the reverse name of ${address}, ${what} ${listed(keys)}.${first}`;
    return { step: 'name', text, ...facts };
  }
  const other = behind.map(({ key }) => key).sort();
  const because =
    other.length === 0
      ? ''
      : ` It is an endpoint of ${listed(other)}, but only the endpoints of headless services have names.`;
  const text = `It is the reverse name of ${address}, which is no address of a service and of no endpoint of a headless service.${because}`;
  return { step: 'absent', text, ...facts, missing: 'address', behind: other };
}

function hasAddress(owner: ZoneService, address: string): boolean {
  const { service } = owner;
  if (service === undefined) return false;
  if (service.kind === 'headless') return isEndpoint(owner, address);
  return holds(service.ipv4, address) || holds(service.ipv6, address);
}

/** Walks all services: for an explanation alone. */
function behindAddress(zone: ClusterZone, address: string): ZoneService[] {
  const found: ZoneService[] = [];
  for (const service of zone.allServices) {
    if (service.service?.kind !== 'cluster-ip' || !isEndpoint(service, address)) continue;
    if (found.push(service) >= MAX_OWNERS) break;
  }
  return found;
}

function isEndpoint({ slices }: ZoneService, address: string): boolean {
  return slices.some(({ groups }) => groups.some((group) => holds(group, address)));
}

/** Whether packed addresses have one, at the begin of an address. */
function holds({ size, bytes }: PackedAddresses, address: string): boolean {
  if (address.length !== size) return false;
  let at = bytes.indexOf(address);
  while (at >= 0 && at % size !== 0) at = bytes.indexOf(address, at + 1);
  return at >= 0;
}
