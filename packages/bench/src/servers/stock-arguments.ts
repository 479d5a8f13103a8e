import { ZONE } from '../cluster/cluster-plan.js';

const ZONES = [ZONE, 'in-addr.arpa', 'ip6.arpa'];

function servers(kubednsPort: number): readonly string[] {
  return ZONES.map((zone) => `--server=/${zone}/127.0.0.1#${kubednsPort}`);
}

/** The arguments that dnsmasq has in the manifest of the pod, in front of a kubedns at this port. */
export function stockArguments(kubednsPort: number): readonly string[] {
  const negative = ['--no-negcache', '--negcache=push'];
  const others = ['--dns-loop-detect', '--log-facility=-'];
  return ['--cache-size=1000', ...negative, ...others, ...servers(kubednsPort)];
}

/** The same for the real dnsmasq, with its negative cache. */
export function realStockArguments(kubednsPort: number): readonly string[] {
  return ['--cache-size=1000', '--dns-loop-detect', ...servers(kubednsPort)];
}
