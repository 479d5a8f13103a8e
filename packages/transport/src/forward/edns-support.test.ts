import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Script, type ScriptedNameServer, until } from '@kube-dns/testkit';
import { RCODE, readUint16 } from '@kube-dns/wire';
import { answered, ForwarderFixture, questionsAt } from '../../test/forwarder-fixture.js';
import { queryMessage, readQuery } from '../../test/questions.js';
import { fails, says, silent } from '../../test/scripts.js';
import type { ServerGroup } from './servers.js';

const FORGOTTEN_MS = 900_000;
const FORGOTTEN_SILENCE_MS = 300_000;

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

describe('a server that is silent to EDNS', () => {
  const SECOND = 1_000;
  const silentToEdns: Script = (request) =>
    hasOpt(request.query) ? null : says('10.0.0.1')(request);
  /** What has arrived for a name, which probes of the server may repeat later. */
  const sent = (server: ScriptedNameServer, name: string) =>
    questionsAt(server, name).map(({ query }) => (hasOpt(query) ? 'EDNS' : 'plain'));

  /** Asks a question, which is sent again after a second when it has no reply; gives what was sent. */
  async function sentFor(group: ServerGroup, server: ScriptedNameServer, name: string) {
    const client = fixture.ask(group, name);
    await until(() => sent(server, name).length > 0);
    if (sent(server, name)[0] === 'EDNS') fixture.wait(SECOND);
    await answered(client);
    expect(client.result).toBe('A 10.0.0.1');
    fixture.now += 1;
    return sent(server, name);
  }

  it('is asked without after a time-out, with the same ID and port, and soon always', async () => {
    const { group, own } = await fixture.groupOf([silentToEdns]);
    const server = own[0]!;
    for (const name of ['a', 'b', 'c']) {
      expect(await sentFor(group, server, name)).toEqual(['EDNS', 'plain']);
      const pairs = questionsAt(server, name).map(({ query, peer }) => [
        readUint16(query, 0),
        peer.port,
      ]);
      expect(pairs[1]).toEqual(pairs[0]);
    }
    expect(await sentFor(group, server, 'd')).toEqual(['plain']);
    fixture.wait(FORGOTTEN_SILENCE_MS);
    expect(await sentFor(group, server, 'e')).toEqual(['EDNS', 'plain']);
    expect(await sentFor(group, server, 'f')).toEqual(['plain']);
  });

  it('is always asked with it for DNSSEC, and then known to reply', async () => {
    const { group, own } = await fixture.groupOf([silentToEdns]);
    const server = own[0]!;
    for (const name of ['a', 'b', 'c']) await sentFor(group, server, name);
    const forDnssec = (name: string) =>
      fixture.ask(group, { name, ednsBytes: 1232, isDnssecOk: true });
    forDnssec('d');
    await until(() => sent(server, 'd').length === 1);
    fixture.wait(SECOND);
    await until(() => sent(server, 'd').length === 2);
    expect(sent(server, 'd')).toEqual(['EDNS', 'EDNS']);
    server.script = says('10.0.0.1');
    await answered(forDnssec('e'));
    await answered(fixture.ask(group, 'f'));
    expect(sent(server, 'f')).toEqual(['EDNS']);
  });

  it('is none that was away for a moment, whatever was asked then', async () => {
    const { group, own } = await fixture.groupOf([silent]);
    const clients = ['a', 'b', 'c', 'd'].map((name) => fixture.ask(group, name));
    await fixture.asked(4);
    own[0]!.script = says('10.0.0.1');
    fixture.wait(SECOND);
    await answered(...clients);
    await answered(fixture.ask(group, 'e'));
    expect(sent(own[0]!, 'e')).toEqual(['EDNS']);
  });
});

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
