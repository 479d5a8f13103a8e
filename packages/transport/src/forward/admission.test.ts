import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  answered,
  ForwarderFixture,
  TIMEOUT_MS,
  WaitingClient,
} from '../../test/forwarder-fixture.js';
import { says, silent } from '../../test/scripts.js';
import type { ServerGroup } from './servers.js';

let fixture: ForwarderFixture;
beforeEach(() => {
  fixture = new ForwarderFixture({ maxInFlight: 1_500 });
});
afterEach(() => fixture.close());

let port = 1_024;
const from = (address: string) => new WaitingClient(port++, address);
const slow: Parameters<ForwarderFixture['groupOf']>[0][number] = (request) =>
  request.question.name.startsWith('slow') ? silent(request) : says('10.0.0.1')(request);
const resultsOf = (clients: readonly WaitingClient[]) => {
  const counts: Record<string, number> = {};
  for (const { result } of clients) counts[result] = (counts[result] ?? 0) + 1;
  return counts;
};

describe('1,500 slow questions of one client', () => {
  it('leave the places of 40 new names to another client', async () => {
    const { group } = await fixture.groupOf([slow]);
    const attacker = Array.from({ length: 1_600 }, (_none, i) =>
      fixture.ask(group, `slow${i}`, from('10.0.0.1')),
    );
    expect(resultsOf(attacker)).toEqual({ '': 1_500, REFUSED: 100 });
    const others = Array.from({ length: 40 }, (_none, i) =>
      fixture.ask(group, `new${i}`, from('10.0.0.2')),
    );
    await answered(...others);
    expect(resultsOf(others)).toEqual({ 'A 10.0.0.1': 40 });
    // The oldest were refused, and some places are free again.
    expect(resultsOf(attacker.slice(0, 40))).toEqual({ REFUSED: 40 });
    expect(resultsOf(attacker.slice(40, 1_500))).toEqual({ '': 1_460 });
    expect(group.load).toMatchObject({ questions: 1_460, joiners: 0 });
    expect(fixture.forwarder.counters.overflows).toBe(140);
    fixture.wait(TIMEOUT_MS);
    expect(group.load).toMatchObject({ questions: 0, joiners: 0 });
  });

  it('are all answered while nobody else asks', async () => {
    const { group } = await fixture.groupOf([says('10.0.0.1')]);
    const clients = Array.from({ length: 1_500 }, (_none, i) =>
      fixture.ask(group, `n${i}`, from('10.0.0.1')),
    );
    await answered(...clients);
    expect(resultsOf(clients)).toEqual({ 'A 10.0.0.1': 1_500 });
  });
});

describe('slow questions of many clients', () => {
  const fill = (group: ServerGroup, count: number) => {
    for (let i = 0; i < 1_500; i++) fixture.ask(group, `slow${i}`, from(`10.0.1.${i % count}`));
  };

  it('leave a place to another client while they are nine', async () => {
    const { group } = await fixture.groupOf([slow]);
    fill(group, 9);
    const other = fixture.ask(group, 'new', from('10.0.0.2'));
    await answered(other);
    expect(other.result).toBe('A 10.0.0.1');
  });

  it('leave none when they are ten or more', async () => {
    const { group } = await fixture.groupOf([slow]);
    fill(group, 10);
    expect(fixture.ask(group, 'new', from('10.0.0.2')).result).toBe('REFUSED');
  });
});

describe('a question whose client gives its place away', () => {
  it('goes on for the others that joined it', async () => {
    const few = new ForwarderFixture({ maxInFlight: 20 });
    const { group } = await few.groupOf([silent]);
    const first = few.ask(group, 'shared', from('10.0.0.1'));
    const joined = few.ask(group, 'shared', from('10.0.0.2'));
    for (let i = 1; i < 20; i++) few.ask(group, `slow${i}`, from('10.0.0.1'));
    const added = [1, 2].map((i) => few.ask(group, `new${i}`, from('10.0.0.3')));
    expect([first, joined, ...added].map(({ result }) => result)).toEqual(['REFUSED', '', '', '']);
    expect(group.load).toMatchObject({ questions: 20, joiners: 0 });
    few.wait(TIMEOUT_MS);
    expect([joined, ...added].map(({ result }) => result)).toEqual(Array(3).fill('SERVFAIL'));
    expect(group.load).toMatchObject({ questions: 0, joiners: 0 });
    await few.close();
  });
});

describe('clients that join a question', () => {
  it('leave places to those of another address', async () => {
    const few = new ForwarderFixture({ maxInFlight: 20 });
    const { group } = await few.groupOf([silent]);
    const attacker = Array.from({ length: 25 }, () => few.ask(group, 'a', from('10.0.0.1')));
    expect(resultsOf(attacker)).toEqual({ '': 21, REFUSED: 4 });
    const other = few.ask(group, 'a', from('10.0.0.2'));
    expect(other.result).toBe('');
    expect(attacker[1]!.result).toBe('REFUSED');
    few.wait(TIMEOUT_MS);
    expect(other.result).toBe('SERVFAIL');
    expect(group.load).toMatchObject({ questions: 0, joiners: 0 });
    await few.close();
  });
});
