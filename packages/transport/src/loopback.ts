import { isIPv4, isIPv6 } from 'node:net';
import { shortIpv6 } from '@kube-dns/wire';

/** Whether an address is of the loopback interface: in 127.0.0.0/8 (RFC 1122 section 3.2.1.3), or ::1. */
export function isLoopback(address: string): boolean {
  if (isIPv4(address)) return address.startsWith('127.');
  return isIPv6(address) && shortIpv6(address) === '::1';
}
