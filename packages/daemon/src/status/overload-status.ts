import type { Listener } from '@kube-dns/transport';
import type { StatusFacts } from './status-report.js';

type OverloadedListener = Pick<Listener, 'overloads'>;

/** A sentence for each socket at which more queries arrive than can be answered now. */
export function overloadProblems(listeners: readonly OverloadedListener[]): string[] {
  return overloadsOf(listeners).map(({ seconds, arriving, answering, limited }) => {
    const answered = answering > 0 ? `${answering} are answered` : 'those that wait are too old to be answered'; // prettier-ignore
    const rates = `${arriving} a second, ${answered}`;
    const clients = limited === 1 ? '1 client is' : `${limited} clients are`;
    return `more queries arrive than can be answered, for ${seconds} s: ${rates}, ${clients} limited`;
  });
}

/** A row for each client that asks most in an overload: what it asks in a second, and what of that is answered. */
export function limitedClientRows(listeners: readonly OverloadedListener[]): StatusFacts[] {
  return overloadsOf(listeners)
    .flatMap(({ clients }) => clients)
    .map(({ client, perSecond, passing }) => ({ client, perSecond, passing }));
}

function overloadsOf(listeners: readonly OverloadedListener[]) {
  return listeners.flatMap(({ overloads }) => overloads);
}
