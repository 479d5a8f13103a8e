import { type Directive, directiveText, readKey } from '@kube-dns/node-cache/corefile';
import { plainDomain, REVERSE_ZONES } from '../dns-setup.js';
import { change, lose, type PluginContext } from './plugin-context.js';

const NOTHING_LIKE_IT = 'kubedns has nothing like it';
/** The default `ttl` of CoreDNS. */
const DEFAULT_TTL = 5;

/** Reads `kubernetes [ZONES…] { … }`: the domain, its reverse zones and what kubedns has flags for. */
export function readKubernetes(plugin: Directive, zone: string, context: PluginContext): void {
  const { draft } = context;
  const zones = (plugin.args.length === 0 ? [zone] : plugin.args).flatMap((arg) => {
    const key = readKey(arg);
    return typeof key === 'string' ? plainDomain(arg) : key.zone;
  });
  const [domain, ...others] = zones.filter((each) => !each.endsWith('.arpa'));
  const isFirst = context.kubernetes === '';
  if (domain !== undefined) {
    if (isFirst || domain === draft.domain) draft.domain = domain;
    else others.unshift(domain);
  }
  for (const other of others)
    lose(context, plugin, zone, `kubedns serves one domain, not ${other}`);
  const reverse = zones.filter((each) => each.endsWith('.arpa'));
  for (const each of reverse.filter((name) => !REVERSE_ZONES.includes(name))) {
    change(
      context,
      plugin,
      zone,
      `all of its family is looked for in the cluster, not ${each} alone`,
    );
  }
  draft.reverseZones = REVERSE_ZONES.filter(
    (each) => draft.reverseZones.includes(each) || reverse.some((name) => name.endsWith(each)),
  );
  const options = plugin.block ?? [];
  const text = ['kubernetes', ...options.filter(isOfKubedns).map(directiveText)].join('; ');
  if (!isFirst && text !== context.kubernetes) {
    lose(context, plugin, zone, 'kubedns serves all of the cluster in one way');
  }
  if (!isFirst) return;
  context.kubernetes = text;
  draft.recordTtl = DEFAULT_TTL;
  for (const option of options) readOption(option, zone, reverse, context);
}

/** `fallthrough` depends on the zone of a name. */
function isOfKubedns({ name }: Directive): boolean {
  return name !== 'fallthrough';
}

function readOption(
  option: Directive,
  zone: string,
  reverse: readonly string[],
  context: PluginContext,
): void {
  const { draft } = context;
  const { name, args } = option;
  const [first = ''] = args;
  switch (name) {
    case 'pods':
      draft.pods = first === 'disabled' ? 'disabled' : 'insecure';
      if (first === 'verified') lose(context, option, zone, 'kubedns does not look for the pods');
      return;
    case 'ttl':
      if (/^\d{1,9}$/.test(first)) draft.recordTtl = Number(first);
      else lose(context, option, zone, 'not a number');
      return;
    case 'endpoint':
      draft.masterUrl = first;
      return;
    case 'kubeconfig':
      draft.kubeconfig = first;
      if (args.length > 1) lose(context, option, zone, 'the current context is used');
      return;
    case 'endpoint_pod_names':
      draft.namesEndpointsByPod = true;
      return;
    case 'fallthrough': {
      // Both sides forward reverse names outside the cluster.
      const others = args.map(plainDomain).filter((each) => !reverse.includes(each));
      if (args.length === 0 || others.length > 0) {
        lose(context, option, zone, 'names of the domain end in kubedns');
      }
      return;
    }
    case 'upstream':
      return; // without meaning since CoreDNS 1.7
    default:
      lose(context, option, zone, NOTHING_LIKE_IT);
  }
}
