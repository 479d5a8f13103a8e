import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  answered,
  ForwarderBed,
  held,
  says,
  silent,
  TIMEOUT_MS,
} from '../../test/forwarder-bed.js';
import { until } from '../../test/until.js';
import { WaitingClient } from '../../test/waiting-client.js';
import type { ReplySight } from './flight.js';

let bed: ForwarderBed;

beforeEach(() => {
  bed = new ForwarderBed();
});

afterEach(() => bed.close());

describe('a question to a group', () => {
  it('goes to all servers first, then to the one whose answer came first', async () => {
    const { group, own } = await bed.groupOf([silent, says('10.0.0.2')]);
    const client = bed.ask(group, 'a.example');
    await answered(client);
    expect(client.result).toBe('A 10.0.0.2');
    expect(await bed.asked(2)).toEqual([1, 1]);
    await answered(bed.ask(group, 'b.example'));
    expect(own.map(({ names }) => names)).toEqual([['a.example'], ['a.example', 'b.example']]);
  });

  it.each([
    ['after more than 50 questions', 52, 0],
    ['after more than 20 s', 1, 20_001],
  ])('goes to all again %s', async (_when, questions, ms) => {
    const { group, own } = await bed.groupOf([silent, says('10.0.0.2')]);
    await answered(bed.ask(group, 'first'));
    for (let i = 1; i < questions; i++) await answered(bed.ask(group, `n${i}`));
    expect(own[0]!.names).toEqual(['first']);
    bed.now += ms;
    await answered(bed.ask(group, 'again'));
    await until(() => own[0]!.names.includes('again'));
  });

  it('in strict order goes to the first, always', async () => {
    const { group } = await bed.groupOf([says('10.0.0.1'), says('10.0.0.2')], 'strict');
    for (const name of ['a', 'b', 'c']) await answered(bed.ask(group, name));
    expect(await bed.asked(3)).toEqual([3, 0]);
  });

  it('goes to all servers, always, when they are all to be asked', async () => {
    const { group } = await bed.groupOf([says('10.0.0.1'), says('10.0.0.2')], 'all');
    for (const name of ['a', 'b', 'c']) await answered(bed.ask(group, name));
    expect(await bed.asked(6)).toEqual([3, 3]);
  });

  it('asks for no larger an answer than we can pass on, and for 512 bytes at least', async () => {
    const sizes: number[] = [];
    const { group } = await bed.groupOf([
      ({ maxAnswerBytes }) => {
        sizes.push(maxAnswerBytes);
        return {};
      },
    ]);
    for (const ednsBytes of [4096, 1000, 100]) {
      const client = bed.ask(group, { name: `n${ednsBytes}`, ednsBytes });
      await until(() => client.answer !== undefined);
    }
    expect(sizes).toEqual([1232, 1000, 512]);
  });
});

