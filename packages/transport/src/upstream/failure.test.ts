import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Script } from '@kube-dns/testkit';
import { EXTENDED_ERROR, FLAG, RCODE } from '@kube-dns/wire';
import {
  answered,
  ForwarderFixture,
  TIMEOUT_MS,
  WaitingClient,
} from '../../test/forwarder-fixture.js';
import { replyTo, withOpt } from '../../test/messages.js';
import { fails, silent } from '../../test/scripts.js';

const EDNS = { name: 'a', ednsBytes: 1232 };

let fixture: ForwarderFixture;

beforeEach(() => {
  fixture = new ForwarderFixture();
});

afterEach(() => fixture.close());

/** SERVFAIL with these options. */
const failsWith =
  (options: readonly number[]): Script =>
  ({ query }) => {
    const refusal = withOpt(replyTo(query, { rcode: RCODE.SERVFAIL }), 1232);
    const reply = Buffer.concat([refusal, Buffer.from(options)]);
    reply.writeUInt16BE(options.length, refusal.length - 2);
    return [reply];
  };

/** The rcode and the only Extended DNS Error of an answer. */
function reasonOf({ result, extendedError, extendedErrorText }: WaitingClient): string {
  return `${result} ${extendedError} ${extendedErrorText}`;
}

describe('a question without an answer', () => {
  it.each<[string, Script, string]>([
    ['says SERVFAIL', fails(RCODE.SERVFAIL), 'SERVFAIL 22 SERVFAIL SERVER'],
    ['says REFUSED', fails(RCODE.REFUSED), 'REFUSED 22 REFUSED SERVER'],
    [
      'cuts a record',
      ({ query }) => [replyTo(query, { flags: FLAG.AA, addresses: ['10.0.0.1'] }).subarray(0, -1)],
      'SERVFAIL 24 malformed SERVER',
    ],
  ])('says the cause and the server that %s', async (_what, script, expected) => {
    const { group } = await fixture.groupOf([script]);
    const client = fixture.ask(group, EDNS);
    await answered(client);
    const reason = reasonOf(client).replace(group.servers[0]!.text, 'SERVER');
    expect(reason).toBe(expected);
  });

  it('says of a silent server that it timed out', async () => {
    const { group } = await fixture.groupOf([silent]);
    const client = fixture.ask(group, EDNS);
    fixture.wait(TIMEOUT_MS);
    expect(reasonOf(client)).toBe(`SERVFAIL 22 timeout ${group.servers[0]!.text}`);
  });

  it('says what the server says about it instead', async () => {
    const { group } = await fixture.groupOf([failsWith([0, 15, 0, 4, 0, 6, 0x6e, 0x6f])]);
    for (const port of [1, 2]) {
      const client = fixture.ask(group, EDNS, new WaitingClient(port));
      await answered(client);
      expect(reasonOf(client)).toBe('SERVFAIL 6 upstream: no');
    }
    const count = fixture.fakes[0]!.requests.length;
    expect(count).toBe(1);
  });

  it('does not read a reason beyond the end of its option', async () => {
    const { group } = await fixture.groupOf([failsWith([0, 15, 0, 100, 0, 6, 0x6e, 0x6f])]);
    for (const [port, code] of [
      [1, EXTENDED_ERROR.NO_REACHABLE_AUTHORITY],
      [2, EXTENDED_ERROR.CACHED_ERROR],
    ] as const) {
      const client = fixture.ask(group, EDNS, new WaitingClient(port));
      await answered(client);
      expect(client.extendedError).toBe(code);
    }
  });

  it('has no reason for a client without EDNS', async () => {
    const { group } = await fixture.groupOf([fails(RCODE.SERVFAIL)]);
    const client = fixture.ask(group, 'a');
    await answered(client);
    expect(reasonOf(client)).toBe('SERVFAIL -1 ');
  });
});
