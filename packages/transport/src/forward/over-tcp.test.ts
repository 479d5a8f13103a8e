import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Script, type ScriptedNameServer, until } from '@kube-dns/testkit';
import { FLAG, RCODE, readUint16, writeUint16 } from '@kube-dns/wire';
import {
  answered,
  ForwarderFixture,
  TIMEOUT_MS,
  WaitingClient,
} from '../../test/forwarder-fixture.js';
import { replyTo } from '../../test/messages.js';
import { queryMessage, readQuery } from '../../test/questions.js';
import { fails, hangingUp, held, says, silent, truncated, truncating } from '../../test/scripts.js';

let fixture: ForwarderFixture;

beforeEach(() => {
  fixture = new ForwarderFixture();
});

afterEach(() => fixture.close());

const protocolsOf = ({ requests }: ScriptedNameServer) => requests.map(({ protocol }) => protocol);

/** A query that came over TCP. */
const overTcp = (name: string) => readQuery(queryMessage({ name }), true);

describe('a truncated reply', () => {
  it('is fetched again from the same server over TCP', async () => {
    const scripts = [truncating(says('10.0.0.1')), says('10.0.0.2')];
    const { group, own, counts } = await fixture.groupOf(scripts, 'strict');
    const client = fixture.ask(group, 'a');
    await answered(client);
    expect(client.result).toBe('A 10.0.0.1');
    expect(own.map(protocolsOf)).toEqual([['udp', 'tcp'], []]);
    expect(counts[0]).toMatchObject({ queries: 2, rcodes: [0, 0], errors: [] });
  });

  it.each(['strict', 'preferred'] as const)(
    'is asked of the next server when TCP fails, in order %s',
    async (order) => {
      const { group, own } = await fixture.groupOf([says('10.0.0.1'), silent], order);
      await answered(fixture.ask(group, 'first'));
      own[0]!.script = truncating(hangingUp);
      own[1]!.script = says('10.0.0.2');
      const client = fixture.ask(group, 'a');
      await answered(client);
      expect(client.result).toBe('A 10.0.0.2');
      expect(protocolsOf(own[0]!)).toEqual(['udp', 'udp', 'tcp']);
    },
  );

  it('is passed on when TCP fails everywhere, without its records', async () => {
    const { group } = await fixture.groupOf([truncating(hangingUp)]);
    const client = fixture.ask(group, 'a');
    await answered(client);
    expect(client.answer).toMatchObject({ isTruncated: true, rcode: 'NOERROR', answers: [] });
  });

  it('is passed on without AA: nothing is left of what the server said', async () => {
    const { group } = await fixture.groupOf([
      ({ query, protocol }) =>
        protocol === 'tcp' ? null : [replyTo(query, { flags: FLAG.TC | FLAG.AA })],
    ]);
    const client = fixture.ask(group, 'a');
    await fixture.asked(2);
    fixture.wait(TIMEOUT_MS);
    await answered(client);
    expect(client.answer).toMatchObject({ isTruncated: true, isAuthoritative: false });
  });

  it('is preferred to refusals that come later', async () => {
    const { group } = await fixture.groupOf(
      [truncating(fails(RCODE.SERVFAIL)), fails(RCODE.SERVFAIL)],
      'strict',
    );
    const client = fixture.ask(group, 'a');
    await answered(client);
    expect(client.answer).toMatchObject({ isTruncated: true, rcode: 'NOERROR' });
  });

  it('lets nothing be sent over UDP while it is fetched', async () => {
    const { group, own, counts } = await fixture.groupOf([truncating(silent), silent], 'strict');
    const client = fixture.ask(group, 'a');
    await until(() => own[0]!.requests.length === 2);
    fixture.wait(TIMEOUT_MS - 1);
    expect(client.result).toBe('');
    expect(counts.map(({ queries, errors }) => [queries, errors])).toEqual([
      [1, []],
      [0, []],
    ]);
    fixture.wait(1);
    expect(client.answer?.isTruncated).toBe(true);
    expect(own[1]!.requests).toEqual([]);
  });

  it('that comes twice is fetched once', async () => {
    const { group, own } = await fixture.groupOf(
      [
        (request) => {
          if (request.protocol === 'tcp') return hangingUp(request);
          const reply = Buffer.from(request.query);
          writeUint16(reply, 2, readUint16(reply, 2) | FLAG.QR | FLAG.TC);
          return [reply, reply];
        },
        silent,
      ],
      'strict',
    );
    fixture.ask(group, 'a');
    await until(() => own[1]!.requests.length === 1);
    expect(protocolsOf(own[0]!)).toEqual(['udp', 'tcp']);
  });
});

