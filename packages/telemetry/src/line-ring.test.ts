import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LineRing } from './query-log.js';

function push(ring: LineRing, line: string, reserved = line.length): boolean {
  const at = ring.reserve(reserved);
  if (at < 0) return false;
  ring.bytes.set(Buffer.from(line), at);
  ring.commit(at + line.length);
  return true;
}

function take(ring: LineRing, most = Infinity): string {
  const count = Math.min(ring.pieceBytes, most);
  const text = Buffer.from(ring.bytes.subarray(ring.start, ring.start + count)).toString();
  ring.release(count);
  return text;
}

describe('LineRing', () => {
  it('gives lines in their order, in pieces', () => {
    const ring = new LineRing(100);
    push(ring, 'one\n');
    push(ring, 'two\n');
    expect([ring.waitingBytes, take(ring, 5), take(ring), ring.waitingBytes]).toEqual([
      8,
      'one\nt',
      'wo\n',
      0,
    ]);
  });

  it('has no place for a line that may not fit, until others are written', () => {
    const ring = new LineRing(20);
    expect(push(ring, 'aaaaaaaaa\n')).toBe(true);
    expect(push(ring, 'b\n', 12)).toBe(false);
    expect(push(ring, 'b\n', 10)).toBe(true);
    expect([push(ring, 'c\n', 10), take(ring), push(ring, 'c\n', 10)]).toEqual([
      false,
      'aaaaaaaaa\nb\n',
      true,
    ]);
  });

  it('starts again at its beginning while the end is being written', () => {
    const ring = new LineRing(20);
    push(ring, 'aaaaaaaaa\n');
    push(ring, 'bbbbb\n');
    take(ring, 12);
    expect(push(ring, 'cccccccc\n', 12)).toBe(true);
    expect([ring.waitingBytes, take(ring), take(ring), ring.waitingBytes]).toEqual([
      13,
      'bbb\n',
      'cccccccc\n',
      0,
    ]);
  });

  it('loses, repeats and mixes nothing, however it is filled and emptied', () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ line: fc.integer({ min: 1, max: 30 }), spare: fc.nat({ max: 20 }) }),
        fc.record({ most: fc.integer({ min: 1, max: 60 }) }),
      ),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(steps, (all) => {
        const ring = new LineRing(100);
        let serial = 0;
        let [expected, got] = ['', ''];
        for (const step of all) {
          if ('most' in step) got += take(ring, step.most);
          else {
            const line = `${String(serial++ % 10).repeat(step.line)}\n`;
            if (push(ring, line, line.length + step.spare)) expected += line;
          }
        }
        while (ring.waitingBytes > 0) got += take(ring);
        expect(got).toBe(expected);
      }),
    );
  });
});
