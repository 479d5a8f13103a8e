import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { encodeQuery, heldReply, until } from '@kube-dns/testkit';
import { encodeKey, EXTENDED_ERROR, RCODE, readQuery } from '@kube-dns/wire';
import {
  answered,
  ForwarderFixture,
  questionsAt,
  TIMEOUT_MS,
  WaitingClient,
} from '../../test/forwarder-fixture.js';
import { fails, hangingUp, says, silent } from '../../test/scripts.js';
import type { ServerGroup, ServerOrder } from './servers.js';

let fixture: ForwarderFixture;

beforeEach(() => {
  fixture = new ForwarderFixture();
});

afterEach(() => fixture.close());

const overTcp = (name: string) => readQuery(encodeQuery({ name }), true);
const edns = (name: string) => ({ name, ednsBytes: 1232 });

/** Each question that times out shows twice that the server may be down. */
const PROBES_OF_TIMEOUTS = 6;

/** Three questions that time out, one after the other. */
function timeOut(group: ServerGroup): void {
  for (const name of ['t1', 't2', 't3']) {
    fixture.ask(group, name);
    for (let ms = 0; ms < TIMEOUT_MS; ms += 500) fixture.wait(500);
  }
}

describe('a server that was silent to three questions in a row', () => {
  it('costs no client more than 100 ms, and is asked by one probe a second', async () => {
    const { group, own } = await fixture.groupOf([silent], { domain: 'corp.example' });
    timeOut(group);
    const probes = () => own[0]!.names.filter((name) => name === 'corp.example').length;
    await until(() => probes() === PROBES_OF_TIMEOUTS);
    for (let ms = 0; ms < 3_000; ms += 50) {
      const client = fixture.ask(group, edns(`n${ms}`));
      fixture.wait(50);
      if (client.result === '') fixture.wait(50);
      expect(client.result).toBe('SERVFAIL');
      expect(client.extendedError).toBe(EXTENDED_ERROR.NO_REACHABLE_AUTHORITY);
    }
    await until(() => probes() >= PROBES_OF_TIMEOUTS + 3);
    expect(probes()).toBeLessThanOrEqual(PROBES_OF_TIMEOUTS + 4);
    expect(new Set(questionsAt(own[0]!).map(({ question }) => question.name))).toEqual(
      new Set(['t1', 't2', 't3']),
    );
    expect(fixture.forwarder).toMatchObject({ inFlight: 0 });
  });

  it.each(['', `*${'a'.repeat(63)}.example`, 'two..dots'])(
    'is asked for the root where %j, as its group is shown, is no name',
    async (domain) => {
      const { group, own } = await fixture.groupOf([silent], { domain });
      timeOut(group);
      await until(() => own[0]!.names.filter((name) => name === '.').length > 1);
      fixture.pass(overTcp('a'), group);
      await until(() =>
        own[0]!.requests.some(({ protocol, question }) => {
          return protocol === 'tcp' && question.name === '.';
        }),
      );
    },
  );

  it('is asked for the first of several domains of its group', async () => {
    const { group, own } = await fixture.groupOf([silent], { domain: 'corp.example in-addr.arpa' });
    timeOut(group);
    await until(() => own[0]!.names.filter((name) => name === 'corp.example').length > 1);
  });

  it('is back with the reply to a probe, and the question that waits for it is answered', async () => {
    const { group, own } = await fixture.groupOf([silent]);
    timeOut(group);
    own[0]!.script = says('10.0.0.1');
    const client = fixture.ask(group, 'back');
    expect(client.result).toBe('');
    await until(() => group.failure === undefined);
    fixture.wait(50);
    await answered(client);
    expect(client.result).toBe('A 10.0.0.1');
  });

  it('is told of once when it is down, and once when it is back', async () => {
    const { group, own } = await fixture.groupOf([silent]);
    timeOut(group);
    timeOut(group);
    expect(fixture.healthChanges).toEqual([true]);
    own[0]!.script = says('10.0.0.1');
    fixture.ask(group, 'back');
    await until(() => group.failure === undefined);
    await answered(fixture.ask(group, 'again'));
    expect(fixture.healthChanges).toEqual([true, false]);
  });

  it('is back at once when it says something over another connection', async () => {
    const { group, own } = await fixture.groupOf([silent]);
    timeOut(group);
    own[0]!.script = says('10.0.0.1');
    fixture.servers.noteAlive({ address: '127.0.0.1', port: own[0]!.port + 1 });
    expect(group.failure).toBeDefined();
    fixture.servers.noteAlive(own[0]!.at);
    expect(group.failure).toBeUndefined();
    const client = fixture.ask(group, 'back');
    await answered(client);
    expect(client.result).toBe('A 10.0.0.1');
  });

  it('is back with a late reply', async () => {
    const { script, release } = heldReply('10.0.0.1');
    const { group } = await fixture.groupOf([script]);
    timeOut(group);
    await fixture.asked(3);
    release();
    await until(() => group.failure === undefined);
  });

  it.each<ServerOrder>(['preferred', 'strict', 'all'])(
    'makes no one wait for another, in order %s',
    async (order) => {
      const { group, own } = await fixture.groupOf([silent, silent], order);
      timeOut(group);
      own[1]!.script = says('10.0.0.2');
      fixture.ask(group, 'probing');
      await until(() => !group.servers[1]!.health.isDown);
      for (const name of ['a', 'b', 'c']) {
        const client = fixture.ask(group, name);
        await answered(client);
        expect(client.result).toBe('A 10.0.0.2');
      }
      expect(own[0]!.names).not.toContain('c');
    },
  );

  it('makes no client over TCP wait either', async () => {
    const { group } = await fixture.groupOf([silent]);
    timeOut(group);
    fixture.ask(group, 'probing');
    fixture.wait(100);
    const client = new WaitingClient();
    fixture.pass(overTcp('a'), group, client);
    fixture.wait(50);
    expect(client.result).toBe('SERVFAIL');
  });

  it('is asked over TCP for a client over TCP where it replies to that', async () => {
    const { group, own } = await fixture.groupOf([
      (request) => (request.protocol === 'tcp' ? says('10.0.0.1')(request) : null),
    ]);
    timeOut(group);
    const first = fixture.pass(overTcp('a'), group);
    await until(() => group.servers[0]!.tcpHealth.isUp);
    fixture.wait(50);
    await answered(first);
    const second = fixture.pass(overTcp('b'), group);
    await answered(second);
    expect([first.result, second.result]).toEqual(['A 10.0.0.1', 'A 10.0.0.1']);
    const overUdp = fixture.ask(group, 'c');
    fixture.wait(50);
    expect(overUdp.result).toBe('SERVFAIL');
    own[0]!.script = hangingUp;
    const third = fixture.pass(overTcp('d'), group);
    await answered(third);
    const fourth = fixture.pass(overTcp('e'), group);
    fixture.wait(50);
    expect([third.result, fourth.result]).toEqual(['SERVFAIL', 'SERVFAIL']);
    expect(own[0]!.names).not.toContain('e');
  });

  it('is none that answers others meanwhile: these questions are slow', async () => {
    const { group, own } = await fixture.groupOf([silent]);
    for (let i = 0; i < 5; i++) {
      fixture.ask(group, `slow${i}`);
      fixture.wait(1_000);
      own[0]!.script = says('10.0.0.1');
      await answered(fixture.ask(group, `other${i}`));
      own[0]!.script = silent;
      fixture.wait(TIMEOUT_MS - 1_000);
      expect(group.failure).toBeUndefined();
    }
  });

  it('is none that answers again what it answered before', async () => {
    const { group, own } = await fixture.groupOf([says('10.0.0.1')]);
    const onReply = jest.spyOn(group.servers[0]!.health, 'onReply');
    await answered(fixture.ask(group, 'known'));
    own[0]!.script = (request) =>
      request.question.name === 'known' ? says('10.0.0.1')(request) : null;
    for (const [before, name] of ['t1', 't2', 't3', 't4'].entries()) {
      fixture.wait(1);
      fixture.ask(group, name);
      fixture.wait(1_000);
      await until(() => onReply.mock.calls.length > before);
      fixture.now += TIMEOUT_MS;
      fixture.forwarder.tick();
    }
    expect(group.failure).toBeUndefined();
    expect(own[0]!.requests.map(({ question }) => question.type)).not.toContain('SOA');
  });

  it('is none whose replies take two seconds', async () => {
    const { script, release } = heldReply('10.0.0.1');
    const { group } = await fixture.groupOf([script]);
    const clients = ['a', 'b', 'c', 'd'].map((name) => fixture.ask(group, name));
    await fixture.asked(4);
    for (let ms = 0; ms < 2_000; ms += 500) fixture.wait(500);
    expect(group.failure).toBeUndefined();
    release();
    await answered(...clients);
    expect(clients.map(({ result }) => result)).toEqual(Array(4).fill('A 10.0.0.1'));
  });
});

