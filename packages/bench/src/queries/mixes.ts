import type { RealDnsmasqOptions } from '@kube-dns/testkit';
import { addressBytes, reverseName } from '@kube-dns/wire';
import { type ClusterPlan, serviceAddress, ZONE } from '../cluster/cluster-plan.js';

/** The kinds of questions that there are. */
export const MIX_NAMES = ['A', 'SRV', 'PTR', 'NXDOMAIN'] as const;
export type MixName = (typeof MIX_NAMES)[number];

/** One kind of question, asked about many names. */
export interface Mix {
  readonly name: MixName;
  /** The rcode that every answer is to have. */
  readonly rcode: 'NOERROR' | 'NXDOMAIN';
  /** Lines of a data file of dnsperf: a name and a type. */
  readonly lines: readonly string[];
}

/** The same order in each run, with no name near its neighbours (the step shares no factor). */
function shuffled<T>(items: readonly T[]): T[] {
  const count = items.length;
  let step = Math.max(1, Math.floor(count * 0.618));
  while (step > 1 && greatestCommonDivisor(step, count) !== 1) step--;
  return items.map((_, i) => items[(i * step) % count]!);
}

function greatestCommonDivisor(left: number, right: number): number {
  return right === 0 ? left : greatestCommonDivisor(right, left % right);
}

/** The numbers of up to `count` services that have a cluster address. */
export function askedServices(plan: ClusterPlan, count: number): readonly number[] {
  const services: number[] = [];
  for (let i = 0; i < plan.size.services && services.length < count; i++) {
    if (!plan.isHeadless(i)) services.push(i);
  }
  return services;
}

/** The queries for a server with these services: addresses, ports, reverse names, names that do not exist. */
export function mixesOf(plan: ClusterPlan, services: readonly number[]): readonly Mix[] {
  const order = shuffled(services);
  const each = (line: (service: number) => string) => order.map(line);
  return [
    { name: 'A', rcode: 'NOERROR', lines: each((i) => `${plan.dnsName(i)} A`) },
    { name: 'SRV', rcode: 'NOERROR', lines: each((i) => `_http._tcp.${plan.dnsName(i)} SRV`) },
    {
      name: 'PTR',
      rcode: 'NOERROR',
      lines: each((i) => `${reverseName(addressBytes(serviceAddress(i)))} PTR`),
    },
    {
      name: 'NXDOMAIN',
      rcode: 'NXDOMAIN',
      lines: each((i) => `no-${i}.${plan.namespaceOf(i)}.svc.${ZONE} A`),
    },
  ];
}

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
