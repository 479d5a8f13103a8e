import type { V1EndpointSlice } from '@kubernetes/client-node';
import { isDnsLabel, isIpAddress } from '@kube-dns/daemon';

/** One address of an endpoint in the API, and what decides whether DNS has it. */
export interface SeenEndpoint {
  readonly address: string;
  readonly pod: string | undefined;
  readonly hostname: string | undefined;
  readonly isReady: boolean;
  readonly isTerminating: boolean;
  readonly isIpv6: boolean;
  /** Why it is left out although it is ready; undefined when it is not. */
  readonly flaw: string | undefined;
}

/** The endpoints of a slice, one for each address. */
export function endpointsOf(slice: V1EndpointSlice): SeenEndpoint[] {
  return (slice.endpoints ?? []).flatMap(({ addresses, conditions, hostname, targetRef }) =>
    addresses.map((address) => ({
      address,
      pod: targetRef?.kind === 'Pod' ? targetRef.name : undefined,
      hostname: hostname === '' ? undefined : hostname,
      isReady: conditions?.ready !== false,
      isTerminating: conditions?.terminating === true,
      isIpv6: address.includes(':'),
      flaw: flawOf(slice, address, hostname),
    })),
  );
}

/** An endpoint as a sentence names it. */
export function endpointText({ address, pod }: SeenEndpoint): string {
  return pod === undefined ? address : `${address} (pod ${pod})`;
}

function flawOf(
  { addressType }: V1EndpointSlice,
  address: string,
  hostname: unknown,
): string | undefined {
  if (addressType === 'FQDN') return 'it is in a slice of names, for which DNS has no records';
  if (!isIpAddress(address)) return 'it is no IP address';
  const isNamed = hostname === undefined || hostname === null || hostname === '';
  const isLabel = typeof hostname === 'string' && isDnsLabel(hostname.toLowerCase());
  return isNamed || isLabel ? undefined : 'its hostname is no DNS label';
}
