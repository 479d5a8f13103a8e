import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { decodeMessage, RCODE } from '@kube-dns/wire';
import { answered, ForwarderFixture, TIMEOUT_MS } from '../../test/forwarder-fixture.js';
import { queryMessage } from '../../test/questions.js';
import { fails, held, says, silent } from '../../test/scripts.js';
import type { ServerGroup } from './servers.js';

let fixture: ForwarderFixture;
let replies: (Buffer | null)[];

beforeEach(() => {
  fixture = new ForwarderFixture({ maxInFlight: 1 });
  replies = [];
});

afterEach(() => fixture.close());

const ask = (group: ServerGroup, name: string) =>
  fixture.forwarder.ask(queryMessage({ name }), group, (reply) => replies.push(reply));
const replied = (count = 1) => until(() => replies.length === count);

describe('a question of the program’s own', () => {
  it('calls back with the reply', async () => {
    const { group, own } = await fixture.groupOf([says('10.0.0.1')]);
    expect(ask(group, 'wEb.x')).toBe(true);
    await replied();
    expect(decodeMessage(replies[0]!)).toMatchObject({
      questions: [{ name: 'wEb.x' }],
      answers: [{ data: '10.0.0.1' }],
    });
    expect(own[0]!.names).toEqual(['wEb.x']);
    expect(fixture.forwarder).toMatchObject({
      inFlight: 0,
      counters: { forwarded: 1, failures: 0 },
    });
  });

  it('calls back with a refusal when there is no better reply', async () => {
    const { group } = await fixture.groupOf([fails(RCODE.REFUSED)]);
    ask(group, 'a');
    await replied();
    expect(decodeMessage(replies[0]!).rcode).toBe('REFUSED');
  });

  it('calls back with null when no server answers in time, once', async () => {
    const { group } = await fixture.groupOf([silent]);
    ask(group, 'a');
    fixture.wait(TIMEOUT_MS - 1);
    expect(replies).toEqual([]);
    fixture.wait(1);
    fixture.wait(TIMEOUT_MS);
    expect(replies).toEqual([null]);
    expect(fixture.forwarder.counters.failures).toBe(1);
  });

  it('joins a client’s, and a client joins it, each with a reply of its own', async () => {
    const { script, release } = held('10.0.0.1');
    const { group, own } = await fixture.groupOf([script]);
    ask(group, 'a');
    const client = fixture.ask(group, 'a');
    await fixture.asked(1);
    release();
    await answered(client);
    await replied();
    expect(client.result).toBe('A 10.0.0.1');
    const again = fixture.ask(group, 'b');
    ask(group, 'B');
    await fixture.asked(2);
    release();
    await answered(again);
    await replied(2);
    expect(decodeMessage(replies[1]!).answers).toMatchObject([{ data: '10.0.0.1' }]);
    expect(own[0]!.requests).toHaveLength(2);
    expect(fixture.forwarder).toMatchObject({ counters: { forwarded: 4, joined: 2 } });
  });

  it('is not asked when there is no room for it, also among those that join', async () => {
    const { group } = await fixture.groupOf([silent]);
    expect([ask(group, 'a'), ask(group, 'b')]).toEqual([true, false]);
    expect([ask(group, 'a'), ask(group, 'a')]).toEqual([true, false]);
    fixture.wait(TIMEOUT_MS);
    expect(replies).toEqual([null, null]);
  });

  it('is not asked when there is no way to send', async () => {
    const { group } = await fixture.groupOf([silent]);
    group.servers[0]!.sockets.send = () => undefined;
    expect(ask(group, 'a')).toBe(false);
    expect(fixture.forwarder).toMatchObject({ inFlight: 0, counters: { forwarded: 0 } });
  });

  it('is asked again, for itself, while the reply to the one before is taken', async () => {
    const { group } = await fixture.groupOf([says('10.0.0.1')]);
    let count = 0;
    const again = () => {
      if (++count < 3) fixture.forwarder.ask(queryMessage({ name: 'a' }), group, again);
    };
    again();
    await until(() => count === 3);
  });

  it('is not called back when the forwarder is closed', async () => {
    const { group } = await fixture.groupOf([silent]);
    ask(group, 'a');
    fixture.forwarder.close();
    fixture.wait(TIMEOUT_MS);
    expect(replies).toEqual([]);
  });
});
