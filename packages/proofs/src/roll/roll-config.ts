import type { ConfigKeys } from '@kube-dns/testkit';
import type { WorldServer } from '../soak/world-names.js';

/**
 * A version of a pod's ConfigMap that says another way to the same answers: the servers of the world change,
 * and a stub domain that nobody asks for comes and goes.
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
