import {
  copyQuery,
  encodeRefusal,
  MAX_MESSAGE_BYTES,
  Query,
  RCODE,
  relayTargetOf,
  SAFE_UDP_BYTES,
} from '@kube-dns/wire';
import { ServerCookies } from '@kube-dns/transport';
import { cookieQuery, queriesFor } from '../dns-seeds.js';
import type { FuzzTarget } from '../fuzz-target.js';
import { MESSAGE_MUTATIONS } from '../message-mutations.js';

type CookieClient = Parameters<ServerCookies['judge']>[1];
const CLIENT: CookieClient = {
  address: '192.0.2.1',
  port: 40_000,
  copyAddress: (to, at) => {
    to.set([192, 0, 2, 1], at);
    return 4;
  },
  answersFrom: () => undefined,
  defer: () => {
    throw new Error('no answer is deferred here');
  },
};

/** What every listener does first with what comes over UDP and over TCP. */
export function createQueryTarget(): FuzzTarget {
  const query = new Query();
  const cookies = new ServerCookies();
  return {
    seeds: [
      cookieQuery(),
      ...queriesFor('a.example.com', 'A'),
      ...queriesFor('version.bind', 'TXT', 'CH'),
    ],
    tokens: [],
    mutations: MESSAGE_MUTATIONS,
    maxBytes: 2_048,
    run: (input) => {
      query.read(input, input.length, true, MAX_MESSAGE_BYTES);
      if (query.cookieAt > 0) cookies.judge(query, CLIENT);
      if (query.read(input, input.length, false, SAFE_UDP_BYTES) !== 'answer') return false;
      const refusal = encodeRefusal(relayTargetOf(copyQuery(query)), RCODE.REFUSED);
      if (refusal.length > query.maxAnswerBytes) throw new Error('a refusal does not fit');
      return true;
    },
  };
}
