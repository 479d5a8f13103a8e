import { RCODE_MASK, readUint16 } from '@kube-dns/wire';
import { queriesFor } from '../dns-seeds.js';
import type { FuzzTarget } from '../fuzz-target.js';
import { MESSAGE_MUTATIONS } from '../message-mutations.js';
import { checkAnswer } from './checked-answer.js';
import { startDnsmasq } from './dnsmasq-testbed.js';
import { plainReply } from './upstream-reply.js';

const NAMES = [
  ...['a.example.com', 'host.x', 'alias.x', 'txt.x', 'x', '_s._udp.x', 'n.local', 'n.block'],
  ...['ip-10-2-0-7.synth.x', '1.1.1.10.in-addr.arpa', '7.0.2.10.in-addr.arpa', 'plain', 'n.ok'],
];
const TYPES = ['A', 'AAAA', 'TXT', 'SRV', 'MX', 'PTR', 'ANY', 'CNAME'];

/** Queries over UDP to a whole dnsmasq, with and without its log; upstream answers with NXDOMAIN. */
export async function createDnsmasqQueries(): Promise<FuzzTarget> {
  const testbeds = [await startDnsmasq(false), await startDnsmasq(true)];
  return {
    seeds: [
      ...NAMES.flatMap((name, i) => queriesFor(name, TYPES[i % TYPES.length]!)),
      ...queriesFor('cachesize.bind', 'TXT', 'CH'),
      ...queriesFor('servers.bind', 'TXT', 'CH'),
    ],
    tokens: [
      '\x01x\0',
      '\x04host',
      '\x05alias',
      '\x07in-addr\x04arpa\0',
      '\x05local\0',
      '\x02ok\0',
    ].map((text) => Buffer.from(text, 'latin1')),
    mutations: MESSAGE_MUTATIONS,
    maxBytes: 2_048,
    run: (input) => {
      const { engine, log } = testbeds[input.length & 1]!;
      engine.deliver(input);
      for (let sent = engine.sent.pop(); sent; sent = engine.sent.pop()) {
        sent.owner.onDatagram(plainReply(sent), sent.from);
      }
      log.check();
      for (const answer of engine.answers) checkAnswer(answer, readUint16(input, 0));
      return engine.answers.some((answer) => (answer[3]! & RCODE_MASK) === 0);
    },
    close: async () => {
      for (const testbed of testbeds) await testbed.close();
    },
  };
}
