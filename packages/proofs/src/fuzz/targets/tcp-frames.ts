import { frameMessage, FrameReader } from '@kube-dns/transport';
import { Query, SAFE_UDP_BYTES } from '@kube-dns/wire';
import { queriesFor } from '../dns-seeds.js';
import type { FuzzTarget } from '../fuzz-target.js';
import { MESSAGE_MUTATIONS } from '../message-mutations.js';

/** In front of the stream: how many bytes come at a time, 0 for all of them. */
const CHUNKS = [0, 1, 2, 3, 7, 100, 255];
const MAX_BYTES = 4_096;
/** Of a stream that comes byte by byte each byte is a chunk, which has its views. */
const BYTES_PER_BYTE = 256;

/**
 * A TCP stream, cut into pieces whose size is its first byte, and read to its end.
 * Each message is read as a query.
 */
export function createFramesTarget(): FuzzTarget {
  const query = new Query();
  const frames = [...queriesFor('a.example.com', 'A'), ...queriesFor('b', 'SRV')].map((message) =>
    frameMessage(message),
  );
  const bodies = [...frames, Buffer.concat(frames), frameMessage(Buffer.alloc(MAX_BYTES - 10, 1))];
  return {
    seeds: bodies.flatMap((body) => CHUNKS.map((size) => Buffer.from([size, ...body]))),
    tokens: [...frames, Buffer.from([0, 0]), Buffer.from([0xff, 0xff])],
    mutations: MESSAGE_MUTATIONS,
    maxBytes: MAX_BYTES,
    allowance: ({ length }) => BYTES_PER_BYTE * length,
    run: (input) => {
      const reader = new FrameReader();
      const stream = input.subarray(1);
      const [first = 0] = input;
      const size = first === 0 ? stream.length : first;
      let isAccepted = false;
      for (let at = 0; at < stream.length; at += size) {
        reader.push(stream.subarray(at, at + size));
        for (let message = reader.next(); message !== undefined; message = reader.next()) {
          const verdict = query.read(message, message.length, true, SAFE_UDP_BYTES);
          isAccepted ||= verdict === 'answer';
        }
      }
      return isAccepted;
    },
  };
}
