import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Script, until } from '@kube-dns/testkit';
import { RCODE } from '@kube-dns/wire';
import {
  answered,
  ForwarderFixture,
  TIMEOUT_MS,
  WaitingClient,
} from '../../test/forwarder-fixture.js';
import { queryMessage, readQuery } from '../../test/questions.js';
import { cutting, fails, held, referring, says, silent } from '../../test/scripts.js';
import type { ReplyInspector } from './contract.js';
import type { ServerOrder } from './servers.js';

let fixture: ForwarderFixture;

/** What an inspector makes of a reply that it cannot read. */
function servfail(reply: Buffer): Buffer {
  const failure = Buffer.from(reply);
  failure[3] = RCODE.SERVFAIL;
  return failure;
}

beforeEach(() => {
  fixture = new ForwarderFixture();
});

afterEach(() => fixture.close());

describe('a server that says SERVFAIL or REFUSED', () => {
  it.each(['SERVFAIL', 'REFUSED'] as const)(
    'with %s hands the question on, and is not preferred',
    async (name) => {
      const { group, own } = await fixture.groupOf([says('10.0.0.1'), silent, says('10.0.0.3')]);
      own[2]!.script = silent;
      await answered(fixture.ask(group, 'first'));
      own[0]!.script = fails(RCODE[name]);
      own[2]!.script = says('10.0.0.3');
      const client = fixture.ask(group, 'second');
      await answered(client);
      expect(client.result).toBe('A 10.0.0.3');
      await answered(fixture.ask(group, 'third'));
      expect(own[0]!.names).not.toContain('third');
    },
  );

  it('is not believed while another that was asked may know better', async () => {
    const { script, release } = held('10.0.0.2');
    const { group, own, counts } = await fixture.groupOf([fails(RCODE.SERVFAIL), script]);
    const client = fixture.ask(group, 'a');
    await until(() => own.every((fake) => fake.requests.length === 1));
    await until(() => counts[0]!.rcodes.length === 1);
    expect(client.result).toBe('');
    release();
    await answered(client);
    expect(client.result).toBe('A 10.0.0.2');
  });

  it('is believed after a second when the others stay silent', async () => {
    const { group, counts } = await fixture.groupOf([fails(RCODE.REFUSED), silent]);
    const client = fixture.ask(group, 'a');
    await until(() => counts[0]!.rcodes.length === 1);
    fixture.wait(999);
    expect(client.result).toBe('');
    fixture.wait(1);
    expect(client.result).toBe('REFUSED');
  });

  it('is believed while a slow one takes its time, whose reply is taken all the same', async () => {
    const { script, release } = held('10.0.0.2');
    const { group, counts } = await fixture.groupOf([fails(RCODE.SERVFAIL), script], 'all');
    const seen: boolean[] = [];
    const inspector: ReplyInspector = (reply, isCacheable) => {
      seen.push(isCacheable);
      return reply;
    };
    const first = fixture.ask(group, 'a', undefined, inspector);
    await until(() => counts[0]!.rcodes.length === 1);
    fixture.wait(1_000);
    expect(first.result).toBe('SERVFAIL');
    fixture.wait(1_500);
    release();
    await until(() => seen.length > 0);
    expect(seen).toEqual([true]);
    expect(fixture.forwarder.remembered).toBe(0);
    // It is known now how long that one takes.
    const second = fixture.ask(group, 'b');
    await until(() => counts[0]!.rcodes.length === 2);
    fixture.wait(1_000);
    fixture.wait(1_500);
    expect(second.result).toBe('');
    release();
    await answered(second);
    expect(second.result).toBe('A 10.0.0.2');
  });

  it.each<ServerOrder>(['preferred', 'strict', 'all'])(
    'is believed when all do, in order %s',
    async (order) => {
      const { group } = await fixture.groupOf(
        [fails(RCODE.SERVFAIL), fails(RCODE.SERVFAIL)],
        order,
      );
      const client = fixture.ask(group, 'a');
      await answered(client);
      expect(client.result).toBe('SERVFAIL');
      expect(await fixture.asked(2)).toEqual([1, 1]);
    },
  );

  it('in strict order makes room for the next one', async () => {
    const order = [fails(RCODE.REFUSED), fails(RCODE.SERVFAIL), says('10.0.0.3')];
    const { group } = await fixture.groupOf(order, 'strict');
    const client = fixture.ask(group, 'a');
    await answered(client);
    expect(client.result).toBe('A 10.0.0.3');
  });

  it('is not asked twice when it is the only one', async () => {
    const { group } = await fixture.groupOf([fails(RCODE.SERVFAIL)]);
    await answered(fixture.ask(group, 'a'));
    expect(await fixture.asked(1)).toEqual([1]);
  });
});

