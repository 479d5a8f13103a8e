import type { ReadPlugin } from './block-draft.js';
import { readBind } from './plugins/bind.js';
import { readCache } from './plugins/cache.js';
import { readErrors } from './plugins/errors.js';
import { readForward } from './plugins/forward.js';
import { readHosts } from './plugins/hosts.js';
import { readHealth, readPrometheus, readReady } from './plugins/http.js';
import { readLog } from './plugins/log.js';
import {
  checkDebug,
  checkMetadata,
  checkReload,
  readBufsize,
  readLoadbalance,
  readLoop,
} from './plugins/small.js';

interface Plugin {
  readonly read: ReadPlugin;
  /** Whether a block may have several. */
  readonly isRepeated?: boolean;
}

/** The plugins that are obeyed, or change nothing here. */
export const PLUGINS: ReadonlyMap<string, Plugin> = new Map<string, Plugin>([
  ['bind', { read: readBind, isRepeated: true }],
  ['bufsize', { read: readBufsize }],
  ['cache', { read: readCache }],
  ['debug', { read: checkDebug, isRepeated: true }],
  ['errors', { read: readErrors }],
  ['forward', { read: readForward, isRepeated: true }],
  ['health', { read: readHealth, isRepeated: true }],
  ['hosts', { read: readHosts }],
  ['loadbalance', { read: readLoadbalance }],
  ['log', { read: readLog, isRepeated: true }],
  ['loop', { read: readLoop }],
  ['metadata', { read: checkMetadata }],
  ['prometheus', { read: readPrometheus }],
  ['ready', { read: readReady }],
  ['reload', { read: checkReload, isRepeated: true }],
]);

/** The other plugins of node-cache and CoreDNS: why each is refused, and what to do. */
export const REFUSED: ReadonlyMap<string, string> = new Map([
  ['acl', 'clients are not filtered: use a NetworkPolicy'],
  ['any', 'leave it out: ANY is forwarded'],
  ['autopath', 'it needs to watch pods: give them fewer search domains, or a name a last dot'],
  ['dns64', 'no addresses are made: use it in the DNS that is forwarded to'],
  ['dnstap', 'no traffic is copied: use log'],
  ['kubernetes', 'the cluster is not watched on each node: forward to its DNS'],
  ['minimal', 'answers are passed on as they are: leave it out'],
  ['nsid', 'leave it out: no name of the server is given'],
  ['pprof', 'it profiles Go: leave it out'],
  ['rewrite', 'names are not changed: use it in the DNS that is forwarded to'],
  ['root', 'leave it out: write paths from /'],
  ['template', 'no answers are made: use it in the DNS that is forwarded to, or hosts'],
  ['timeouts', 'the time-outs of TCP are fixed: leave it out'],
  ['tls', 'only plain DNS is served: leave it out'],
  ['trace', 'no spans are sent: leave it out'],
  ['view', 'clients are not distinguished: write one block for each zone'],
  ['whoami', 'it is for tests of CoreDNS: leave it out'],
]);

/** What `-plugins` prints: the plugins that are obeyed, one a line. */
export function pluginsText(): string {
  return [...PLUGINS.keys()].map((name) => `${name}\n`).join('');
}
