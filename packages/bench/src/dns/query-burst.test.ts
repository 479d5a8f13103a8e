import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { encodeReply, type Rcode, ScriptedNameServer } from '@kube-dns/testkit';
import { QueryBurst } from './query-burst.js';

const COUNT = 200;
/** More turns of the loop than it takes to receive the answers of all. */
const LOOKS = 50;

let server: ScriptedNameServer;
/** The rcode of the answer to the n-th query; undefined: no answer. */
let rcodeOf: (index: number) => Rcode | undefined;

beforeEach(async () => {
  server = await ScriptedNameServer.start(({ query, count }) => {
    const rcode = rcodeOf(count);
    if (rcode === undefined) return null;
    const reply = encodeReply(query, { rcode });
    // Sent twice: a repeated answer counts once.
    return [reply, reply];
  });
});
afterEach(() => server.close());

const run = (timeoutMs: number, nowMs?: () => number) =>
  new QueryBurst(nowMs).run(server.port, COUNT, 'x.example', timeoutMs);

describe('a burst of queries', () => {
  it('ends when all are answered', async () => {
    rcodeOf = () => 'NOERROR';
    expect(await run(600_000)).toEqual({
      sent: COUNT,
      right: COUNT,
      wrong: 0,
      unanswered: 0,
      droppedHere: 0,
    });
  });

  it('tells refusals and silence apart', async () => {
    rcodeOf = (index) => (['NOERROR', 'REFUSED', undefined, 'NOERROR'] as const)[index % 4];
    // Time passes, a millisecond with each look, once the server has had all queries.
    let looks = 0;
    const nowMs = () => (server.requests.length < COUNT ? looks : looks++);
    expect(await run(LOOKS, nowMs)).toMatchObject({ right: 100, wrong: 50, unanswered: 50 });
  });
});
