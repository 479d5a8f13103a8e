import type { ConfigKeys } from '@kube-dns/testkit';
import type { WorldServer } from './world-names.js';

/**
 * A version of the pod's ConfigMap: the stub domain corp.test moves from the first server to the second
 * and back, and lab.test, at the first, comes and goes; so does the second server of the world.
 */
export function podConfig(
  version: number,
  ports: Readonly<Record<WorldServer, number>>,
): ConfigKeys {
  const server = (...names: WorldServer[]) => names.map((name) => `127.0.0.1:${ports[name]}`);
  const isOdd = version % 2 === 1;
  const stubDomains = isOdd
    ? { 'corp.test': server('second'), 'lab.test': server('first') }
    : { 'corp.test': server('first') };
  return {
    stubDomains: JSON.stringify(stubDomains),
    upstreamNameservers: JSON.stringify(isOdd ? server('world', 'mirror') : server('world')),
  };
}

/** Who answers names of a domain while a version holds. */
export function serverOf(domain: 'corp.test' | 'lab.test', version: number): WorldServer {
  const isOdd = version % 2 === 1;
  if (domain === 'lab.test') return isOdd ? 'first' : 'world';
  return isOdd ? 'second' : 'first';
}
