import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import type { WaitingClient } from '../../test/forwarder-fixture.js';
import { answered, ForwarderFixture, TIMEOUT_MS } from '../../test/forwarder-fixture.js';
import { held, says, silent } from '../../test/scripts.js';

/** What a client waits for its first SERVFAIL at most. */
const LOST_MS = 1_800;
const STEP_MS = 50;

let fixture: ForwarderFixture;

beforeEach(() => {
  fixture = new ForwarderFixture();
});

afterEach(() => fixture.close());

const edns = (name: string) => ({ name, ednsBytes: 1232 });

/** Lets a client wait, and returns for how long it did. */
function wait(client: WaitingClient, limitMs: number): number {
  let ms = 0;
  for (; ms < limitMs && client.result === ''; ms += STEP_MS) fixture.wait(STEP_MS);
  return ms;
}

/** Servers that have answered, and do so no more. */
async function silentGroup(count = 1) {
  const { group, own } = await fixture.groupOf(Array(count).fill(says('10.0.0.1')));
  await answered(fixture.ask(group, 'known'));
  for (const server of own) server.script = silent;
  fixture.now += 1;
  return { group, own };
}

describe('a question that no server answers', () => {
  it('fails in 1.8 s when all of them have replied sooner before, and reply to nothing now', async () => {
    const { group } = await silentGroup(3);
    const first = fixture.ask(group, edns('first'));
    expect(wait(first, TIMEOUT_MS)).toBeLessThanOrEqual(LOST_MS);
    expect([first.result, first.extendedError]).toEqual([
      'SERVFAIL',
      EXTENDED_ERROR.NO_REACHABLE_AUTHORITY,
    ]);
    expect(fixture.forwarder.counters.failures).toBe(1);
  });

  it('fails at once after that, but for one that is sent with a probe', async () => {
    const { group } = await silentGroup();
    wait(fixture.ask(group, 'first'), LOST_MS);
    let waiting = 0;
    for (let i = 0; i < 100; i++) {
      const client = fixture.ask(group, edns(`n${i}`));
      if (client.result === '') waiting++;
      else expect(client.extendedError).toBe(EXTENDED_ERROR.NO_REACHABLE_AUTHORITY);
      fixture.wait(20);
    }
    expect(waiting).toBeLessThanOrEqual(2);
  });

  it('is not given up while a server answers something else', async () => {
    const { group, own } = await silentGroup(2);
    own[1]!.script = (request) =>
      request.question.name === 'known' || request.question.type === 'SOA'
        ? says('10.0.0.1')(request)
        : null;
    const onReply = jest.spyOn(group.servers[1]!.health, 'onReply');
    const client = fixture.ask(group, 'slow');
    for (let ms = 0; ms < TIMEOUT_MS - 500; ms += 500) {
      const calls = onReply.mock.calls.length;
      fixture.wait(500);
      if (ms === 0) await until(() => onReply.mock.calls.length > calls);
      expect(client.result).toBe('');
    }
    expect(group.failure).toBeUndefined();
  });

  it('is not given up after a standstill: replies may wait to be read', async () => {
    const { group } = await silentGroup();
    const client = fixture.ask(group, 'a');
    fixture.wait(300);
    fixture.wait(TIMEOUT_MS - 500);
    expect(client.result).toBe('');
    fixture.wait(100);
    expect(client.result).toBe('');
  });

  it('has the whole time-out where a server has never replied', async () => {
    const { group } = await fixture.groupOf([silent]);
    const client = fixture.ask(group, 'first');
    expect(wait(client, 2 * TIMEOUT_MS)).toBe(TIMEOUT_MS);
  });

  it('has the whole time-out where replies take two seconds', async () => {
    const { script, release } = held('10.0.0.1');
    const { group, own } = await fixture.groupOf([script]);
    const slow = fixture.ask(group, 'slow');
    await fixture.asked(1);
    fixture.now += 2_000;
    release();
    await answered(slow);
    own[0]!.script = silent;
    fixture.now += 1;
    const client = fixture.ask(group, 'slower');
    expect(wait(client, 2 * TIMEOUT_MS)).toBe(TIMEOUT_MS);
  });

  it('is answered again once they reply', async () => {
    const { group, own } = await silentGroup();
    wait(fixture.ask(group, 'first'), LOST_MS);
    own[0]!.script = says('10.0.0.2');
    fixture.wait(1_000);
    fixture.ask(group, 'probing');
    await until(() => group.failure === undefined);
    const again = fixture.ask(group, 'again');
    await answered(again);
    expect(again.result).toBe('A 10.0.0.2');
  });
});
