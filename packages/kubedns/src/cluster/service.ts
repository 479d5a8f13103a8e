import { SocketAddress } from 'node:net';
import { isIpAddress } from '@kube-dns/daemon';
import type { V1Service } from '@kubernetes/client-node';

/** A named or unnamed port; `protocol` is lower case: `tcp`, `udp`, `sctp`. */
export interface Port {
  /** Empty for an unnamed port. */
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
}

/** The fields of a Service that DNS needs. */
export interface Service {
  readonly namespace: string;
  readonly name: string;
  readonly kind: 'cluster-ip' | 'headless' | 'external-name';
  /** Every cluster address of both families; empty unless `kind` is `cluster-ip`. */
  readonly addresses: readonly string[];
  readonly ports: readonly Port[];
  readonly externalName: string;
}

/** Cuts a Service of the API down; the API object is not kept. */
export function projectService(object: V1Service): Service {
  const { spec } = object;
  const isExternal = spec?.type === 'ExternalName';
  const clusterIps = spec?.clusterIPs?.length ? spec.clusterIPs : [spec?.clusterIP ?? ''];
  const addresses = isExternal ? [] : clusterIps.filter(isIpAddress).map(canonicalAddress);
  return {
    namespace: object.metadata?.namespace ?? '',
    name: object.metadata?.name ?? '',
    kind: isExternal ? 'external-name' : kindOf(addresses),
    addresses,
    ports: (spec?.ports ?? []).map((port) => ({
      name: port.name ?? '',
      protocol: (port.protocol ?? 'TCP').toLowerCase(),
      port: port.port,
    })),
    externalName: isExternal ? (spec.externalName ?? '') : '',
  };
}

/** A service that waits for its address counts as headless, as in kubernetes/dns pkg/dns/dns.go. */
function kindOf(addresses: readonly string[]): Service['kind'] {
  return addresses.length > 0 ? 'cluster-ip' : 'headless';
}

/** The generated label of an address is made of its text, so the text must be the one everybody has. */
function canonicalAddress(text: string): string {
  return text.includes(':') ? new SocketAddress({ address: text, family: 'ipv6' }).address : text;
}
