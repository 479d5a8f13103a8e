import {
  copyQuery,
  encodeRefusal,
  MAX_MESSAGE_BYTES,
  Query,
  RCODE,
  relayTargetOf,
  SAFE_UDP_BYTES,
} from '@kube-dns/wire';
import { queriesFor } from '../dns-seeds.js';
import type { FuzzTarget } from '../fuzz-target.js';
import { MESSAGE_MUTATIONS } from '../message-mutations.js';

/** What every listener does first with what comes over UDP and over TCP. */
export function createQueryTarget(): FuzzTarget {
  const query = new Query();
  return {
    seeds: [...queriesFor('a.example.com', 'A'), ...queriesFor('version.bind', 'TXT', 'CH')],
    tokens: [],
    mutations: MESSAGE_MUTATIONS,
    maxBytes: 2_048,
    run: (input) => {
      query.read(input, input.length, true, MAX_MESSAGE_BYTES);
      if (query.read(input, input.length, false, SAFE_UDP_BYTES) !== 'answer') return false;
      const refusal = encodeRefusal(relayTargetOf(copyQuery(query)), RCODE.REFUSED);
      if (refusal.length > query.maxAnswerBytes) throw new Error('a refusal does not fit');
      return true;
    },
  };
}
