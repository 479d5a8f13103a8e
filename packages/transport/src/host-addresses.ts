import { buildQuery, decodeMessage, encodeKey, TYPE } from '@kube-dns/wire';
import type { Exchange } from './exchange.js';
import type { ServerAddress } from './server-address.js';
import { askUpstream } from './upstream-query.js';

/** The address types, IPv4 first: every machine has it. */
export const FAMILIES = ['A', 'AAAA'] as const;
export type AddressFamily = (typeof FAMILIES)[number];

/** What name servers say about the addresses of a host, in one family. */
export interface HostAddresses {
  readonly addresses: readonly string[];
  /** The least of the records; 0 without any. */
  readonly ttlSeconds: number;
  /** Why there are none; empty for an answer without addresses. */
  readonly failure: string;
}

/** More name servers than these for one domain are never asked. */
const MAX_ADDRESSES = 8;

/** Asks servers (at least one) for the addresses of a host; a chain of aliases is for them to follow. */
export function askHostAddresses(
  host: string,
  family: AddressFamily,
  servers: readonly ServerAddress[],
  deadlineMs: number,
  done: (answer: HostAddresses) => void,
): Exchange {
  const query = buildQuery(encodeKey(host), TYPE[family]);
  return askUpstream({ query, servers, protocol: 'udp', deadlineMs }, (error, reply) => {
    done(reply === null ? failed(error?.message ?? 'no reply') : read(reply, family));
  });
}

function failed(failure: string): HostAddresses {
  return { addresses: [], ttlSeconds: 0, failure };
}

function read(reply: Buffer, family: AddressFamily): HostAddresses {
  try {
    const { rcode, answers } = decodeMessage(reply);
    if (rcode !== 'NOERROR') return failed(`the answer is ${rcode}`);
    const found = answers.flatMap((record) => (record.type === family ? record : []));
    const records = found.slice(0, MAX_ADDRESSES);
    const ttls = records.map(({ ttl }) => ttl ?? 0);
    return {
      addresses: records.map(({ data }) => data),
      ttlSeconds: ttls.length === 0 ? 0 : Math.min(...ttls),
      failure: '',
    };
  } catch (error) {
    return failed(`the answer cannot be read: ${String(error)}`);
  }
}
