import { isIpAddress } from '@kube-dns/daemon';
import type { OptionalResource } from './optional-watch.js';
import { shortAddress } from '@kube-dns/wire';
import {
  addressTexts,
  checkLabels,
  equalPorts,
  IPV4_BYTES,
  IPV6_BYTES,
  metadataOf,
  packAddresses,
  type PackedAddresses,
  type PortFields,
  portFields,
  type PortList,
  readPorts,
} from './projections.js';
import type { ApiObject, Projection } from './store.js';

/** The fields of a ServiceImport that DNS needs; those of both versions are the same (KEP-1645). */
interface ServiceImportObject extends ApiObject {
  readonly spec?: {
    readonly type?: string | null;
    readonly ips?: readonly string[] | null;
    readonly ports?: readonly PortFields[] | null;
  };
}

/** What is stored of a ServiceImport. */
export interface ServiceImport extends Projection {
  /** Its records come from its endpoints in all clusters; else from its addresses. */
  readonly isHeadless: boolean;
  readonly ipv4: PackedAddresses;
  readonly ipv6: PackedAddresses;
  readonly ports: PortList;
}

/** The API allows two. */
const MAX_IPS = 2;
/** With its name in the zone; of a port: as measured for services. */
const IMPORT_BYTES = 1_400;
const PORT_BYTES = 100;

/** Projects a ServiceImport; throws when a field is invalid. */
export function projectServiceImport(
  object: ServiceImportObject,
  onRejected: (reason: string) => void,
): ServiceImport {
  const { metadata, spec } = object;
  checkLabels(metadata?.namespace ?? '', metadata?.name ?? '');
  const { type, ports } = spec ?? {};
  if (type !== 'ClusterSetIP' && type !== 'Headless') {
    throw new Error(`type ${JSON.stringify(type)} is not ClusterSetIP or Headless`);
  }
  const isHeadless = type === 'Headless';
  const ips = isHeadless ? [] : (spec?.ips ?? []);
  const used = ips.slice(0, MAX_IPS);
  if (used.length < ips.length) onRejected(`${ips.length - used.length} more ips than ${MAX_IPS}`);
  for (const ip of used) {
    if (typeof ip === 'string' && isIpAddress(ip)) continue;
    throw new Error(`ip ${JSON.stringify(ip)} is not an IP address`);
  }
  const addresses = [...new Set(used.map(shortAddress))];
  return {
    version: '',
    listNumber: 0,
    isHeadless,
    ipv4: packAddresses(addresses, IPV4_BYTES),
    ipv6: packAddresses(addresses, IPV6_BYTES),
    ports: readPorts(ports),
  };
}

/** The watch of ServiceImports; `put` is called with each change, and must not throw but for a name that is too long. */
export function serviceImports(
  put: (key: string, after: ServiceImport | undefined) => void,
): OptionalResource<ServiceImportObject, ServiceImport> {
  return {
    group: 'multicluster.x-k8s.io',
    resource: 'serviceimports',
    versions: ['v1beta1', 'v1alpha1'],
    sink: {
      project: (_key, object, onRejected) => projectServiceImport(object, onRejected),
      objectOf: (key, stored) => {
        const { isHeadless, ipv4, ipv6, ports } = stored;
        const type = isHeadless ? 'Headless' : 'ClusterSetIP';
        const ips = [...addressTexts(ipv4), ...addressTexts(ipv6)];
        return { metadata: metadataOf(key, stored), spec: { type, ips, ports: portFields(ports) } };
      },
      isSame: (before, after) =>
        before.isHeadless === after.isHeadless &&
        before.ipv4.bytes === after.ipv4.bytes &&
        before.ipv6.bytes === after.ipv6.bytes &&
        equalPorts(before.ports, after.ports),
      bytesOf: ({ ports }) => IMPORT_BYTES + ports.ports.length * PORT_BYTES,
      change: (key, _before, after) => put(key, after),
    },
  };
}
