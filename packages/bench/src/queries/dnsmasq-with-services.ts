import type { RealDnsmasqOptions } from '@kube-dns/testkit';
import { type ClusterPlan, serviceAddress, ZONE } from '../cluster/cluster-plan.js';

const TTL_SECONDS = 30;

/**
 * The services of a plan for a dnsmasq that answers from its memory: addresses and reverse names, and
 * SRV records only on demand, because it goes through all of these for each query.
 */
export function dnsmasqWithServices(
  plan: ClusterPlan,
  services: readonly number[],
  { hasPorts = false } = {},
): RealDnsmasqOptions {
  return {
    hosts: services.map((i) => `${serviceAddress(i)} ${plan.dnsName(i)}`),
    config: (hasPorts ? services : []).map((i) => {
      const name = plan.dnsName(i);
      return `srv-host=_http._tcp.${name},${name},80,10,100`;
    }),
    args: [`--local=/${ZONE}/`, `--local-ttl=${TTL_SECONDS}`],
  };
}
