import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Script } from '@kube-dns/testkit';
import { RCODE, readUint16 } from '@kube-dns/wire';
import { answered, ForwarderFixture } from '../../test/forwarder-fixture.js';
import { queryMessage, readQuery } from '../../test/questions.js';
import { fails, says } from '../../test/scripts.js';

const FORGOTTEN_MS = 900_000;

let fixture: ForwarderFixture;
beforeEach(() => {
  fixture = new ForwarderFixture();
});
afterEach(() => fixture.close());

const hasOpt = (query: Uint8Array) => readUint16(query, 10) > 0;

/** A server from before EDNS. */
const old =
  (rcode: number): Script =>
  (request) =>
    hasOpt(request.query) ? fails(rcode)(request) : says('10.0.0.1')(request);

describe.each(['udp', 'tcp'] as const)('a server that does not know EDNS, over %s', (protocol) => {
  const queryOf = (name: string) => readQuery(queryMessage({ name }), protocol === 'tcp');

  it.each([
    ['FORMERR', RCODE.FORMERR],
    ['NOTIMP', RCODE.NOTIMP],
  ])('is asked without after %s, and from then on', async (_name, rcode) => {
    const { group, own } = await fixture.groupOf([old(rcode)]);
    for (const name of ['a.example', 'b.example']) {
      const client = fixture.pass(queryOf(name), group);
      await answered(client);
      expect(client.result).toBe('A 10.0.0.1');
    }
    expect(own[0]!.requests.every((request) => request.protocol === protocol)).toBe(true);
    const sent = own[0]!.requests.map(({ query }) => hasOpt(query));
    expect(sent).toEqual([true, false, false]);
    fixture.wait(FORGOTTEN_MS);
    await answered(fixture.pass(queryOf('c.example'), group));
    expect(own[0]!.requests.map(({ query }) => hasOpt(query)).slice(3)).toEqual([true, false]);
  });

  it('says FORMERR for a question that it does not take without either', async () => {
    const { group, own } = await fixture.groupOf([fails(RCODE.FORMERR)]);
    const client = fixture.pass(queryOf('a.example'), group);
    await answered(client);
    expect(client.result).toBe('FORMERR');
    expect(own[0]!.requests).toHaveLength(2);
  });
});

it.each(['udp', 'tcp'])(
  'a server that replies BADVERS is asked without EDNS, over %s',
  async (by) => {
    const badVersion: Script = (request) => {
      if (!hasOpt(request.query)) return says('10.0.0.1')(request);
      const reply = Buffer.from((fails(RCODE.NOERROR)(request) as Buffer[])[0]!);
      reply.writeUInt16BE(1, 10);
      return [Buffer.concat([reply, Buffer.from('0000290200010000000000', 'hex')])];
    };
    const { group, own } = await fixture.groupOf([badVersion]);
    for (const name of ['a.example', 'b.example']) {
      const client = fixture.pass(readQuery(queryMessage({ name }), by === 'tcp'), group);
      await answered(client);
      expect(client.result).toBe('A 10.0.0.1');
    }
    expect(own[0]!.requests.map(({ query }) => hasOpt(query))).toEqual([true, false, false]);
  },
);

it('a server that has OPT in its FORMERR is not asked again', async () => {
  const withOpt: Script = (request) => {
    const reply = Buffer.from((fails(RCODE.FORMERR)(request) as Buffer[])[0]!);
    const opt = Buffer.from('0000290200000000000000', 'hex');
    reply.writeUInt16BE(1, 10);
    return [Buffer.concat([reply, opt])];
  };
  const { group, own } = await fixture.groupOf([withOpt]);
  const client = fixture.ask(group, 'a.example');
  await answered(client);
  expect(client.result).toBe('FORMERR');
  expect(own[0]!.requests).toHaveLength(1);
});
