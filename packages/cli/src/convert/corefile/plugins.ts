import { type Directive, directiveText } from '@kube-dns/node-cache/corefile';
import { readCache, secondsOf } from './cache-directive.js';
import { readForward } from './forward-plugin.js';
import { readKubernetes } from './kubernetes-plugin.js';
import { readHosts, readTemplate } from './local-plugins.js';
import { change, lose, wholeNumber, type PluginContext } from './plugin-context.js';

/** Plugins of CoreDNS 1.14 (plugin.cfg), and those of older releases. */
const PLUGINS = new Set(
  (
    'root metadata geoip cancel proxyproto quic grpc_server https https3 timeouts multisocket reload nsid ' +
    'bufsize bind debug trace ready health pprof shed prometheus errors log dnstap local dns64 any chaos ' +
    'loadbalance tsig rewrite autopath acl cache header dnssec tls minimal template transfer hosts route53 ' +
    'azure clouddns k8s_external kubernetes file auto secondary etcd loop forward grpc erratic whoami on ' +
    'sign view nomad proxy federation kubernetai'
  ).split(' '),
);

/** Whether CoreDNS has, or had, a plugin with this name. */
export function isPluginName(name: string): boolean {
  return PLUGINS.has(name);
}

/** Reads one directive of a zone's server block; none is ignored without a note. */
export function readPlugin(plugin: Directive, zone: string, context: PluginContext): void {
  const { draft } = context;
  const { name, args, block = [] } = plugin;
  switch (name) {
    case 'kubernetes':
      readKubernetes(plugin, zone, context);
      return;
    case 'forward':
    case 'proxy':
      readForward(plugin, zone, context);
      return;
    case 'cache':
      readCacheOf(plugin, zone, context);
      return;
    case 'hosts':
      readHosts(plugin, zone, context);
      return;
    case 'template':
      readTemplate(plugin, zone, context);
      return;
    case 'health':
      readHealth(plugin, zone, context);
      return;
    case 'prometheus':
      if ((args[0] ?? ':9153') !== ':9153') change(context, plugin, zone, METRICS);
      return;
    case 'ready':
      if ((args[0] ?? ':8181') !== ':8181')
        change(context, plugin, zone, 'the pod is ready at :8081');
      return;
    case 'errors':
    case 'reload':
      // The containers log what fails, and apply a ConfigMap when it changes.
      if (block.length > 0) change(context, plugin, zone, 'kube-dns has no settings for this');
      return;
    case 'loop':
      draft.detectsLoops = true;
      return;
    case 'loadbalance':
      draft.turnsRecords = true;
      if ((args[0] ?? 'round_robin') !== 'round_robin' || block.length > 0) {
        lose(context, plugin, zone, 'dnsmasq rotates records and has no weights');
      }
      return;
    case 'log':
      draft.logsQueries = true;
      context.logs.add(zone);
      if (args.length + block.length > 0) {
        change(context, plugin, zone, 'dnsmasq logs every query in its own form');
      }
      return;
    case 'bufsize': {
      const bytes = wholeNumber(args[0] ?? '1232');
      if (bytes === undefined) lose(context, plugin, zone, 'not a number');
      else draft.maxUdpBytes = bytes;
      return;
    }
    case 'pprof':
      draft.isProfiled = true;
      return;
    default:
      lose(context, plugin, zone, 'kube-dns has nothing like it');
  }
}

const METRICS = 'the pod has its metrics at :10054 and :10055';

function readCacheOf(plugin: Directive, zone: string, context: PluginContext): void {
  const { draft, caches } = context;
  const text = cacheText(plugin);
  const isRepeated = [...caches.values()].includes(text);
  caches.set(zone, text);
  // Of several, that for all names holds; which of them comes first does not matter.
  if (zone !== '.' && caches.size > 1) return;
  const noted: typeof lose = isRepeated ? () => undefined : lose;
  readCache(plugin, draft, {
    lose: (each, reason) => noted(context, each, zone, reason),
    change: (each, reason) => change(context, each, zone, reason),
  });
}

function cacheText({ args, block = [] }: Directive): string {
  return [args.join(' '), ...block.map(directiveText)].join('; ');
}

function readHealth(plugin: Directive, zone: string, context: PluginContext): void {
  if ((plugin.args[0] ?? ':8080') !== ':8080') {
    change(context, plugin, zone, 'the sidecar says at :10054 whether the pod is well');
  }
  for (const option of plugin.block ?? []) {
    const seconds = secondsOf(option.args[0] ?? '');
    if (option.name === 'lameduck' && seconds !== undefined) context.draft.drainSeconds = seconds;
    else lose(context, option, zone, 'kube-dns has nothing like it');
  }
}