describe('a server whose port is closed', () => {
  it('is down at once, and back with the first reply', async () => {
    const { group, own } = await fixture.groupOf([silent]);
    const { port } = own[0]!;
    await own[0]!.close();
    fixture.fakes.shift();
    await answered(fixture.ask(group, 'a'));
    const second = fixture.ask(group, edns('b'));
    fixture.wait(50);
    expect(second.result).toBe('SERVFAIL');
    expect(second.extendedError).toBe(EXTENDED_ERROR.NETWORK_ERROR);
    await fixture.serverAt(port, says('10.0.0.1'));
    fixture.wait(1_000);
    const third = fixture.ask(group, 'c');
    await until(() => group.failure === undefined);
    fixture.wait(50);
    await answered(third);
    expect(third.result).toBe('A 10.0.0.1');
  });
});

describe('a failure', () => {
  it('is remembered for a second: the question is not sent again', async () => {
    const { group, own } = await fixture.groupOf([fails(RCODE.SERVFAIL)]);
    await answered(fixture.ask(group, 'a'));
    const again = fixture.ask(group, edns('A'), new WaitingClient(2));
    expect(again.result).toBe('SERVFAIL');
    expect(again.extendedError).toBe(EXTENDED_ERROR.CACHED_ERROR);
    own[0]!.script = says('10.0.0.1');
    const other = fixture.ask(group, { name: 'a', isCheckingDisabled: true });
    await answered(other);
    expect(other.result).toBe('A 10.0.0.1');
    fixture.now += 999;
    expect(fixture.ask(group, 'a').result).toBe('SERVFAIL');
    fixture.now += 1;
    const later = fixture.ask(group, 'a');
    await answered(later);
    expect(later.result).toBe('A 10.0.0.1');
  });

  it('is remembered for each form of the question', async () => {
    const { group, own } = await fixture.groupOf([fails(RCODE.SERVFAIL)]);
    const forms = [edns('a'), { ...edns('a'), isDnssecOk: true }].flatMap((question) =>
      [false, true].map((isOverTcp) => readQuery(encodeQuery(question), isOverTcp)),
    );
    for (const query of [...forms, ...forms]) await answered(fixture.pass(query, group));
    expect(own[0]!.requests).toHaveLength(forms.length);
  });

  it('is forgotten when the servers change', async () => {
    const { group, own } = await fixture.groupOf([fails(RCODE.SERVFAIL)]);
    await answered(fixture.ask(group, 'a'));
    own[0]!.script = says('10.0.0.1');
    fixture.forwarder.forgetQuestions();
    const client = fixture.ask(group, 'a');
    await answered(client);
    expect(client.result).toBe('A 10.0.0.1');
  });

  it('is forgotten when its name, or another of the domain, has changed', async () => {
    const { group, own } = await fixture.groupOf([fails(RCODE.SERVFAIL)]);
    for (const name of ['a.x', 'b.y']) await answered(fixture.ask(group, name));
    own[0]!.script = says('10.0.0.1');
    fixture.forwarder.forgetQuestions(encodeKey('c.x'));
    expect(fixture.ask(group, 'a.x').result).toBe('SERVFAIL');
    fixture.forwarder.forgetQuestions(encodeKey('x'));
    const changed = fixture.ask(group, 'a.x');
    await answered(changed);
    expect(changed.result).toBe('A 10.0.0.1');
    expect(fixture.ask(group, 'b.y').result).toBe('SERVFAIL');
  });

  it('that was REFUSED is not remembered', async () => {
    const { group, own } = await fixture.groupOf([fails(RCODE.REFUSED)]);
    await answered(fixture.ask(group, 'a'));
    own[0]!.script = says('10.0.0.1');
    const client = fixture.ask(group, 'a');
    await answered(client);
    expect(client.result).toBe('A 10.0.0.1');
  });

  it('is shown, as a question in flight is, without a change', async () => {
    const { group, own } = await fixture.groupOf([fails(RCODE.SERVFAIL)]);
    const query = readQuery(encodeQuery(edns('a')));
    expect(fixture.forwarder.look(query)).toEqual({ isInFlight: false, failure: undefined });
    const client = fixture.pass(query, group);
    expect(fixture.forwarder.look(query).isInFlight).toBe(true);
    await answered(client);
    for (let i = 0; i < 3; i++) {
      expect(fixture.forwarder.look(query).failure?.code).toBe(EXTENDED_ERROR.CACHED_ERROR);
    }
    expect(own[0]!.requests).toHaveLength(1);
  });
});