describe('silence', () => {
  it('passes the question on to the next server after a second, to all after three', async () => {
    const { group, own } = await bed.groupOf([says('10.0.0.1'), silent, silent]);
    await answered(bed.ask(group, 'first'));
    own[0]!.script = silent;
    const before = await bed.asked(3);
    const client = bed.ask(group, 'a');
    await bed.asked(4);
    bed.pass(999);
    bed.pass(1);
    const next = await bed.asked(5);
    expect(next.map((count, i) => count - before[i]!)).toEqual([1, 1, 0]);
    own[2]!.script = says('10.0.0.3');
    bed.pass(2_000);
    await answered(client);
    expect(client.result).toBe('A 10.0.0.3');
    expect(await bed.asked(8)).toEqual(before.map((count, i) => count + [2, 2, 1][i]!));
  });

  it('makes the next question go to all', async () => {
    const { group, own } = await bed.groupOf([says('10.0.0.1'), silent]);
    await answered(bed.ask(group, 'first'));
    own[0]!.script = silent;
    bed.ask(group, 'a');
    await bed.asked(3);
    bed.pass(1_000);
    bed.ask(group, 'b');
    await until(() => own.every(({ names }) => names.includes('b')));
  });

  it('in strict order gives each server its turn within the time', async () => {
    const scripts = [silent, silent, silent, silent, says('10.0.0.5')];
    const { group } = await bed.groupOf(scripts, 'strict');
    const client = bed.ask(group, 'a');
    for (let total = 1; total <= 4; total++) {
      await bed.asked(total);
      bed.pass(TIMEOUT_MS / 6);
    }
    await answered(client);
    expect(client.result).toBe('A 10.0.0.5');
  });

  it('of all is SERVFAIL before the client gives up', async () => {
    const { group } = await bed.groupOf([silent]);
    const client = bed.ask(group, 'a');
    bed.pass(TIMEOUT_MS - 1);
    expect(client.result).toBe('');
    bed.pass(1);
    expect(client.result).toBe('SERVFAIL');
    expect(bed.forwarder).toMatchObject({ inFlight: 0, failures: 1 });
    expect(group.inFlight).toBe(0);
  });

  it('of a lone server makes us ask it again, with the same ID from the same port', async () => {
    const { group, own } = await bed.groupOf([silent]);
    bed.ask(group, 'a');
    await bed.asked(1);
    bed.pass(1_000);
    await bed.asked(2);
    expect(new Set(own[0]!.asked.map(({ id, sourcePort }) => `${id} ${sourcePort}`)).size).toBe(1);
    expect(group.servers[0]!.counts).toMatchObject({ queries: 2, retried: 1 });
  });

  it('of a lone server makes us ask it from so many ports in turn as are allowed', async () => {
    const three = new ForwarderBed(100, 3);
    try {
      const { group, own } = await three.groupOf([silent]);
      three.ask(group, 'a.example');
      await three.asked(1);
      for (let times = 2; times <= 5; times++) {
        three.ask(group, 'a.example');
        await three.asked(times);
      }
      expect(new Set(own[0]!.asked.map(({ sourcePort }) => sourcePort)).size).toBe(3);
    } finally {
      await three.close();
    }
  });
});

describe('a port where nobody listens', () => {
  it('is as good as a refusal: the next server is asked at once', async () => {
    const { group, own } = await bed.groupOf([says('10.0.0.1'), says('10.0.0.2')], 'strict');
    await own[0]!.close();
    bed.fakes.shift();
    const client = bed.ask(group, 'a');
    await answered(client);
    expect(client.result).toBe('A 10.0.0.2');
  });

  it('gets a second chance a second later, and then it is SERVFAIL', async () => {
    const { group, own } = await bed.groupOf([silent]);
    await own[0]!.close();
    bed.fakes.shift();
    const client = bed.ask(group, 'a');
    // The refusal is there before the answer of another server that is asked later.
    const { group: other } = await bed.groupOf([says('10.0.0.2')]);
    await answered(bed.ask(other, 'b'));
    expect(client.result).toBe('');
    bed.pass(1_000);
    await answered(client);
    expect(client.result).toBe('SERVFAIL');
  });
});

describe('a late reply', () => {
  it('is for the cache, and for who asks again', async () => {
    const { script, release } = held('10.0.0.1');
    const { group } = await bed.groupOf([script]);
    const seen: boolean[] = [];
    const sight: ReplySight = (reply, mayKeep) => {
      seen.push(mayKeep);
      return reply;
    };
    const client = bed.ask(group, 'a', new WaitingClient(), sight);
    await bed.asked(1);
    bed.pass(TIMEOUT_MS);
    expect(client.result).toBe('SERVFAIL');
    const again = bed.ask(group, 'a', new WaitingClient(), sight);
    await bed.asked(2);
    release();
    await answered(again);
    expect(again.result).toBe('A 10.0.0.1');
    expect(seen).toEqual([true]);
    expect(bed.forwarder.remembered).toBe(0);
  });

  it('is not waited for much longer than ten seconds', async () => {
    const { group } = await bed.groupOf([silent]);
    bed.ask(group, 'a');
    bed.pass(TIMEOUT_MS);
    expect(bed.forwarder.remembered).toBe(1);
    bed.pass(10_000);
    expect(bed.forwarder.remembered).toBe(0);
  });
});
