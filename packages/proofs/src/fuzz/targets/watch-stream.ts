import {
  ApiError,
  LineReader,
  parseRetryAfter,
  readEvent,
  StreamError,
} from '@kube-dns/kubedns/internal';
import type { FuzzTarget } from '../fuzz-target.js';
import { CLUSTER_OBJECTS } from './cluster-objects.js';
import { ClusterSink } from './cluster-sink.js';
import { chunksOf, JSON_TOKENS } from './stream-chunks.js';
import { textTarget } from './text-target.js';

/** The events of a watch of the Kubernetes API, from their bytes to the zone. */
export function createWatchStream(): FuzzTarget {
  const sink = new ClusterSink();
  const objects = Object.values(CLUSTER_OBJECTS).flat();
  const events = objects.map((object) => JSON.stringify({ type: 'ADDED', object }));
  const bookmark = { type: 'BOOKMARK', object: { metadata: { resourceVersion: '13' } } };
  return textTarget({
    seeds: [
      ...events.map((event) => `${event}\n`),
      `${events.slice(0, 3).join('\n')}\n`,
      `${events[0]}\n${events[0]!.replace('ADDED', 'DELETED')}\n`,
      `${JSON.stringify(bookmark)}\n`,
      '{"type":"ERROR","object":{"code":410,"message":"gone","details":{"retryAfterSeconds":1}}}\n',
      'Sat, 21 Nov 2026 10:00:00 GMT',
    ],
    tokens: JSON_TOKENS,
    parse: (text) => {
      const lines = new LineReader();
      parseRetryAfter(text, () => 0);
      let isAccepted = false;
      try {
        for (const chunk of chunksOf(text)) {
          for (const line of lines.push(chunk)) {
            const event = readEvent(line);
            isAccepted ||= event !== undefined;
            if (event?.type === 'DELETED') sink.delete(event.object);
            else if (event !== undefined && event.type !== 'BOOKMARK') sink.put(event.object);
          }
        }
      } finally {
        sink.clear();
      }
      return isAccepted;
    },
    isRefusal: (error) => error instanceof StreamError || error instanceof ApiError,
  });
}
