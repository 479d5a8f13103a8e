import { describe, expect, it } from '@jest/globals';
import { encodeKey } from '@kube-dns/wire';
import { domainHash, FairSlots, ServerTcpSlots, Slot, type TcpWaiter, TcpSlots } from './quota.js';

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
    for (const other of ['fd00:0:0:8:1::1', '10.0.0.1']) {
      expect(acquireSlots(hosts(100, 1)).evictable(other)).toMatch(/^fd00:0:0:7:1::/);
    }
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

describe('domains', () => {
  /** `CLIENT DOMAIN number` of the slot that a client gets for a domain. */
  const setUp = (counts: Readonly<Record<string, number>>, given?: 'newest') => {
    const fair = new FairSlots(given);
    const names = new Map<Slot, string>();
    for (const [key, count] of Object.entries(counts)) {
      const [client = '', domain] = key.split(' ');
      for (let i = 0; i < count; i++) {
        const slot = new Slot({ evict: () => fair.release(slot) });
        fair.acquire(client, slot, LIMIT, Number(domain));
        names.set(slot, `${key} ${i}`);
      }
    }
    const evictable = (client: string, domain: number) => {
      const slot = fair.evictable(client, domain);
      return slot && names.get(slot);
    };
    return { fair, evictable };
  };

  it('of one client give slots to others of the same client, the oldest of the one that has most', () => {
    const { evictable } = setUp({ '10.0.0.1 1': 10, '10.0.0.1 2': 90 });
    expect(evictable('10.0.0.1', 3)).toBe('10.0.0.1 2 0');
    expect(evictable('10.0.0.1', 1)).toBe('10.0.0.1 2 0');
    expect(evictable('10.0.0.1', 2)).toBeUndefined();
    // Of a client with more than its part, too.
    expect(evictable('10.0.0.2', 1)).toBe('10.0.0.1 2 0');
  });

  it('give the newest where that is wanted, so that the older ones end', () => {
    const { evictable } = setUp({ '10.0.0.1 1': 90, '10.0.0.1 2': 10 }, 'newest');
    expect(evictable('10.0.0.1', 3)).toBe('10.0.0.1 1 89');
  });

  it('attack 16: of many clients give slots to others, while no client has more than its part', () => {
    const counts = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`10.0.1.${i} 1`, 2]));
    expect(setUp(counts).evictable('10.0.0.1', 2)).toBe('10.0.1.0 1 0');
    expect(setUp(counts).evictable('10.0.0.1', 1)).toBeUndefined();
  });

  it('leave a client what it may have alone', () => {
    const { fair } = setUp({ '10.0.0.1 1': 10, '10.0.0.2 1': 3 });
    expect(fair.makeOwnRoom('10.0.0.1', 11, 1)).toBe(true);
    expect(fair.makeOwnRoom('10.0.0.1', 10, 1)).toBe(false);
    expect(fair.makeOwnRoom('10.0.0.1', 10, 2)).toBe(true);
    expect(['10.0.0.1', '10.0.0.2'].map((client) => fair.sizeOf(client))).toEqual([9, 3]);
  });

  it('are the last two labels of a name, or what servers are for', () => {
    const hashOf = (name: string, isWhole = false) => {
      const key = encodeKey(name);
      return domainHash(key, key.length, isWhole);
    };
    expect(hashOf('a.b.example.com')).toBe(hashOf('c.example.com'));
    expect(hashOf('example.com')).toBe(hashOf('c.example.com'));
    expect(hashOf('example.com')).not.toBe(hashOf('example.org'));
    expect(hashOf('com')).not.toBe(hashOf('example.com'));
    expect(hashOf('a.corp.example', true)).not.toBe(hashOf('b.corp.example', true));
  });
});

class FakeWaiter implements TcpWaiter {
  readonly slot = new Slot(this);
  readonly client = '10.0.0.1';
  readonly domain: number;
  readonly onSlot: () => void;
  readonly #server: ServerTcpSlots;
  evicted = 0;

  constructor(server: ServerTcpSlots, domain: number, onSlot: () => void) {
    this.#server = server;
    this.domain = domain;
    this.onSlot = onSlot;
  }

