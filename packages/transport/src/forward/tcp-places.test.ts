import { describe, expect, it } from '@jest/globals';
import { type PlaceWaiter, ServerPlaces, TcpPlaces } from './tcp-places.js';

/** Waiters by name, and who got a place, in order. */
function waiters() {
  const got: string[] = [];
  const named = (name: string): PlaceWaiter => ({ onPlace: () => got.push(name) });
  return { got, named };
}

describe('places for connections over TCP', () => {
  it('are taken until there are none, and then waited for in order', () => {
    const { got, named } = waiters();
    const all = new TcpPlaces(4);
    const [one, two] = [new ServerPlaces(all), new ServerPlaces(all)];
    const taken = [one, one, two, two].map((server) => server.take(named('first')));
    expect(taken).toEqual([true, true, true, true]);
    expect(['a', 'b'].map((name) => one.take(named(name)))).toEqual([false, false]);
    one.release();
    expect(got).toEqual(['a']);
    one.release();
    expect(got).toEqual(['a', 'b']);
  });

  it('are not all for one server', () => {
    const { got, named } = waiters();
    const all = new TcpPlaces(4);
    const [slow, other] = [new ServerPlaces(all), new ServerPlaces(all)];
    for (let i = 0; i < 10; i++) slow.take(named(`slow${i}`));
    expect(slow).toMatchObject({ taken: 2, waiting: 8 });
    expect(other.take(named('other'))).toBe(true);
    other.release();
    expect(got).toEqual([]);
  });

  it('go to the servers in turn', () => {
    const { got, named } = waiters();
    const all = new TcpPlaces(2);
    const [a, b, c] = [new ServerPlaces(all), new ServerPlaces(all), new ServerPlaces(all)];
    a.take(named(''));
    b.take(named(''));
    for (let i = 0; i < 3; i++) a.take(named(`a${i}`));
    c.take(named('c'));
    a.release();
    expect(got).toEqual(['a0']);
    b.release();
    expect(got).toEqual(['a0', 'c']);
  });

  it('are given on at once by 10,000 that need them no longer', () => {
    const all = new TcpPlaces(1);
    const server = new ServerPlaces(all);
    server.take({ onPlace: () => undefined });
    let late = 0;
    for (let i = 0; i < 10_000; i++) {
      server.take({
        onPlace: () => {
          late++;
          server.release();
        },
      });
    }
    server.release();
    expect(late).toBe(10_000);
    expect(server).toMatchObject({ taken: 0, waiting: 0 });
  });

  it('are not waited for after leaving', () => {
    const { got, named } = waiters();
    const all = new TcpPlaces(1);
    const server = new ServerPlaces(all);
    const gone = named('gone');
    server.take(named(''));
    server.take(gone);
    server.leave(gone);
    server.release();
    expect(got).toEqual([]);
    expect(server.take(named('later'))).toBe(true);
  });
});
