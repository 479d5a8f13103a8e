import { describe, expect, it } from '@jest/globals';
import { FairSlots, ServerTcpSlots, Slot, type TcpWaiter, TcpSlots } from './quota.js';

const LIMIT = 100;

/** Slots that `CLIENT number` has acquired, and who gives one to a client. */
function acquireSlots(counts: Readonly<Record<string, number>>) {
  const fair = new FairSlots();
  const names = new Map<Slot, string>();
  const acquired = Object.entries(counts).flatMap(([client, count]) =>
    Array.from({ length: count }, (_, i) => {
      const slot = new Slot({ evict: () => undefined });
      fair.acquire(client, slot, LIMIT);
      names.set(slot, `${client} ${i}`);
      return slot;
    }),
  );
  const evictable = (client: string) => {
    const slot = fair.evictable(client);
    return slot && names.get(slot);
  };
  return { fair, acquired, evictable };
}

describe('a client without a slot', () => {
  it('gets the oldest of the client that has most', () => {
    const { fair, acquired, evictable } = acquireSlots({ '10.0.0.1': 40, '10.0.0.2': 60 });
    expect(evictable('10.0.0.3')).toBe('10.0.0.2 0');
    for (const i of [40, 42, 99]) fair.release(acquired[i]!);
    expect(evictable('10.0.0.3')).toBe('10.0.0.2 1');
    fair.release(acquired[41]!);
    expect(evictable('10.0.0.3')).toBe('10.0.0.2 3');
  });

  it('gets none from a client with no more than a tenth', () => {
    const counts = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`10.0.0.${i}`, 10]));
    expect(acquireSlots(counts).evictable('10.0.1.1')).toBeUndefined();
    expect(acquireSlots({ ...counts, '10.0.0.3': 11 }).evictable('10.0.1.1')).toBe('10.0.0.3 0');
  });

  it('gets none from itself, nor from a client that would have fewer then', () => {
    expect(acquireSlots({ '10.0.0.1': 100 }).evictable('10.0.0.1')).toBeUndefined();
    const halves = { '10.0.0.1': 50, '10.0.0.2': 50 };
    expect(acquireSlots(halves).evictable('10.0.0.1')).toBeUndefined();
    expect(acquireSlots({ ...halves, '10.0.0.2': 49 }).evictable('10.0.0.2')).toBeUndefined();
    expect(acquireSlots({ ...halves, '10.0.0.2': 48 }).evictable('10.0.0.2')).toBe('10.0.0.1 0');
  });
});

describe('an IPv6 network of one machine', () => {
  const hosts = (count: number, each: number, network = 'fd00:0:0:7') =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${network}:1::${i + 1}`, each]));

  it('gives a slot to others, with however many addresses', () => {
    expect(acquireSlots(hosts(100, 1)).evictable('fd00:0:0:8:1::1')).toBe('fd00:0:0:7:1::1 0');
    expect(acquireSlots(hosts(100, 1)).evictable('10.0.0.1')).toBe('fd00:0:0:7:1::1 0');
  });

  it('gets none with a further address', () => {
    expect(acquireSlots(hosts(100, 1)).evictable('fd00:0:0:7:2::1')).toBeUndefined();
    const other = { '10.0.0.1': 20 };
    expect(
      acquireSlots({ ...other, ...hosts(80, 1) }).evictable('fd00:0:0:7:2::1'),
    ).toBeUndefined();
  });

  it('is not all served to one of its addresses', () => {
    const { evictable } = acquireSlots({ 'fd00:0:0:7::1': 100 });
    expect(evictable('fd00:0:0:7::2')).toBe('fd00:0:0:7::1 0');
  });

  it('is the same in every spelling', () => {
    for (const spelling of ['fd00:0:0:7::9', 'fd00::7:0:0:0:9', 'fd00::7:1:2:3:4']) {
      expect(acquireSlots(hosts(100, 1)).evictable(spelling)).toBeUndefined();
    }
  });
});

it('forgets a client without slots', () => {
  const { fair, acquired, evictable } = acquireSlots({ '10.0.0.1': 50, 'fd00::1': 50 });
  // To give back what is free changes nothing.
  for (const slot of [...acquired, ...acquired]) fair.release(slot);
  expect(fair.size).toBe(0);
  expect(evictable('10.0.0.2')).toBeUndefined();
});

/** Waiters by name, and who got a slot, in order. */
function waiters() {
  const got: string[] = [];
  const named = (name: string): TcpWaiter => ({ onSlot: () => got.push(name) });
  return { got, named };
}

describe('slots for connections over TCP', () => {
  it('are acquired until there are none, and then waited for in order', () => {
    const { got, named } = waiters();
    const all = new TcpSlots(4);
    const [one, two] = [new ServerTcpSlots(all), new ServerTcpSlots(all)];
    const acquired = [one, one, two, two].map((server) => server.acquire(named('first')));
    expect(acquired).toEqual([true, true, true, true]);
    expect(['a', 'b'].map((name) => one.acquire(named(name)))).toEqual([false, false]);
    one.release();
    expect(got).toEqual(['a']);
    one.release();
    expect(got).toEqual(['a', 'b']);
  });

  it('are not all for one server', () => {
    const { got, named } = waiters();
    const all = new TcpSlots(4);
    const [slow, other] = [new ServerTcpSlots(all), new ServerTcpSlots(all)];
    for (let i = 0; i < 10; i++) slow.acquire(named(`slow${i}`));
    expect(slow).toMatchObject({ size: 2, waiting: 8 });
    expect(other.acquire(named('other'))).toBe(true);
    other.release();
    expect(got).toEqual([]);
  });

  it('go to the servers in turn', () => {
    const { got, named } = waiters();
    const all = new TcpSlots(2);
    const [a, b, c] = [new ServerTcpSlots(all), new ServerTcpSlots(all), new ServerTcpSlots(all)];
    a.acquire(named(''));
    b.acquire(named(''));
    for (let i = 0; i < 3; i++) a.acquire(named(`a${i}`));
    c.acquire(named('c'));
    a.release();
    expect(got).toEqual(['a0']);
    b.release();
    expect(got).toEqual(['a0', 'c']);
  });

  it('are given on at once by 10,000 that need them no longer', () => {
    const all = new TcpSlots(1);
    const server = new ServerTcpSlots(all);
    server.acquire({ onSlot: () => undefined });
    let late = 0;
    for (let i = 0; i < 10_000; i++) {
      server.acquire({
        onSlot: () => {
          late++;
          server.release();
        },
      });
    }
    server.release();
    expect(late).toBe(10_000);
    expect(server).toMatchObject({ size: 0, waiting: 0 });
  });

  it('are not waited for after leaving', () => {
    const { got, named } = waiters();
    const all = new TcpSlots(1);
    const server = new ServerTcpSlots(all);
    const gone = named('gone');
    server.acquire(named(''));
    server.acquire(gone);
    server.leave(gone);
    server.release();
    expect(got).toEqual([]);
    expect(server.acquire(named('later'))).toBe(true);
  });
});
