import { parseHostPort } from '@kube-dns/daemon';
import type { HttpAddress } from '../corefile/server-block.js';

/** Parses `host:port` as Go's HTTP servers take it, the host may be missing; throws with the reason. */
export function parseHttpAddress(text: string): HttpAddress {
  const { host, port } = parseHostPort(text);
  if (port === null) throw new Error('the port is missing, such as :8080');
  return { host, port };
}