  evict(): void {
    this.evicted++;
    this.#server.yield(this);
  }
}

/** Waiters by name, and who got a slot, in order. */
function waiters() {
  const got: string[] = [];
  const named = (name: string, server: ServerTcpSlots, domain = 0) =>
    new FakeWaiter(server, domain, () => got.push(name));
  return { got, named };
}

describe('slots for connections over TCP', () => {
  it('are acquired until there are none, and then waited for in order', () => {
    const { got, named } = waiters();
    const all = new TcpSlots(4);
    const [one, two] = [new ServerTcpSlots(all), new ServerTcpSlots(all)];
    const first = [one, one, two, two].map((server) => named('first', server));
    const acquired = [one, one, two, two].map((server, i) => server.acquire(first[i]!));
    expect(acquired).toEqual([true, true, true, true]);
    expect(['a', 'b'].map((name) => one.acquire(named(name, one)))).toEqual([false, false]);
    one.release(first[0]!);
    expect(got).toEqual(['a']);
    one.release(first[1]!);
    expect(got).toEqual(['a', 'b']);
  });

  it('are not all for one server', () => {
    const { got, named } = waiters();
    const all = new TcpSlots(4);
    const [slow, other] = [new ServerTcpSlots(all), new ServerTcpSlots(all)];
    for (let i = 0; i < 10; i++) slow.acquire(named(`slow${i}`, slow));
    expect(slow).toMatchObject({ size: 2, waiting: 8 });
    const waiter = named('other', other);
    expect(other.acquire(waiter)).toBe(true);
    other.release(waiter);
    expect(got).toEqual([]);
  });

  it('are not all for one domain: the newest of the one that has most waits again', () => {
    const { got, named } = waiters();
    const server = new ServerTcpSlots(new TcpSlots(20));
    const slow = Array.from({ length: 30 }, (_, i) => named(`slow${i}`, server, 1));
    for (const each of slow) server.acquire(each);
    const other = named('other', server, 2);
    expect(server.acquire(other)).toBe(true);
    expect(slow.filter(({ evicted }) => evicted > 0)).toEqual([slow[9]]);
    expect(server).toMatchObject({ size: 10, waiting: 21 });
    server.release(other);
    expect(got).toEqual(['slow10']);
    for (const each of slow.slice(0, 9)) server.release(each);
    for (const each of slow.slice(10)) server.release(each);
    expect(got.at(-1)).toBe('slow9');
  });

  it('go to the servers in turn', () => {
    const { got, named } = waiters();
    const all = new TcpSlots(2);
    const [a, b, c] = [new ServerTcpSlots(all), new ServerTcpSlots(all), new ServerTcpSlots(all)];
    const [first, second] = [named('', a), named('', b)];
    a.acquire(first);
    b.acquire(second);
    for (let i = 0; i < 3; i++) a.acquire(named(`a${i}`, a));
    c.acquire(named('c', c));
    a.release(first);
    expect(got).toEqual(['a0']);
    b.release(second);
    expect(got).toEqual(['a0', 'c']);
  });

  it('are given on at once by 10,000 that need them no longer', () => {
    const all = new TcpSlots(1);
    const server = new ServerTcpSlots(all);
    const first = new FakeWaiter(server, 0, () => undefined);
    server.acquire(first);
    let late = 0;
    for (let i = 0; i < 10_000; i++) {
      const waiter = new FakeWaiter(server, 0, () => {
        late++;
        server.release(waiter);
      });
      server.acquire(waiter);
    }
    server.release(first);
    expect(late).toBe(10_000);
    expect(server).toMatchObject({ size: 0, waiting: 0 });
  });

  it('are not waited for after leaving', () => {
    const { got, named } = waiters();
    const all = new TcpSlots(1);
    const server = new ServerTcpSlots(all);
    const gone = named('gone', server);
    const first = named('', server);
    server.acquire(first);
    server.acquire(gone);
    server.leave(gone);
    server.release(first);
    expect(got).toEqual([]);
    expect(server.acquire(named('later', server))).toBe(true);
  });
});
