import { expect, it } from '@jest/globals';
import type { ServerGroup } from '@kube-dns/transport';
import { RCODE } from '@kube-dns/wire';
import { ServerStatistics } from '../upstream/server-statistics.js';
import { serverProblems } from './server-facts.js';

const SERVER = '10.0.0.1#53';

/** The problems of a server that replied so often with each of these. */
function problemsOf(servfail: number, refused: number, good: number, isDown = false): string[] {
  const statistics = new ServerStatistics();
  const counts = statistics.of(SERVER);
  const count = (times: number, rcode: number) => {
    for (let i = 0; i < times; i++) {
      counts.countQuery(false);
      counts.countReply(rcode, 1);
    }
  };
  count(servfail, RCODE.SERVFAIL);
  count(refused, RCODE.REFUSED);
  count(good, RCODE.NOERROR);
  const health = {
    isDown,
    replyTime: { meanMs: 1 },
    repliedAtMs: 0,
    downSinceMs: 0,
    nextProbeMs: 0,
  };
  const server = { text: SERVER, health };
  const groups = [
    { domain: '.', servers: [server] },
    { domain: 'acme.test', servers: [server] },
  ] as unknown as ServerGroup[];
  return serverProblems(groups, 1_000, statistics);
}

it('a server that replies and fails most of its queries is a problem, once', () => {
  expect(problemsOf(50, 10, 2)).toEqual([
    `${SERVER} failed in 60 of 62 queries: servfail 50, refused 10`,
  ]);
});

it.each([
  ['few queries failed', 9, 0, 0],
  ['most are answered', 20, 10, 31],
])('a server is none where %s', (_what, servfail, refused, good) => {
  expect(problemsOf(servfail, refused, good)).toEqual([]);
});

it('a server that is down is named as that only', () => {
  expect(problemsOf(50, 0, 0, true)).toEqual([
    `no server for names of no other domain replies: ${SERVER} (timeout, for 1 s)`,
    `no server for names of acme.test replies: ${SERVER} (timeout, for 1 s)`,
  ]);
});
