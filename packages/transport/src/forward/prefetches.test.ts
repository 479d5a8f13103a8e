import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { RCODE } from '@kube-dns/wire';
import { answered, ForwarderFixture, WaitingClient } from '../../test/forwarder-fixture.js';
import { queryFor } from '../../test/questions.js';
import { fails, says, silent } from '../../test/scripts.js';
import type { ServerGroup } from './servers.js';

let fixture: ForwarderFixture;

beforeEach(() => {
  fixture = new ForwarderFixture();
});

afterEach(() => fixture.close());

const CLIENT = new WaitingClient();
const prefetch = (group: ServerGroup, name: string) =>
  fixture.forwarder.refresh(queryFor({ name }), group, () => undefined, CLIENT, undefined, true);
const results = () => fixture.forwarder.prefetches;

describe('prefetches', () => {
  it('are one at a time, and a tenth of the questions in flight', async () => {
    const { group } = await fixture.groupOf([silent]);
    expect([prefetch(group, 'a'), prefetch(group, 'b')]).toEqual([true, false]);
    for (let i = 0; i < 20; i++) fixture.ask(group, `n${i}`);
    expect([prefetch(group, 'b'), prefetch(group, 'c'), prefetch(group, 'd')]).toEqual([
      true,
      true,
      false,
    ]);
    expect(results()).toEqual({ fresh: 0, failed: 0, dropped: 2 });
  });

  it('are counted by their results, and their failures are not remembered', async () => {
    const { group, own } = await fixture.groupOf([says('10.0.0.1')]);
    prefetch(group, 'a');
    await until(() => results().fresh === 1);
    own[0]!.script = fails(RCODE.SERVFAIL);
    prefetch(group, 'b');
    await until(() => results().failed === 1);
    own[0]!.script = says('10.0.0.1');
    const client = fixture.ask(group, 'b');
    await answered(client);
    expect(client.result).toBe('A 10.0.0.1');
  });

  it('are not sent while no server is well, nor where they would take a place', async () => {
    const { group, own } = await fixture.groupOf([says('10.0.0.1')]);
    await answered(fixture.ask(group, 'a'));
    own[0]!.script = silent;
    fixture.now += 1;
    fixture.ask(group, 'b');
    fixture.wait(300);
    expect(prefetch(group, 'c')).toBe(false);
    const { group: full } = await fixture.groupOf([silent]);
    for (let i = 0; i < 100; i++) fixture.ask(full, `n${i}`);
    expect(prefetch(full, 'c')).toBe(false);
    expect(results()).toEqual({ fresh: 0, failed: 0, dropped: 2 });
  });

  it('give their reply to a client that asks meanwhile', async () => {
    const { group } = await fixture.groupOf([says('10.0.0.1')]);
    prefetch(group, 'a');
    const client = fixture.ask(group, 'a');
    await answered(client);
    expect(results()).toEqual({ fresh: 1, failed: 0, dropped: 0 });
    expect(fixture.forwarder.counters.joined).toBe(1);
  });
});
