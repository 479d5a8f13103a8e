import type { Expectation } from '../dns/expectation.js';
import { type ClusterPlan, podAddress, serviceAddress } from './cluster-plan.js';

const MAX_NAMES = 5_000;

/** The address that a name of this service has; undefined where there is no single one. */
function expectationOf(plan: ClusterPlan, service: number): Expectation | undefined {
  const name = plan.dnsName(service);
  if (!plan.isHeadless(service)) return { name, type: 'A', address: serviceAddress(service) };
  if (!plan.hasHostnames(service) || service >= plan.size.slices) return undefined;
  const address = podAddress(plan.firstEndpoint(service));
  return { name: `${plan.hostname(service, 0)}.${name}`, type: 'A', address };
}

/** Names from all over the cluster, with the address that each has from the start. */
export function expectationsOf(plan: ClusterPlan, maxNames = MAX_NAMES): readonly Expectation[] {
  const { services } = plan.size;
  const step = Math.max(1, services / maxNames);
  const expectations: Expectation[] = [];
  for (let i = 0; i < services; i += step) {
    const expectation = expectationOf(plan, Math.floor(i));
    if (expectation) expectations.push(expectation);
  }
  return expectations;
}
