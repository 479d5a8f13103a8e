import type { DecodedMessage } from '@kube-dns/wire';

/** Zones whose servers tell dnsmasq what changes, and zones whose servers should and do not. */
export interface SubscriptionCounts {
  readonly live: number;
  readonly down: number;
}

/** A name of ours: the dnsmasq of the original does not have it. */
export const SUBSCRIPTIONS_NAME = 'subscriptions.bind.';

/** The counts in a reply, one TXT record of `live N` and `down N`; undefined when it has none. */
export function parseSubscriptions(reply: DecodedMessage): SubscriptionCounts | undefined {
  const [answer] = reply.answers;
  if (reply.rcode !== 'NOERROR' || answer?.type !== 'TXT') return undefined;
  const text = [answer.data].flat().map(String).join(' ');
  const [, live, down] = /^live (\d{1,9}) down (\d{1,9})$/.exec(text) ?? [];
  if (live === undefined || down === undefined) return undefined;
  return { live: Number(live), down: Number(down) };
}
