import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ScriptedNameServer, until } from '@kube-dns/testkit';
import { Answers } from '../../test/support/answers.js';
import { serviceObject } from '../../test/support/objects.js';
import { UPSTREAM_DEADLINE_MS } from './kubedns-answerer.js';

let first: ScriptedNameServer;
let second: ScriptedNameServer;
let answers: Answers;
beforeEach(async () => {
  first = await ScriptedNameServer.start();
  second = await ScriptedNameServer.start();
  answers = new Answers({ maxInFlight: 1 });
  answers.forwardTo(first.hostPort, second.hostPort);
});
afterEach(async () => {
  answers.close();
  await Promise.all([first.close(), second.close()]);
});

const address = (server: ScriptedNameServer, name: string, data: string) =>
  server.respond(`${name} A`, { answers: [{ type: 'A', name, ttl: 9, data }] });

describe('a question for a name outside the zone', () => {
  it('has an answer before its client gives up after 5 s, when all servers are silent', async () => {
    first.script = second.script = () => null;
    const asked = answers.ask('a.example', 'A');
    await until('the question', () => first.asked.length > 0);
    answers.wait(UPSTREAM_DEADLINE_MS);
    expect((await asked).rcode).toBe('SERVFAIL');
    expect(UPSTREAM_DEADLINE_MS).toBeLessThan(4_500);
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
    expect(first.requests.map(({ query }) => query.toString('hex').slice(-22))).toEqual([
      // An OPT record of ours, without options.
      '00002904d0000000000000',
    ]);
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
