import { readAddresses } from '@kube-dns/transport/internal';
import { replySeeds } from '../dns-seeds.js';
import type { FuzzTarget } from '../fuzz-target.js';
import { MESSAGE_MUTATIONS } from '../message-mutations.js';

/** Replies to the question for the addresses of a server that is given by name, in both families. */
export function createHostReplies(): FuzzTarget {
  return {
    seeds: replySeeds('ok'),
    tokens: [Buffer.from([0xc0, 0x0c])],
    mutations: MESSAGE_MUTATIONS,
    maxBytes: 4_096,
    run: (input) => {
      const found = [readAddresses(input, 'A'), readAddresses(input, 'AAAA')];
      return found.some(({ failure }) => failure === '');
    },
  };
}
