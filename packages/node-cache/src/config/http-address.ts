import { isIPv6 } from 'node:net';
import { parseHostPort } from '@kube-dns/base';
import type { HttpAddress } from '../corefile/server-block.js';

/**
 * Parses `host:port` as Go's HTTP servers take it, the host may be missing; throws with the reason. The port is needed,
 * so it is what follows the last colon of an IPv6 address without brackets: a manifest has but `$(POD_IP):9353`.
 */
export function parseHttpAddress(text: string): HttpAddress {
  const [, address = '', digits = ''] = /^(.*):(\d{1,5})$/.exec(text) ?? [];
  const { host, port } = parseHostPort(isIPv6(address) ? `[${address}]:${digits}` : text);
  if (port === null) throw new Error('the port is missing, such as :8080');
  return { host, port };
}
