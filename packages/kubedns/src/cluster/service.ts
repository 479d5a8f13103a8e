import { isDnsLabel, isIpAddress } from '@kube-dns/daemon';
import { encodeName } from '@kube-dns/wire';
import type { V1Service } from '@kubernetes/client-node';
import type { EndpointNames } from '../config/naming.js';
import { dashedLabel } from '../zone/zone-names.js';
import { CountLimit } from './count-limit.js';
import type { ObjectReading } from './object-reading.js';
import type { Projection } from './object-store.js';
import {
  ADDRESS_BYTES,
  type AddressSize,
  countOf,
  IPV4_BYTES,
  IPV6_BYTES,
  packAddresses,
  type PackedAddresses,
} from './packed-addresses.js';
import { equalPorts, PORT_BYTES, type PortList, readPorts } from './ports.js';

/** A service without ports, with its name and namespace in the zone, as measured. */
const SERVICE_BYTES = 1_400;
/** The API allows two, one of each family. */
const MAX_CLUSTER_IPS = 16;
const NO_NAME = new Uint8Array(0);

/** The fields of a Service that DNS needs. */
export interface Service extends Projection {
  readonly kind: 'cluster-ip' | 'headless' | 'external-name';
  /** All cluster addresses; the address of an ExternalName that is one; else empty. */
  readonly ipv4: PackedAddresses;
  readonly ipv6: PackedAddresses;
  /** The labels of these addresses; undefined where they are generated. */
  readonly ipv4Labels: readonly string[] | undefined;
  readonly ipv6Labels: readonly string[] | undefined;
  readonly ports: PortList;
  /** The CNAME target of an ExternalName in wire form; undefined when it is an address. */
  readonly cname: Uint8Array | undefined;
}

/** Projects a Service of the API; throws when a field is invalid. */
export function projectService(object: V1Service, reading: ObjectReading): Service {
  const namespace = object.metadata?.namespace ?? '';
  const name = object.metadata?.name ?? '';
  checkLabels(namespace, name);
  const { spec } = object;
  const isExternal = spec?.type === 'ExternalName';
  const target = isExternal ? (spec.externalName ?? '').replace(/\.$/, '') : '';
  if (isExternal && target === '') throw new Error('the service has no externalName');
  const addresses = isExternal ? [target].filter(isIpAddress) : clusterAddresses(spec, reading);
  return {
    version: '',
    listNumber: 0,
    kind: isExternal ? 'external-name' : kindOf(addresses),
    ipv4: packAddresses(addresses, IPV4_BYTES),
    ipv6: packAddresses(addresses, IPV6_BYTES),
    ipv4Labels: labelsOf(addresses, IPV4_BYTES, reading.names),
    ipv6Labels: labelsOf(addresses, IPV6_BYTES, reading.names),
    ports: readPorts(spec?.ports),
    cname: isExternal && addresses.length === 0 ? encodeName(target) : undefined,
  };
}

/** Whether two states of a service have the same records. */
export function isSameService(before: Service, after: Service): boolean {
  return (
    before.kind === after.kind &&
    before.ipv4.bytes === after.ipv4.bytes &&
    before.ipv6.bytes === after.ipv6.bytes &&
    equalPorts(before.ports, after.ports) &&
    Buffer.compare(before.cname ?? NO_NAME, after.cname ?? NO_NAME) === 0
  );
}

/** The memory of a service, with its name, namespace and addresses in the zone, in bytes: as measured. */
export function serviceBytes({ ports, ipv4, ipv6 }: Service): number {
  const addresses = countOf(ipv4) + countOf(ipv6);
  return SERVICE_BYTES + addresses * ADDRESS_BYTES + ports.ports.length * PORT_BYTES;
}

/** Throws when one of the texts is not a DNS label. */
export function checkLabels(...labels: readonly string[]): void {
  for (const label of labels) {
    if (!isDnsLabel(label)) throw new Error(`${JSON.stringify(label)} is not a DNS label`);
  }
}

function clusterAddresses(spec: V1Service['spec'], reading: ObjectReading): string[] {
  const texts = spec?.clusterIPs?.length ? spec.clusterIPs : [spec?.clusterIP ?? ''];
  const limit = new CountLimit('cluster addresses', MAX_CLUSTER_IPS);
  const used = limit.take(texts);
  limit.report(reading);
  return used.filter((text) => {
    if (text === '' || text === 'None') return false;
    if (isIpAddress(text)) return true;
    throw new Error(`clusterIP ${JSON.stringify(text)} is not an IP address`);
  });
}

function labelsOf(
  addresses: readonly string[],
  size: AddressSize,
  names: EndpointNames,
): readonly string[] | undefined {
  if (names !== 'ip') return undefined;
  const isIpv6 = size === IPV6_BYTES;
  return addresses.filter((text) => text.includes(':') === isIpv6).map(dashedLabel);
}

/** A service that waits for its address counts as headless, as in kubernetes/dns pkg/dns/dns.go. */
function kindOf(addresses: readonly string[]): Service['kind'] {
  return addresses.length > 0 ? 'cluster-ip' : 'headless';
}
