import { CONTROL, controlFrame, ControlFrameReader } from '@kube-dns/telemetry/internal';
import type { FuzzTarget } from '../fuzz-target.js';
import { MESSAGE_MUTATIONS } from '../message-mutations.js';

/** In front of the stream: how many bytes come at a time, 0 for all of them. */
const CHUNKS = [0, 1, 3, 7, 100];
/** Of a stream that comes byte by byte each byte is a chunk, which has its views. */
const BYTES_PER_BYTE = 256;

/** What a reader of dnstap sends back, cut into pieces whose size is its first byte. */
export function createDnstapReader(): FuzzTarget {
  const frames = Object.values(CONTROL).map((control) => Buffer.from(controlFrame(control)));
  const bodies = [...frames, Buffer.concat(frames)];
  return {
    seeds: bodies.flatMap((body) => CHUNKS.map((size) => Buffer.from([size, ...body]))),
    tokens: [...frames, Buffer.from([0, 0, 0, 0]), Buffer.from([0, 0, 2, 0])],
    mutations: MESSAGE_MUTATIONS,
    maxBytes: 2_048,
    allowance: ({ length }) => BYTES_PER_BYTE * length,
    run: (input) => {
      const reader = new ControlFrameReader();
      const stream = input.subarray(1);
      const [first = 0] = input;
      const size = first === 0 ? stream.length : first;
      let isAccepted = false;
      for (let at = 0; at < stream.length; at += size) {
        reader.push(stream.subarray(at, at + size));
        for (let next = reader.next(); next !== 'unfinished'; next = reader.next()) {
          // Nothing is read after it.
          if (next === 'malformed') return isAccepted;
          isAccepted ||= next === CONTROL.ACCEPT;
        }
      }
      return isAccepted;
    },
  };
}
