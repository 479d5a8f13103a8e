import { describe, expect, it } from '@jest/globals';
import { FairPlaces, Place } from './fair-places.js';

const LIMIT = 100;

/** Places that `CLIENT number` has taken. */
function takePlaces(counts: Readonly<Record<string, number>>) {
  const places = new FairPlaces<string>();
  const taken = Object.entries(counts).flatMap(([client, count]) =>
    Array.from({ length: count }, (_, i) => {
      const place = new Place(`${client} ${i}`);
      places.add(client, place, LIMIT);
      return place;
    }),
  );
  return { places, taken };
}

const placesOf = (counts: Readonly<Record<string, number>>) => takePlaces(counts).places;

describe('a client without a place', () => {
  it('gets the oldest of the client that has most', () => {
    const { places, taken } = takePlaces({ '10.0.0.1': 40, '10.0.0.2': 60 });
    expect(places.displacedBy('10.0.0.3')).toBe('10.0.0.2 0');
    for (const i of [40, 42, 99]) places.remove(taken[i]!);
    expect(places.displacedBy('10.0.0.3')).toBe('10.0.0.2 1');
    places.remove(taken[41]!);
    expect(places.displacedBy('10.0.0.3')).toBe('10.0.0.2 3');
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

  it('is the same in every spelling', () => {
    for (const spelling of ['fd00:0:0:7::9', 'fd00::7:0:0:0:9', 'fd00::7:1:2:3:4']) {
      expect(placesOf(hosts(100, 1)).displacedBy(spelling)).toBeUndefined();
    }
  });
});

it('forgets a client without places', () => {
  const { places, taken } = takePlaces({ '10.0.0.1': 50, 'fd00::1': 50 });
  // To give back what is not taken changes nothing.
  for (const place of [...taken, ...taken]) places.remove(place);
  expect(places.size).toBe(0);
  expect(places.displacedBy('10.0.0.2')).toBeUndefined();
});
