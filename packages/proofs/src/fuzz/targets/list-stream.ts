import { ItemReader, StreamError } from '@kube-dns/kubedns/internal';
import type { FuzzTarget } from '../fuzz-target.js';
import { CLUSTER_OBJECTS } from './cluster-objects.js';
import { ClusterSink } from './cluster-sink.js';
import { chunksOf, JSON_TOKENS } from './stream-chunks.js';
import { textTarget } from './text-target.js';

/** The answer to a list of the Kubernetes API, from its bytes to the zone. */
export function createListStream(): FuzzTarget {
  const sink = new ClusterSink();
  const metadata = { resourceVersion: '12', continue: 'x' };
  const lists = Object.values(CLUSTER_OBJECTS).map((items) => ({ kind: 'List', metadata, items }));
  return textTarget({
    seeds: [
      ...lists.map((list) => JSON.stringify(list)),
      ...lists.map((list) => JSON.stringify(list, undefined, 1)),
      '{"kind":"Status","code":410}',
      '{"items":null,"metadata":{"resourceVersion":"1"}}',
    ],
    tokens: JSON_TOKENS,
    parse: (text) => {
      const reader = new ItemReader('List');
      try {
        for (const chunk of chunksOf(text)) for (const item of reader.push(chunk)) sink.put(item);
        reader.finish();
      } finally {
        sink.clear();
      }
      return true;
    },
    isRefusal: (error) => error instanceof StreamError,
  });
}
