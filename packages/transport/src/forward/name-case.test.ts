import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Script } from '@kube-dns/testkit';
import { answered, ForwarderFixture } from '../../test/forwarder-fixture.js';
import { hangingUp, says, truncated } from '../../test/scripts.js';
import { replyTo } from '../../test/messages.js';

const NAME = 'a-name-with-many-letters.and-more.example';
let fixture: ForwarderFixture;
beforeEach(() => {
  fixture = new ForwarderFixture({ mixesCase: true });
});
afterEach(() => fixture.close());

/** Replies with the name in lower case. */
const lowering =
  (address: string): Script =>
  ({ query }) => {
    const reply = replyTo(query, { addresses: [address] });
    for (let i = 12; i < query.length; i++) {
      if (reply[i]! >= 0x41 && reply[i]! <= 0x5a) reply[i]! |= 0x20;
    }
    return [reply];
  };

describe('queries with letters of random case', () => {
  it('have another case each time, and are answered in the case of the client', async () => {
    const { group, own } = await fixture.groupOf([says('10.0.0.1')]);
    for (let i = 0; i < 5; i++) {
      const client = fixture.ask(group, `n${i}.${NAME}`);
      await answered(client);
      expect(client.result).toBe('A 10.0.0.1');
      expect(client.answer!.questions[0]!.name).toBe(`n${i}.${NAME}`);
    }
    const names = own[0]!.names.map((name) => name.slice(3));
    expect(new Set(names).size).toBe(5);
    expect(new Set(names.map((name) => name.toLowerCase()))).toEqual(new Set([NAME]));
    expect(own[0]!.requests.every(({ protocol }) => protocol === 'udp')).toBe(true);
  });

  it('are asked over TCP when a reply has another case, which may be forged', async () => {
    const forged = lowering('6.6.6.6');
    const { group, own } = await fixture.groupOf([
      (request) => (request.protocol === 'udp' ? forged : says('10.0.0.1'))(request),
    ]);
    for (let i = 0; i < 8; i++) {
      const client = fixture.ask(group, `n${i}.${NAME}`);
      await answered(client);
      expect(client.result).toBe('A 10.0.0.1');
    }
    expect(own[0]!.requests.filter(({ protocol }) => protocol === 'tcp')).toHaveLength(8);
  });

  it('need not come back to a server that shows over TCP that it does not keep the case', async () => {
    const { group, own } = await fixture.groupOf([lowering('10.0.0.1')]);
    for (let i = 0; i < 5; i++) {
      const client = fixture.ask(group, `n${i}.${NAME}`);
      await answered(client);
      expect(client.result).toBe('A 10.0.0.1');
    }
    expect(own[0]!.requests.filter(({ protocol }) => protocol === 'tcp')).toHaveLength(1);
  });

  it('need not come back from a server without TCP after a few replies', async () => {
    const { group } = await fixture.groupOf([
      (request) => (request.protocol === 'udp' ? lowering('10.0.0.1') : hangingUp)(request),
    ]);
    const results = [];
    for (let i = 0; i < 5; i++) {
      const client = fixture.ask(group, `n${i}.${NAME}`);
      await answered(client);
      results.push(client.result);
    }
    expect(results).toEqual([...Array<string>(3).fill('SERVFAIL'), 'A 10.0.0.1', 'A 10.0.0.1']);
  });

  it('are fetched over TCP when the reply is truncated', async () => {
    const { group } = await fixture.groupOf([
      (request) => (request.protocol === 'udp' ? truncated : says('10.0.0.1'))(request),
    ]);
    const client = fixture.ask(group, NAME);
    await answered(client);
    expect(client.result).toBe('A 10.0.0.1');
  });
});
