import { parseAddress } from '@kube-dns/wire';

/**
 * The address that the first label of a pod's name encodes: `10-0-0-1`, or IPv6 with `-` for `:`.
 * Undefined when it encodes none; letters must be lower case.
 * After kubernetes/dns pkg/dns/dns.go (isPodRecord), where only IPv4 worked.
 */
export function podAddress(label: string): Uint8Array | undefined {
  if (!/^[0-9a-f-]+$/.test(label)) return undefined;
  return parseAddress(label.replaceAll('-', '.')) ?? parseAddress(label.replaceAll('-', ':'));
}