describe('a server whose replies are none', () => {
  const flawed: readonly [string, Script][] = [
    ['refers to others', referring],
    ['ends in the middle of a record', cutting],
  ];

  it.each(flawed)('as it %s hands the question on, and is not preferred', async (_what, script) => {
    const { group, own } = await fixture.groupOf([says('10.0.0.1'), silent, silent]);
    await answered(fixture.ask(group, 'first'));
    own[0]!.script = script;
    own[2]!.script = says('10.0.0.3');
    const client = fixture.ask(group, 'second');
    await answered(client);
    expect(client.result).toBe('A 10.0.0.3');
    await answered(fixture.ask(group, 'third'));
    expect(own[0]!.names).not.toContain('third');
  });

  it.each(flawed)('as it %s hands the question on over TCP, too', async (_what, script) => {
    const { group } = await fixture.groupOf([script, says('10.0.0.2')]);
    const client = new WaitingClient();
    const query = readQuery(queryMessage({ name: 'a' }), true);
    fixture.forwarder.forward(query, new Uint8Array(512), client, group);
    await answered(client);
    expect(client.result).toBe('A 10.0.0.2');
  });

  it('is one whose reply cannot be read by who sees it', async () => {
    const { group, own } = await fixture.groupOf([says('10.0.0.1'), silent]);
    await answered(fixture.ask(group, 'first'));
    own[1]!.script = says('10.0.0.2');
    const inspector: ReplyInspector = (reply) => (reply.at(-1) === 1 ? servfail(reply) : reply);
    const client = fixture.ask(group, 'second', undefined, inspector);
    await answered(client);
    expect(client.result).toBe('A 10.0.0.2');
  });
});

describe('what sees a reply', () => {
  it('may put another in its place', async () => {
    const { group } = await fixture.groupOf([says('10.0.0.1')]);
    const client = fixture.ask(group, 'a', new WaitingClient(), (reply) => {
      reply[reply.length - 1] = 9;
      return reply;
    });
    await answered(client);
    expect(client.result).toBe('A 10.0.0.9');
  });

  it('may take it for none: then others are waited for', async () => {
    const { group } = await fixture.groupOf([says('10.0.0.1'), silent]);
    let count = 0;
    const client = fixture.ask(group, 'a', new WaitingClient(), () => {
      count++;
      return null;
    });
    await until(() => count === 1);
    fixture.wait(TIMEOUT_MS);
    expect(client.result).toBe('SERVFAIL');
  });

  it('is notified when the servers have changed meanwhile', async () => {
    const { script, release } = held('10.0.0.1');
    const { group } = await fixture.groupOf([script]);
    const seen: boolean[] = [];
    const client = fixture.ask(group, 'a', new WaitingClient(), (reply, isCacheable) => {
      seen.push(isCacheable);
      return reply;
    });
    await fixture.asked(1);
    fixture.forwarder.forgetQuestions();
    release();
    await answered(client);
    expect(client.result).toBe('A 10.0.0.1');
    expect(seen).toEqual([false]);
  });
});
