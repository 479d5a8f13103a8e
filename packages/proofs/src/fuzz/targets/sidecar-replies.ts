import {
  parseStatistic,
  parseSubscriptions,
  QueryError,
  readReply,
  STATISTICS,
} from '@kube-dns/sidecar/internal';
import { isReplyTo } from '@kube-dns/transport/internal';
import { encodeQuery, WireError } from '@kube-dns/wire';
import { queriesFor, replySeeds, responseTo } from '../dns-seeds.js';
import type { FuzzTarget } from '../fuzz-target.js';
import { MESSAGE_MUTATIONS } from '../message-mutations.js';

/** Replies to the sidecar's probes and to its questions for dnsmasq's statistics. */
export function createSidecarReplies(): FuzzTarget {
  const query = encodeQuery({ id: 0x1234, name: 'n0.ok', type: 'A' });
  return {
    seeds: [
      ...replySeeds('ok'),
      ...queriesFor('hits.bind', 'TXT', 'CH'),
      ...['0', '12345', '-1', 'x'].map((data) =>
        responseTo('hits.bind', 'TXT', [{ owner: 'hits.bind', type: 'TXT', data }]),
      ),
    ],
    tokens: [Buffer.from('\xc0\x0c', 'latin1'), Buffer.from('\x0599999')],
    mutations: MESSAGE_MUTATIONS,
    maxBytes: 4_096,
    run: (input) => {
      isReplyTo(query, input);
      try {
        const message = readReply(input);
        parseSubscriptions(message);
        for (const statistic of STATISTICS) parseStatistic(statistic, message);
        return true;
      } catch (error) {
        if (error instanceof WireError || error instanceof QueryError) return false;
        throw error;
      }
    },
  };
}
