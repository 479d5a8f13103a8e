import { networkOf, type Session } from '@kube-dns/transport';

/** Half of the TCP connections of the DNS port; others ask for TTLs. */
const MAX_SUBSCRIBERS = 250;

/**
 * Who has to go for a new subscriber: the oldest of the client that has most, where the new one has fewer or is of
 * this machine or pod. `true` when there is a place, `false` when the new one has to go. A client is an address, with IPv6
 * its /64.
 */
export function makePlace(
  subscribers: ReadonlyMap<Session, unknown>,
  own: Session,
): Session | boolean {
  if (subscribers.size < MAX_SUBSCRIBERS) return true;
  const firsts = new Map<string, { readonly session: Session; count: number }>();
  for (const session of subscribers.keys()) {
    const client = clientOf(session);
    const found = firsts.get(client);
    if (found === undefined) firsts.set(client, { session, count: 1 });
    else found.count++;
  }
  let most = { session: own, count: 0 };
  for (const [client, found] of firsts) {
    if (found.count > most.count && client !== clientOf(own)) most = found;
  }
  const ownCount = firsts.get(clientOf(own))?.count ?? 0;
  // Two that have as many would take each other's places for ever.
  const isFair = isLoopback(own)
    ? ownCount === 0 || most.count > ownCount
    : most.count > ownCount + 1;
  return isFair && most.count > 0 ? most.session : false;
}

function clientOf({ address }: Session): string {
  return networkOf(address) ?? address;
}

function isLoopback({ address }: Session): boolean {
  return address === '::1' || address.startsWith('127.');
}
