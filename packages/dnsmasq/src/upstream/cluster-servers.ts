import type { Subscriptions } from '@kube-dns/push';
import type { ServerAddress, ServerGroup } from '@kube-dns/transport';

/** Whether servers answer for the cluster: kubedns (`-kubednsServer`) is among them, or one that tells changes. */
export function isOfCluster(
  group: ServerGroup | undefined,
  kubedns: ServerAddress | undefined,
  subscriptions: Pick<Subscriptions, 'hasAnnounced'>,
): boolean {
  if (group === undefined) return false;
  const { servers } = group;
  const isKubedns = ({ address, port }: ServerAddress) =>
    port === kubedns?.port && address === kubedns.address;
  return servers.some(isKubedns) || subscriptions.hasAnnounced(group);
}
