import { describe, expect, it } from '@jest/globals';
import {
  parsePortRanges,
  portsToTry,
  randomBelow,
  randomId,
  type SourcePorts,
} from './random-id.js';

describe('randomId', () => {
  it('gives 16-bit numbers that fill the range evenly, beyond one pool too', () => {
    const ids = Array.from({ length: 20_000 }, randomId);
    expect(ids.every((id) => Number.isInteger(id) && id >= 0 && id <= 0xffff)).toBe(true);
    const quarters = [0, 0, 0, 0];
    for (const id of ids) quarters[id >> 14]! += 1;
    // 5,000 each; 500 away is eight standard deviations.
    for (const count of quarters) expect(Math.abs(count - 5000)).toBeLessThan(500);
    expect(new Set(ids).size).toBeGreaterThan(16_000);
  });
});

describe('randomBelow', () => {
  it.each([1, 3, 64_512, 65_536])('gives each number below %d as often as another', (size) => {
    const third = size / 3;
    const counts = [0, 0, 0];
    const numbers = Array.from({ length: 9_000 }, () => randomBelow(size));
    const isBelow = (number: number) => Number.isInteger(number) && number >= 0 && number < size;
    expect(numbers.filter((number) => !isBelow(number))).toEqual([]);
    for (const number of numbers) counts[Math.floor(number / third)]!++;
    if (size === 1) return;
    // 3,000 each; 360 away is eight standard deviations.
    for (const count of counts) expect(Math.abs(count - 3_000)).toBeLessThan(360);
  });
});

const first = (ports: SourcePorts) => portsToTry(ports).next().value as number;

describe('source ports', () => {
  it('are drawn from 1024 to 65535, each part of it as often as another', () => {
    const DRAWS = 20_000;
    const BUCKETS = 63;
    const counts = new Array<number>(BUCKETS).fill(0);
    const ports = Array.from({ length: DRAWS }, () => first({}));
    expect(ports.filter((port) => port < 1024 || port > 65_535)).toEqual([]);
    for (const port of ports) counts[Math.floor((port - 1024) / 1024)]!++;
    const expected = DRAWS / BUCKETS;
    // Six standard deviations.
    const spread = 6 * Math.sqrt(expected);
    for (const count of counts) expect(Math.abs(count - expected)).toBeLessThan(spread);
  });

  it('are drawn from the range that is given', () => {
    for (let i = 0; i < 100; i++) {
      expect(first({ min: 60_000 })).toBeGreaterThanOrEqual(60_000);
      expect(first({ max: 2_000 })).toBeLessThanOrEqual(2_000);
      expect(first({ min: 5_000, max: 4_000 })).toBe(4_000);
    }
  });

  it('include each port of a small range', () => {
    expect(new Set(portsToTry({ min: 3_000, max: 3_050 })).size).toBe(51);
  });

  it('are not those to be avoided', () => {
    const avoided = new Set(Array.from({ length: 50 }, (_, i) => 3_000 + i));
    for (let i = 0; i < 20; i++) {
      expect(new Set(portsToTry({ min: 3_000, max: 3_050, avoided }))).toEqual(new Set([3_050]));
    }
  });

  it('are the one that is fixed, alone', () => {
    expect([...portsToTry({ fixed: 4_053 })]).toEqual([4_053]);
  });
});

it.each<[string, number[]]>([
  ['\n', []],
  ['8080\n', [8080]],
  ['53,8080-8082,9000\n', [53, 8080, 8081, 8082, 9000]],
])('the port list %j is %j', (text, ports) => {
  expect([...parsePortRanges(text)]).toEqual(ports);
});
