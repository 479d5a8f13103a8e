import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { readUint16 } from '@kube-dns/wire';
import {
  answered,
  ForwarderFixture,
  questionsAt,
  TIMEOUT_MS,
  WaitingClient,
} from '../../test/forwarder-fixture.js';
import { replyTo } from '../../test/messages.js';
import { readQuery } from '../../test/questions.js';
import { held, says, silent } from '../../test/scripts.js';
import type { ReplyInspector } from './contract.js';

let fixture: ForwarderFixture;

beforeEach(() => {
  fixture = new ForwarderFixture();
});

afterEach(() => fixture.close());

describe('a question to a group', () => {
  it('goes to all servers first, then to the one whose answer came first', async () => {
    const { group, own } = await fixture.groupOf([silent, says('10.0.0.2')]);
    const client = fixture.ask(group, 'a.example');
    await answered(client);
    expect(client.result).toBe('A 10.0.0.2');
    expect(await fixture.asked(2)).toEqual([1, 1]);
    await answered(fixture.ask(group, 'b.example'));
    expect(own.map(({ names }) => names)).toEqual([['a.example'], ['a.example', 'b.example']]);
  });

  it.each([
    ['after more than 50 questions', 52, 0],
    ['after more than 20 s', 1, 20_001],
  ])('goes to all again %s', async (_when, questions, ms) => {
    const { group, own } = await fixture.groupOf([silent, says('10.0.0.2')]);
    await answered(fixture.ask(group, 'first'));
    const more = Array.from({ length: questions - 1 }, (_, i) => fixture.ask(group, `n${i}`));
    await answered(...more);
    expect(own[0]!.names).toEqual(['first']);
    fixture.now += ms;
    await answered(fixture.ask(group, 'again'));
    await until(() => own[0]!.names.includes('again'));
  });

  it('reads the clock once when it is sent', async () => {
    let readings = 0;
    const counted = new ForwarderFixture({ now: () => ++readings });
    const { group } = await counted.groupOf([silent]);
    counted.ask(group, 'a');
    expect(readings).toBe(1);
    await counted.close();
  });

  it('in strict order goes to the first, always', async () => {
    const { group } = await fixture.groupOf([says('10.0.0.1'), says('10.0.0.2')], 'strict');
    for (const name of ['a', 'b', 'c']) await answered(fixture.ask(group, name));
    expect(await fixture.asked(3)).toEqual([3, 0]);
  });

  it('goes to all servers, always, when they are all to be asked', async () => {
    const { group } = await fixture.groupOf([says('10.0.0.1'), says('10.0.0.2')], 'all');
    for (const name of ['a', 'b', 'c']) await answered(fixture.ask(group, name));
    expect(await fixture.asked(6)).toEqual([3, 3]);
  });

  it('asks for answers as large as we can pass on, whatever the client takes', async () => {
    const sizes: number[] = [];
    const { group } = await fixture.groupOf([
      ({ query }) => {
        sizes.push(readQuery(query).maxAnswerBytes);
        return [replyTo(query)];
      },
    ]);
    for (const ednsBytes of [4096, 1000, undefined]) {
      const size = ednsBytes === undefined ? {} : { ednsBytes };
      const client = fixture.ask(group, { name: `n${ednsBytes}`, ...size });
      await until(() => client.answer !== undefined);
    }
    expect(sizes).toEqual([1232, 1232, 1232]);
  });
});

