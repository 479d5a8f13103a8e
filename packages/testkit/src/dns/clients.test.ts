import { describe, expect, it } from '@jest/globals';
import { frameMessage, Frames } from './clients.js';

const MESSAGES = ['one', '', 'three'].map((text) => Buffer.from(text));

describe('the messages of a stream', () => {
  it.each([1, 2, 3, 100])('are found in pieces of %d bytes', (size) => {
    const stream = Buffer.concat(MESSAGES.map(frameMessage));
    const frames = new Frames();
    const found: Buffer[] = [];
    for (let at = 0; at < stream.length; at += size) {
      found.push(...frames.push(stream.subarray(at, at + size)));
    }
    expect(found).toEqual(MESSAGES);
  });
});
