import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FLAG, type Query, RCODE, readUint16, writeUint16 } from '@kube-dns/wire';
import type { Script } from '../../test/fake-upstream.js';
import {
  answered,
  fails,
  ForwarderBed,
  held,
  says,
  silent,
  TIMEOUT_MS,
} from '../../test/forwarder-bed.js';
import { addressRecords, queryMessage, readQuery, responseTo } from '../../test/messages.js';
import { until } from '../../test/until.js';
import { WaitingClient } from '../../test/waiting-client.js';
import type { ReplySight } from './flight.js';
import type { ServerOrder } from './server-group.js';

let bed: ForwarderBed;

/** A referral by a server that asks nobody. */
function lame(query: Query): Buffer {
  const reply = responseTo(query, {
    authorities: [{ owner: '.', type: 'NS', ttl: 60, data: 'ns.example' }],
  });
  writeUint16(reply, 2, readUint16(reply, 2) & ~FLAG.RA);
  return reply;
}

function broken(query: Query): Buffer {
  return responseTo(query, { answers: addressRecords(60, '10.0.0.9') }).subarray(0, -1);
}

/** What a sight makes of a reply that it cannot read. */
function servfail(reply: Buffer): Buffer {
  const failure = Buffer.from(reply);
  failure[3] = RCODE.SERVFAIL;
  return failure;
}

beforeEach(() => {
  bed = new ForwarderBed();
});

afterEach(() => bed.close());

describe('a server that says SERVFAIL or REFUSED', () => {
  it.each(['SERVFAIL', 'REFUSED'] as const)(
    'with %s hands the question on, and is not preferred',
    async (name) => {
      const { group, own } = await bed.groupOf([says('10.0.0.1'), silent, says('10.0.0.3')]);
      own[2]!.script = silent;
      await answered(bed.ask(group, 'first'));
      own[0]!.script = fails(RCODE[name]);
      own[2]!.script = says('10.0.0.3');
      const client = bed.ask(group, 'second');
      await answered(client);
      expect(client.result).toBe('A 10.0.0.3');
      await answered(bed.ask(group, 'third'));
      expect(own[0]!.names).not.toContain('third');
    },
  );

  it('is not believed while another that was asked may know better', async () => {
    const { script, release } = held('10.0.0.2');
    const { group, own } = await bed.groupOf([fails(RCODE.SERVFAIL), script]);
    const client = bed.ask(group, 'a');
    await until(() => own.every((fake) => fake.asked.length === 1));
    await until(() => group.servers[0]!.counts.failed === 1);
    expect(client.result).toBe('');
    release();
    await answered(client);
    expect(client.result).toBe('A 10.0.0.2');
  });

  it('is believed after a second when the others stay silent', async () => {
    const { group } = await bed.groupOf([fails(RCODE.REFUSED), silent]);
    const client = bed.ask(group, 'a');
    await until(() => group.servers[0]!.counts.failed === 1);
    bed.pass(999);
    expect(client.result).toBe('');
    bed.pass(1);
    expect(client.result).toBe('REFUSED');
  });

  it.each<ServerOrder>(['preferred', 'strict', 'all'])(
    'is believed when all do, in order %s',
    async (order) => {
      const { group } = await bed.groupOf([fails(RCODE.SERVFAIL), fails(RCODE.SERVFAIL)], order);
      const client = bed.ask(group, 'a');
      await answered(client);
      expect(client.result).toBe('SERVFAIL');
      expect(await bed.asked(2)).toEqual([1, 1]);
    },
  );

  it('in strict order makes room for the next one', async () => {
    const order = [fails(RCODE.REFUSED), fails(RCODE.SERVFAIL), says('10.0.0.3')];
    const { group } = await bed.groupOf(order, 'strict');
    const client = bed.ask(group, 'a');
    await answered(client);
    expect(client.result).toBe('A 10.0.0.3');
  });

  it('is not asked twice when it is the only one', async () => {
    const { group } = await bed.groupOf([fails(RCODE.SERVFAIL)]);
    await answered(bed.ask(group, 'a'));
    expect(await bed.asked(1)).toEqual([1]);
  });
});

describe('a server whose replies are none', () => {
  const flawed: readonly [string, Script, string][] = [
    ['refers to others', (query) => [lame(query)], 'refused'],
    ['ends in the middle of a record', (query) => [broken(query)], 'malformed'],
  ];

  it.each(flawed)('as it %s hands the question on, and is not preferred', async (_what, script) => {
    const { group, own } = await bed.groupOf([says('10.0.0.1'), silent, silent]);
    await answered(bed.ask(group, 'first'));
    own[0]!.script = script;
    own[2]!.script = says('10.0.0.3');
    const client = bed.ask(group, 'second');
    await answered(client);
    expect(client.result).toBe('A 10.0.0.3');
    await answered(bed.ask(group, 'third'));
    expect(own[0]!.names).not.toContain('third');
  });

  it.each(flawed)(
    'as it %s is SERVFAIL when all are, and counted',
    async (_what, script, reason) => {
      const { group } = await bed.groupOf([script, script]);
      const client = bed.ask(group, 'a');
      await answered(client);
      expect(client.result).toBe('SERVFAIL');
      const counts = group.servers.map(({ counts }) => counts.health.failures);
      expect(counts).toMatchObject([{ [reason]: 1 }, { [reason]: 1 }]);
      expect(bed.forwarder.failures).toBe(1);
    },
  );

  it.each(flawed)('as it %s hands the question on over TCP, too', async (_what, script) => {
    const { group } = await bed.groupOf([script, says('10.0.0.2')]);
    const client = new WaitingClient();
    const query = readQuery(queryMessage({ name: 'a' }), true);
    bed.forwarder.forward(query, new Uint8Array(512), client, group);
    await answered(client);
    expect(client.result).toBe('A 10.0.0.2');
  });

  it('is one whose reply cannot be read by who sees it', async () => {
    const { group, own } = await bed.groupOf([says('10.0.0.1'), silent]);
    await answered(bed.ask(group, 'first'));
    own[1]!.script = says('10.0.0.2');
    const sight: ReplySight = (reply) => (reply.at(-1) === 1 ? servfail(reply) : reply);
    const client = bed.ask(group, 'second', undefined, sight);
    await answered(client);
    expect(client.result).toBe('A 10.0.0.2');
  });
});

describe('what sees a reply', () => {
  it('may put another in its place', async () => {
    const { group } = await bed.groupOf([says('10.0.0.1')]);
    const client = bed.ask(group, 'a', new WaitingClient(), (reply) => {
      reply[reply.length - 1] = 9;
      return reply;
    });
    await answered(client);
    expect(client.result).toBe('A 10.0.0.9');
  });

  it('may take it for none: then others are waited for', async () => {
    const { group } = await bed.groupOf([says('10.0.0.1'), silent]);
    let count = 0;
    const client = bed.ask(group, 'a', new WaitingClient(), () => {
      count++;
      return null;
    });
    await until(() => count === 1);
    bed.pass(TIMEOUT_MS);
    expect(client.result).toBe('SERVFAIL');
  });

  it('is told when the servers have changed meanwhile', async () => {
    const { script, release } = held('10.0.0.1');
    const { group } = await bed.groupOf([script]);
    const seen: boolean[] = [];
    const client = bed.ask(group, 'a', new WaitingClient(), (reply, mayKeep) => {
      seen.push(mayKeep);
      return reply;
    });
    await bed.asked(1);
    bed.forwarder.forgetQuestions();
    release();
    await answered(client);
    expect(client.result).toBe('A 10.0.0.1');
    expect(seen).toEqual([false]);
  });
});
