import { describe, expect, it } from '@jest/globals';
import { FairPlaces } from './fair-places.js';

const LIMIT = 100;

/** Places whose names are `CLIENT number`. */
function placesOf(counts: Readonly<Record<string, number>>): FairPlaces<string> {
  const places = new FairPlaces<string>();
  for (const [client, count] of Object.entries(counts)) {
    for (let i = 0; i < count; i++) places.add(client, `${client} ${i}`, LIMIT);
  }
  return places;
}

describe('a client without a place', () => {
  it('gets the oldest of the client that has most', () => {
    const places = placesOf({ '10.0.0.1': 40, '10.0.0.2': 60 });
    expect(places.displacedBy('10.0.0.3')).toBe('10.0.0.2 0');
    places.remove('10.0.0.2', '10.0.0.2 0');
    expect(places.displacedBy('10.0.0.3')).toBe('10.0.0.2 1');
  });

  it('gets none from a client with no more than a tenth', () => {
    const counts = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`10.0.0.${i}`, 10]));
    expect(placesOf(counts).displacedBy('10.0.1.1')).toBeUndefined();
    expect(placesOf({ ...counts, '10.0.0.3': 11 }).displacedBy('10.0.1.1')).toBe('10.0.0.3 0');
  });

  it('gets none from itself, nor from a client that would have fewer then', () => {
    expect(placesOf({ '10.0.0.1': 100 }).displacedBy('10.0.0.1')).toBeUndefined();
    const halves = { '10.0.0.1': 50, '10.0.0.2': 50 };
    expect(placesOf(halves).displacedBy('10.0.0.1')).toBeUndefined();
    expect(placesOf({ ...halves, '10.0.0.2': 49 }).displacedBy('10.0.0.2')).toBeUndefined();
    expect(placesOf({ ...halves, '10.0.0.2': 48 }).displacedBy('10.0.0.2')).toBe('10.0.0.1 0');
  });
});

describe('an IPv6 network of one machine', () => {
  const hosts = (count: number, each: number, network = 'fd00:0:0:7') =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${network}:1::${i + 1}`, each]));

  it('gives a place to others, with however many addresses', () => {
    expect(placesOf(hosts(100, 1)).displacedBy('fd00:0:0:8:1::1')).toBe('fd00:0:0:7:1::1 0');
    expect(placesOf(hosts(100, 1)).displacedBy('10.0.0.1')).toBe('fd00:0:0:7:1::1 0');
  });

  it('gets none with a further address', () => {
    expect(placesOf(hosts(100, 1)).displacedBy('fd00:0:0:7:2::1')).toBeUndefined();
    const other = { '10.0.0.1': 20 };
    expect(placesOf({ ...other, ...hosts(80, 1) }).displacedBy('fd00:0:0:7:2::1')).toBeUndefined();
  });

  it('is not all served to one of its addresses', () => {
    const places = placesOf({ 'fd00:0:0:7::1': 100 });
    expect(places.displacedBy('fd00:0:0:7::2')).toBe('fd00:0:0:7::1 0');
  });

  it('is the same in every spelling, and not that of mapped IPv4', () => {
    for (const spelling of ['fd00:0:0:7::9', 'fd00::7:0:0:0:9', 'fd00::7:1:2:3:4']) {
      expect(placesOf(hosts(100, 1)).displacedBy(spelling)).toBeUndefined();
    }
    const mapped = Object.fromEntries(
      Array.from({ length: 100 }, (_, i) => [`::ffff:10.0.0.${i}`, 1]),
    );
    expect(placesOf(mapped).displacedBy('10.0.1.1')).toBeUndefined();
  });
});

it('forgets a client without places', () => {
  const places = placesOf({ '10.0.0.1': 50, 'fd00::1': 50 });
  for (const client of ['10.0.0.1', 'fd00::1']) {
    for (let i = 0; i < 50; i++) places.remove(client, `${client} ${i}`);
    places.remove(client, 'another');
  }
  expect(places.size).toBe(0);
  expect(places.displacedBy('10.0.0.2')).toBeUndefined();
});
