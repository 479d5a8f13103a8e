import { type ClusterPlan, serviceAddress, ZONE } from '../cluster/cluster-plan.js';

const TTL_SECONDS = 30;
/** That of the first port of each service of a plan. */
const PORT = 80;

/**
 * These services in the form of RFC 1035 section 5, as the DNS specification of Kubernetes has them: an address
 * and the SRV record of a port each.
 */
export function zoneText(plan: ClusterPlan, services: readonly number[]): string {
  const records = services.flatMap((i) => {
    const name = `${plan.dnsName(i)}.`;
    return [`${name} A ${serviceAddress(i)}`, `_http._tcp.${name} SRV 0 100 ${PORT} ${name}`];
  });
  const lines = [
    `$ORIGIN ${ZONE}.`,
    `$TTL ${TTL_SECONDS}`,
    `@ SOA ns.dns hostmaster 1 7200 1800 86400 ${TTL_SECONDS}`,
    '@ NS ns.dns',
    'ns.dns A 127.0.0.1',
    ...records,
  ];
  return lines.map((line) => `${line}\n`).join('');
}
