import type { ConfigKeys } from '@kube-dns/testkit';
import type { WorldServer } from '../soak/world-names.js';

/**
 * A version of a pod's ConfigMap that leads to the same answers by other servers: those of the world change,
 * and a stub domain that no client asks for is added or removed.
 */
export function rollConfig(
  version: number,
  ports: Readonly<Record<WorldServer, number>>,
): ConfigKeys {
  const server = (name: WorldServer) => [`127.0.0.1:${ports[name]}`];
  const isOdd = version % 2 === 1;
  return {
    stubDomains: JSON.stringify({
      'corp.test': server('first'),
      ...(isOdd && { 'other.test': server('second') }),
    }),
    upstreamNameservers: JSON.stringify(server(isOdd ? 'mirror' : 'world')),
  };
}
