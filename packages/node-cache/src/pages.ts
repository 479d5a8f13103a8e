import type { LocalPage, StatusSource } from '@kube-dns/daemon';
import { explainPage } from '@kube-dns/telemetry';
import { NodeCacheExplainer } from './explain/node-cache-explainer.js';
import { nodeCacheStatus, type NodeCacheStatusParts } from './node-cache-status.js';
import type { NodeCacheServer } from './server.js';

export interface PagesParts extends NodeCacheStatusParts {
  readonly server: NodeCacheServer;
  readonly statusPages: (source: StatusSource) => ReadonlyMap<string, LocalPage>;
}

/** The pages for this machine alone, by path. */
export function localPagesOf(parts: PagesParts): ReadonlyMap<string, LocalPage> {
  const { server, corefile, statusPages } = parts;
  const { points, subscriptions } = server;
  const explainer = new NodeCacheExplainer({ points, subscriptions, corefile });
  const page = explainPage((asked) => explainer.explain(asked));
  return new Map([['/explain', page], ...statusPages(nodeCacheStatus(parts))]);
}
