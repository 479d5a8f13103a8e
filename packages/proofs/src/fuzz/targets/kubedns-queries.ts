import { RCODE_MASK, readUint16 } from '@kube-dns/wire';
import { queriesFor } from '../dns-seeds.js';
import type { FuzzTarget } from '../fuzz-target.js';
import { MESSAGE_MUTATIONS } from '../message-mutations.js';
import { checkAnswer } from './checked-answer.js';
import { startKubedns } from './kubedns-testbed.js';
import { plainReply } from './upstream-reply.js';

const QUESTIONS = [
  ['web.default.svc.cluster.local', 'A'],
  ['web.default.svc.cluster.local', 'AAAA'],
  ['_http._tcp.web.default.svc.cluster.local', 'SRV'],
  ['db.default.svc.cluster.local', 'A'],
  ['db-0.db.default.svc.cluster.local', 'A'],
  ['_dns._udp.db.default.svc.cluster.local', 'SRV'],
  ['*.db.default.svc.cluster.local', 'SRV'],
  ['any.any.db.default.svc.cluster.local', 'SRV'],
  ['out.default.svc.cluster.local', 'A'],
  ['loop.default.svc.cluster.local', 'A'],
  ['inside.default.svc.cluster.local', 'ANY'],
  ['10-1-0-1.default.pod.cluster.local', 'A'],
  ['1.0.1.10.in-addr.arpa', 'PTR'],
  ['1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa', 'PTR'],
  ['dns-version.cluster.local', 'TXT'],
  ['cluster.local', 'SOA'],
  ['n.example.com', 'A'],
] as const;

/** Queries over UDP to a whole kubedns with a small cluster; upstream has nothing to say. */
export async function createKubednsQueries(): Promise<FuzzTarget> {
  const testbed = await startKubedns();
  return {
    seeds: [
      ...QUESTIONS.flatMap(([name, type]) => queriesFor(name, type)),
      ...queriesFor('version.bind', 'TXT', 'CH'),
    ],
    tokens: [
      ...[
        '\x01*',
        '\x03any',
        '\x03svc',
        '\x03pod',
        '\x07default',
        '\x03web',
        '\x02db',
        '\x05_http',
      ],
      ...['\x04_tcp', '\x07cluster\x05local\0', '\x07in-addr\x04arpa\0', '\x03ip6\x04arpa\0'],
    ].map((text) => Buffer.from(text, 'latin1')),
    mutations: MESSAGE_MUTATIONS,
    maxBytes: 2_048,
    run: (input) => {
      testbed.deliver(input);
      const { answers, sent } = testbed.engine;
      for (const asked of sent.splice(0)) asked.owner.onDatagram(plainReply(asked), asked.from);
      for (const answer of answers) checkAnswer(answer, readUint16(input, 0));
      return answers.some((answer) => (answer[3]! & RCODE_MASK) === 0);
    },
    close: () => testbed.close(),
  };
}
