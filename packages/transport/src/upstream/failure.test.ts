import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Script } from '@kube-dns/testkit';
import { FLAG, RCODE } from '@kube-dns/wire';
import {
  answered,
  ForwarderFixture,
  TIMEOUT_MS,
  type WaitingClient,
} from '../../test/forwarder-fixture.js';
import { replyTo, withOpt } from '../../test/messages.js';
import { fails, silent } from '../../test/scripts.js';

const EDNS = { name: 'a', ednsBytes: 1232 };

let fixture: ForwarderFixture;

beforeEach(() => {
  fixture = new ForwarderFixture();
});

afterEach(() => fixture.close());

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
    const own = Buffer.from([0, 15, 0, 4, 0, 6, 0x6e, 0x6f]);
    const script: Script = ({ query }) => {
      const reply = Buffer.concat([withOpt(replyTo(query, { rcode: RCODE.SERVFAIL }), 1232), own]);
      reply.writeUInt16BE(own.length, reply.length - own.length - 2);
      return [reply];
    };
    const { group } = await fixture.groupOf([script]);
    const client = fixture.ask(group, EDNS);
    await answered(client);
    expect(reasonOf(client)).toBe('SERVFAIL 6 upstream: no');
  });

  it('has no reason for a client without EDNS', async () => {
    const { group } = await fixture.groupOf([fails(RCODE.SERVFAIL)]);
    const client = fixture.ask(group, 'a');
    await answered(client);
    expect(reasonOf(client)).toBe('SERVFAIL -1 ');
  });
});