describe('silence', () => {
  it('passes the question on to the next server after a second, to all after three', async () => {
    const { group, own } = await fixture.groupOf([says('10.0.0.1'), silent, silent]);
    await answered(fixture.ask(group, 'first'));
    own[0]!.script = silent;
    await fixture.asked(3);
    const client = fixture.ask(group, 'a');
    await fixture.asked(1, 'a');
    fixture.wait(999);
    fixture.wait(1);
    expect(await fixture.asked(2, 'a')).toEqual([1, 1, 0]);
    own[2]!.script = says('10.0.0.3');
    fixture.wait(2_000);
    await answered(client);
    expect(client.result).toBe('A 10.0.0.3');
    expect(await fixture.asked(5, 'a')).toEqual([2, 2, 1]);
  });

  it('makes the next question go to all', async () => {
    const { group, own } = await fixture.groupOf([says('10.0.0.1'), silent]);
    await answered(fixture.ask(group, 'first'));
    own[0]!.script = silent;
    fixture.ask(group, 'a');
    await fixture.asked(3);
    fixture.wait(1_000);
    fixture.ask(group, 'b');
    await until(() => own.every(({ names }) => names.includes('b')));
  });

  it('in strict order gives each server its turn within the time', async () => {
    const scripts = [silent, silent, silent, silent, says('10.0.0.5')];
    const { group } = await fixture.groupOf(scripts, 'strict');
    const client = fixture.ask(group, 'a');
    for (let total = 1; total <= 4; total++) {
      await fixture.asked(total);
      fixture.wait(TIMEOUT_MS / 6);
    }
    await answered(client);
    expect(client.result).toBe('A 10.0.0.5');
  });

  it('of a lone server makes us ask it again, with the same ID from the same port', async () => {
    const { group, own, counts } = await fixture.groupOf([silent]);
    fixture.ask(group, 'a');
    await fixture.asked(1);
    fixture.wait(1_000);
    await fixture.asked(2);
    const pairs = questionsAt(own[0]!).map(
      ({ query, peer }) => `${readUint16(query, 0)} ${peer.port}`,
    );
    expect(new Set(pairs).size).toBe(1);
    expect(counts[0]).toMatchObject({ queries: 2, retried: 1 });
  });

  it('is counted once for each sending', async () => {
    const { group, counts } = await fixture.groupOf([silent, silent], 'strict');
    fixture.ask(group, 'a');
    for (let second = 1; second <= 3; second++) fixture.wait(1_000);
    expect(counts.map(({ queries, errors }) => [queries, errors])).toEqual([
      [1, ['timeout']],
      [3, ['timeout', 'timeout']],
    ]);
  });

  it('of a lone server makes us ask it from so many ports in turn as are allowed', async () => {
    const three = new ForwarderFixture({ portLimit: 3 });
    try {
      const { group, own } = await three.groupOf([silent]);
      three.ask(group, 'a.example');
      await three.asked(1);
      for (let times = 2; times <= 5; times++) {
        three.wait(500);
        three.ask(group, 'a.example');
        await three.asked(times);
      }
      expect(new Set(questionsAt(own[0]!).map(({ peer }) => peer.port)).size).toBe(3);
    } finally {
      await three.close();
    }
  });
});

describe('a port where no server listens', () => {
  it('is as good as a refusal: the next server is asked at once', async () => {
    const { group, own } = await fixture.groupOf([says('10.0.0.1'), says('10.0.0.2')], 'strict');
    await own[0]!.close();
    fixture.fakes.shift();
    const client = fixture.ask(group, 'a');
    await answered(client);
    expect(client.result).toBe('A 10.0.0.2');
  });
});

describe('a late reply', () => {
  it('is for the cache, and for who asks again', async () => {
    const { script, release } = held('10.0.0.1');
    const { group } = await fixture.groupOf([script]);
    const seen: boolean[] = [];
    const inspector: ReplyInspector = (reply, isCacheable) => {
      seen.push(isCacheable);
      return reply;
    };
    const client = fixture.ask(group, 'a', new WaitingClient(), inspector);
    await fixture.asked(1);
    fixture.wait(TIMEOUT_MS);
    expect(client.result).toBe('SERVFAIL');
    // For a second the failure is remembered.
    fixture.now += 1_000;
    const again = fixture.ask(group, 'a', new WaitingClient(), inspector);
    await fixture.asked(2);
    release();
    await answered(again);
    expect(again.result).toBe('A 10.0.0.1');
    expect(seen).toEqual([true]);
    expect(fixture.forwarder.remembered).toBe(0);
  });

  it('is not waited for much longer than ten seconds', async () => {
    const { group } = await fixture.groupOf([silent]);
    fixture.ask(group, 'a');
    fixture.wait(TIMEOUT_MS);
    expect(fixture.forwarder.remembered).toBe(1);
    fixture.wait(10_000);
    expect(fixture.forwarder.remembered).toBe(0);
  });
});