describe('a truncated reply, while other servers were asked, too', () => {
  it.each<[string, Script, (failed: { rcodes: number[]; errors: string[] }) => boolean]>([
    ['over TCP nothing comes', silent, () => true],
    ['the connection is closed', hangingUp, ({ errors }) => errors.length === 1],
    ['over TCP it is an error', fails(RCODE.SERVFAIL), ({ rcodes }) => rcodes.length === 2],
  ])('is no reason not to take the answer of another one: %s', async (_what, script, hasFailed) => {
    const { script: later, release } = held('10.0.0.2');
    const { group, own, counts } = await fixture.groupOf([truncating(script), later], 'all');
    const client = fixture.ask(group, 'a');
    await until(() => own[0]!.requests.length === 2 && own[1]!.requests.length === 1);
    await until('the failure', () => hasFailed(counts[0]!));
    expect(client.result).toBe('');
    release();
    await answered(client);
    expect(client.result).toBe('A 10.0.0.2');
    expect(own.map(protocolsOf)).toEqual([['udp', 'tcp'], ['udp']]);
  });

  it('is fetched from the next one that truncates when TCP fails', async () => {
    const scripts = [truncating(silent), truncating(says('10.0.0.2'))];
    const { group, own } = await fixture.groupOf(scripts, 'all');
    const client = fixture.ask(group, 'a');
    await until(() => own[0]!.requests.length === 2);
    await until(() => group.servers[1]!.health.repliedAtMs > 0);
    expect(client.result).toBe('');
    jest.advanceTimersByTime(TIMEOUT_MS / 2);
    await answered(client);
    expect(client.result).toBe('A 10.0.0.2');
  });

  it('is what the client gets when none has an answer', async () => {
    const { group, counts } = await fixture.groupOf([truncating(hangingUp), silent], 'all');
    const client = fixture.ask(group, 'a');
    await fixture.asked(2);
    await until(() => counts[0]!.errors.length === 1);
    expect(client.result).toBe('');
    fixture.wait(2_000);
    await answered(client);
    expect(client.answer).toMatchObject({ isTruncated: true, rcode: 'NOERROR' });
  });
});

describe('a question over TCP', () => {
  const ask = async (scripts: Parameters<ForwarderFixture['groupOf']>[0]) => {
    const found = await fixture.groupOf(scripts, 'strict');
    const client = fixture.pass(overTcp('a'), found.group, new WaitingClient());
    return { ...found, client };
  };

  it('is asked over TCP', async () => {
    const { client, own } = await ask([says('10.0.0.1')]);
    await answered(client);
    expect(client.result).toBe('A 10.0.0.1');
    expect(own.map(protocolsOf)).toEqual([['tcp']]);
  });

  it('is asked of the next server when one closes the connection, and counted', async () => {
    const { client, counts } = await ask([hangingUp, says('10.0.0.2')]);
    await answered(client);
    expect(client.result).toBe('A 10.0.0.2');
    expect(counts).toMatchObject([
      { queries: 1, errors: ['closed'] },
      { queries: 1, rcodes: [0] },
    ]);
  });

  it('is asked of the next server when one says no, and gets the last no without a better one', async () => {
    const { client } = await ask([fails(RCODE.SERVFAIL), fails(RCODE.REFUSED)]);
    await answered(client);
    expect(client.result).toBe('REFUSED');
    const other = await ask([fails(RCODE.SERVFAIL), says('10.0.0.2')]);
    await answered(other.client);
    expect(other.client.result).toBe('A 10.0.0.2');
  });

  it('leaves from the source address of a server, and not at all from none', async () => {
    const askFrom = async (address: string) => {
      const found = await fixture.groupOf([says('10.0.0.1')], { source: { address } });
      const client = fixture.pass(overTcp('a'), found.group);
      await answered(client);
      return [client.result, ...found.own[0]!.requests.map(({ peer }) => peer.address)];
    };
    expect(await askFrom('127.0.0.7')).toEqual(['A 10.0.0.1', '127.0.0.7']);
    expect(await askFrom('192.0.2.1')).toEqual(['SERVFAIL']);
    expect(await askFrom('no-device')).toEqual(['SERVFAIL']);
  });

  it('takes TC as it is', async () => {
    const { client, own } = await ask([truncated]);
    await answered(client);
    expect(client.answer!.isTruncated).toBe(true);
    expect(own[0]!.requests).toHaveLength(1);
  });

  it('gives each server its part of the time', async () => {
    const { client, own, counts } = await ask([silent, says('10.0.0.2')]);
    await until(() => own[0]!.requests.length === 1);
    jest.advanceTimersByTime(TIMEOUT_MS / 2 - 1);
    await new Promise(setImmediate);
    expect(counts[0]!.errors).toEqual([]);
    jest.advanceTimersByTime(1);
    await answered(client);
    expect(client.result).toBe('A 10.0.0.2');
    expect(counts[0]!.errors).toEqual(['timeout']);
  });
});
