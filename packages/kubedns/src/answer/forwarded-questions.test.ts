import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import { Answers } from '../../test/support/answers.js';
import { NameServer } from '../../test/support/name-server.js';
import { serviceObject } from '../../test/support/objects.js';

let first: NameServer;
let second: NameServer;
let answers: Answers;
beforeEach(async () => {
  first = await NameServer.start();
  second = await NameServer.start();
  create();
});
afterEach(async () => {
  answers.close();
  await Promise.all([first.close(), second.close()]);
});

/** `deadlineMs` where a server is silent. */
function create(deadlineMs?: number): void {
  answers = new Answers({ maxInFlight: 1, ...(deadlineMs !== undefined && { deadlineMs }) });
  answers.forwardTo(first.address, second.address);
}

const address = (server: NameServer, name: string, data: string) =>
  server.respond(`${name} A`, { answers: [{ type: 'A', name, ttl: 9, data }] });

describe('a question for a name outside the zone', () => {
  it.each(['SERVFAIL', 'REFUSED'] as const)(
    'is asked of the next server when the first says %s',
    async (rcode) => {
      first.respond('a.example A', { rcode });
      address(second, 'a.example', '192.0.2.2');
      expect((await answers.ask('a.example', 'A')).answers).toEqual(['a.example A 192.0.2.2']);
    },
  );

  it('goes to the next server in order when the first is silent', async () => {
    first.isSilent = true;
    create(3_000);
    address(second, 'a.example', '192.0.2.2');
    expect((await answers.ask('a.example', 'A')).answers).toEqual(['a.example A 192.0.2.2']);
    expect(first.asked).toContain('a.example A');
  });

  it('is SERVFAIL in time when all are silent', async () => {
    first.isSilent = second.isSilent = true;
    create(300);
    expect((await answers.ask('a.example', 'A')).rcode).toBe('SERVFAIL');
    expect(answers.forwarder).toMatchObject({
      inFlight: 0,
      counters: { forwarded: 1, failures: 1 },
    });
  });

  it('is asked once for several clients, each of which is counted', async () => {
    address(first, 'a.example', '192.0.2.1');
    const both = await Promise.all([answers.ask('a.example', 'A'), answers.ask('A.EXAMPLE', 'A')]);
    expect(both.map(({ question }) => question)).toEqual(['a.example A', 'A.EXAMPLE A']);
    expect(first.asked).toEqual(['a.example A']);
    expect(answers.forwarder).toMatchObject({ counters: { forwarded: 2, joined: 1 } });
    expect(answers.statistics.requests.recursive).toBe(2);
  });

  it('leaves without the cookie of its client, so it is one with different cookies', async () => {
    address(first, 'a.example', '192.0.2.1');
    const cookies = ['0102030405060708', '1112131415161718'];
    const both = await Promise.all(
      cookies.map((cookie) => answers.ask('a.example', 'A', { hasEdns: true, cookie })),
    );
    expect(both.map(({ answers: [text] }) => text)).toEqual(Array(2).fill('a.example A 192.0.2.1'));
    expect(first.messages.map((message) => message.toString('hex').slice(-22))).toEqual([
      // An OPT record of ours, without options.
      '00002904d0000000000000',
    ]);
  });

  it('is REFUSED immediately, and counted, when too many are in flight', async () => {
    first.isSilent = second.isSilent = true;
    create(300);
    const waiting = answers.ask('a.example', 'A');
    expect((await answers.ask('b.example', 'A')).rcode).toBe('REFUSED');
    expect(answers.forwarder.counters.overflows).toBe(1);
    await waiting;
  });

  it('is SERVFAIL with a reason when no server can be sent to', async () => {
    answers.servers = [{ address: '255.255.255.255', port: 53 }];
    expect(await answers.ask('a.example', 'A', { hasEdns: true })).toMatchObject({
      rcode: 'SERVFAIL',
      extendedError: EXTENDED_ERROR.NETWORK_ERROR,
    });
    expect(answers.forwarder.counters.failures).toBe(1);
  });

  it('shares the reply with the end of a CNAME', async () => {
    answers.cluster.services.put(serviceObject({ name: 'ext', externalName: 'db.example' }));
    address(first, 'db.example', '192.0.2.1');
    const [own, chained] = await Promise.all([
      answers.ask('db.example', 'A'),
      answers.ask('ext.default.svc.cluster.local', 'A'),
    ]);
    expect(own.answers).toEqual(['db.example A 192.0.2.1']);
    expect(chained.answers).toEqual([
      'ext.default.svc.cluster.local CNAME db.example',
      'db.example A 192.0.2.1',
    ]);
    expect(first.asked).toEqual(['db.example A']);
  });
});
