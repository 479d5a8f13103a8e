import { isIP } from 'node:net';
import { errorText, isWithin, nearest } from '@kube-dns/base';
import { isDnsSubdomain } from '@kube-dns/daemon';
import {
  directiveText,
  parseNat64Prefix,
  placeOf,
  readKey,
  resolveCorefile,
  WELL_KNOWN_PREFIX,
  type Corefile,
  type Directive,
  type FindImports,
  type WrittenBlock,
  CorefileError,
} from '@kube-dns/node-cache/corefile';
import { InputError } from '../../manifests/objects.js';
import {
  ALL_NETWORKS,
  DNSMASQ_FORWARD_MAX,
  isNamedServer,
  plainDomain,
  plainServer,
  REVERSE_ZONES,
  serverHost,
  STOCK_SETUP,
  type DnsSetup,
  type HostsEntry,
  type SetupDraft,
  type Notes,
} from '../dns-setup.js';
import { readCache, secondsOf } from './cache-directive.js';
import { serverOfTarget } from './encrypted-targets.js';

const MISSING_IMPORT = 'it is not here: put its text in its place, or its file beside this one';

const EMPTY: DnsSetup = {
  ...STOCK_SETUP,
  reverseZones: [],
  resolvFile: '',
  cacheSize: 0,
  detectsLoops: false,
  turnsRecords: false,
  drainSeconds: 0,
};

/**
 * The setup of a kube-dns pod that answers as CoreDNS with this Corefile. Each directive or option that
 * has no counterpart is named in the notes with its line; variables are those of `env`, and `findFile` has the hosts files
 * that are in the ConfigMap of the Corefile. Throws an InputError
 * for a text that is no Corefile and for a variable that is not set.
 */
export function fromCorefile(
  corefile: Corefile,
  env: NodeJS.ProcessEnv,
  notes: Notes,
  findImports: FindImports = () => [],
  findFile: FindImports = () => [],
): DnsSetup {
  const blocks = asInput(() =>
    resolveCorefile(corefile, env, findImports, (each) => {
      notes.lose(`${placeOf(each)}: ${directiveText(each)}`, MISSING_IMPORT);
    }),
  );
  checkPlugins(blocks, corefile.file);
  const context: PluginContext = {
    draft: { ...EMPTY },
    notes,
    forwards: new Map(),
    filters: [],
    logs: new Set(),
    caches: new Map(),
    transfers: [],
    kubernetes: '',
    kubernetesBlocks: new Set(),
    findFile,
  };
  const zones = blocks.flatMap((block) => readBlock(block, context));
  const { draft } = context;
  if (context.kubernetes === '') {
    const what = 'the plugin kubernetes';
    notes.change(what, `it is nowhere; the pod serves ${draft.domain} nevertheless`);
  }
  applyForwards(zones, context);
  for (const { plugin, zone } of context.transfers) readTransfer(plugin, zone, context);
  const rootFilters = context.filters.filter(({ zone }) => zone === '.');
  draft.filteredTypes = rootFilters.map(({ type }) => type);
  for (const { zone, type } of context.filters) {
    if (!draft.filteredTypes.includes(type)) {
      notes.lose(`template IN ${type} in ${zone}`, 'dnsmasq leaves a type out of all answers');
    }
  }
  compareCaches(context);
  if (context.logs.size > 0 && !context.logs.has('.')) {
    notes.change(
      `log in ${[...context.logs].join(' ')}`,
      'dnsmasq logs the queries of all domains',
    );
  }
  return draft;
}

/** Any text is words on lines: what makes it a Corefile are the plugins. */
function checkPlugins(blocks: readonly WrittenBlock[], file: string): void {
  const plugins = blocks.flatMap(({ directives }) => directives);
  if (!plugins.some(({ name }) => isPluginName(name))) {
    throw new InputError(`${file}: this is no Corefile: there is no plugin of CoreDNS in it`);
  }
  const stray = plugins.find(({ name }) => !/^[a-z][a-z0-9_-]*$/.test(name));
  if (stray !== undefined) {
    throw new InputError(`${file}: ${placeOf(stray)}: ${stray.name} is no plugin of CoreDNS`);
  }
}

/** Reads a block for each of its zones, and returns them. */
function readBlock(block: WrittenBlock, context: PluginContext): string[] {
  const { notes, draft } = context;
  const view = block.directives.find(({ name }) => name === 'view');
  if (view !== undefined) {
    // Without its condition, what the block says would hold for every query.
    const reason = `it is for the queries of the view ${view.args.join(' ')} alone`;
    for (const each of block.directives) {
      lose(context, each, block.keys.join(' '), each === view ? 'kube-dns has no views' : reason);
    }
    return [];
  }
  const zones = block.keys.flatMap((key) => {
    const read = readKey(key);
    if (typeof read === 'string') {
      notes.lose(`${placeOf(block)}: server block ${key}`, read);
      return [];
    }
    if (read.zone === '.' || context.forwards.size === 0) draft.port = read.port;
    else if (read.port !== draft.port) {
      notes.change(`${placeOf(block)}: ${key}`, `all domains are on port ${draft.port}`);
    }
    return [read.zone];
  });
  for (const zone of zones) {
    for (const each of block.directives) readPlugin(each, zone, context);
  }
  return zones;
}

function applyForwards(zones: readonly string[], context: PluginContext): void {
  const { draft, forwards, notes } = context;
  const root = forwards.get('.');
  const isOfCluster = (zone: string) => zone === draft.domain || REVERSE_ZONES.includes(zone);
  applyLimits(forwards, context);
  if (root !== undefined) {
    draft.upstreams = root.servers;
    draft.resolvFile = root.file;
    draft.asksInOrder = root.isSequential;
  }
  const stubDomains = new Map<string, readonly string[]>();
  for (const [zone, plan] of forwards) {
    if (plan === root) continue;
    if (context.kubernetes === '' && isOfCluster(zone)) {
      notes.lose(
        `forward ${plan.servers.join(' ')} in ${zone}`,
        'the pod answers these names itself; node-cache takes a Corefile of NodeLocal DNSCache as it is',
      );
      if (zone !== draft.domain) draft.reverseZones = [...draft.reverseZones, zone];
      continue;
    }
    if (root !== undefined && sameServers(plan, root)) {
      draft.upstreamDomains = [...draft.upstreamDomains, zone];
    } else if (plan.servers.length > 0) stubDomains.set(zone, plan.servers);
    if (plan.file !== '' && plan.file !== root?.file) {
      notes.lose(`forward ${plan.file} in ${zone}`, 'a domain has servers, not a file of them');
    }
    if (root !== undefined && plan.isSequential !== root.isSequential) {
      notes.change(`policy in ${zone}`, 'one policy holds for every domain');
    }
  }
  draft.stubDomains = stubDomains;
  const isAnswered = (zone: string) =>
    zone === '.' || isOfCluster(zone) || draft.emptyDomains.includes(zone);
  for (const zone of zones) {
    if (!forwards.has(zone) && !isAnswered(zone) && !draft.addresses.has(zone)) {
      notes.lose(`server block ${zone}`, 'it has no servers: its names go upstream');
    }
  }
}

/** dnsmasq has one limit: that of all names, or the largest. */
function applyLimits(
  forwards: ReadonlyMap<string, ForwardPlan>,
  { draft, notes }: PluginContext,
): void {
  const limits = [...forwards.values()].flatMap(({ maxConcurrent = 0 }) =>
    maxConcurrent > 0 ? maxConcurrent : [],
  );
  if (limits.length === 0) return;
  const ofRoot = forwards.get('.')?.maxConcurrent ?? 0;
  const limit = ofRoot > 0 ? ofRoot : Math.max(...limits);
  draft.forwardMax = limit === DNSMASQ_FORWARD_MAX ? undefined : limit;
  for (const [zone, { maxConcurrent }] of forwards) {
    if (maxConcurrent !== limit) {
      const what = maxConcurrent === undefined ? 'no max_concurrent' : 'max_concurrent';
      notes.change(`${what} in ${zone}`, `one limit, ${limit}, holds for every domain`);
    }
  }
}

function sameServers(left: ForwardPlan, right: ForwardPlan): boolean {
  return left.file === right.file && left.servers.join() === right.servers.join();
}

/** dnsmasq has one cache: that of the block for all names. */
function compareCaches({ caches, draft, notes }: PluginContext): void {
  const root = caches.get('.') ?? caches.get(draft.domain);
  for (const [zone, text] of caches) {
    if (text !== root) notes.change(`cache in ${zone}`, 'one cache holds the names of all domains');
  }
}

interface ForwardPlan {
  readonly servers: readonly string[];
  /** A file in the form of resolv.conf; empty for none. */
  readonly file: string;
  readonly maxConcurrent: number | undefined;
  readonly isSequential: boolean;
}

/** What was read from the blocks of a Corefile so far. */
interface PluginContext {
  readonly draft: SetupDraft;
  readonly notes: Notes;
  /** By the forwarded zone. */
  readonly forwards: Map<string, ForwardPlan>;
  /** Templates without an answer, by their zone. */
  readonly filters: { readonly zone: string; readonly type: 'A' | 'AAAA' }[];
  /** The zones whose queries are logged. */
  readonly logs: Set<string>;
  /** By zone, as text: dnsmasq has one. */
  readonly caches: Map<string, string>;
  /** With the zone of their block. */
  readonly transfers: { readonly plugin: Directive; readonly zone: string }[];
  /** The zones of the blocks with the plugin kubernetes. */
  readonly kubernetesBlocks: Set<string>;
  /** The files beside the Corefile in its volume, by their path. */
  readonly findFile: FindImports;
  /** The text of the directive `kubernetes`; empty before there was one. */
  kubernetes: string;
}

/** Notes that a directive, or an option of one, has no counterpart. */
function lose({ notes }: PluginContext, each: Directive, zone: string, why: string): void {
  notes.lose(named(each, zone), why);
}

/** Notes that a directive, or an option of one, has another meaning in the pod. */
function change({ notes }: PluginContext, each: Directive, zone: string, why: string): void {
  notes.change(named(each, zone), why);
}

function named(each: Directive, zone: string): string {
  return `${placeOf(each)}: ${directiveText(each)} (in ${zone})`;
}

/** A number of a directive; undefined for any other word. */
function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

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

/** The plugins that CoreDNS has, or had. */
export const COREDNS_PLUGINS: ReadonlySet<string> = PLUGINS;

/** Whether CoreDNS has, or had, a plugin with this name. */
export function isPluginName(name: string): boolean {
  return PLUGINS.has(name);
}

/** Reads one directive of a zone's server block; none is ignored without a note. */
function readPlugin(plugin: Directive, zone: string, context: PluginContext): void {
  const { draft } = context;
  const { name, args, block = [] } = plugin;
  if (SIMPLE_PLUGINS.has(name)) {
    for (const option of block) lose(context, option, zone, 'kube-dns has nothing like it');
  }
  switch (name) {
    case 'kubernetes':
      context.kubernetesBlocks.add(zone);
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
    case 'k8s_external':
      readExternal(plugin, zone, context);
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
      if (args.length + block.length > 0) {
        change(context, plugin, zone, 'kube-dns has no settings for this');
      }
      return;
    case 'loop':
      draft.detectsLoops = true;
      if (args.length > 0) lose(context, plugin, zone, 'kube-dns has no settings for this');
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
    case 'dns64':
      readDns64(plugin, zone, context);
      return;
    case 'transfer':
      context.transfers.push({ plugin, zone });
      return;
    case 'pprof':
      draft.isProfiled = true;
      if (args.length > 0) change(context, plugin, zone, 'kubedns has it at its port of metrics');
      return;
    default:
      lose(context, plugin, zone, whyNot(plugin));
  }
}

function whyNot({ name, args }: Directive): string {
  if (!isPluginName(name)) {
    const near = nearest(name, PLUGINS);
    return `CoreDNS has no plugin of this name${near === undefined ? '' : `; did you mean ${near}?`}`;
  }
  return name === 'rewrite' && !args.includes('edns0')
    ? 'kube-dns has nothing like it, but node-cache, in front of it'
    : 'kube-dns has nothing like it';
}

/** Those without options here. */
const SIMPLE_PLUGINS: ReadonlySet<string> = new Set([
  'prometheus',
  'ready',
  'loop',
  'bufsize',
  'pprof',
]);

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

/** kubedns has one such zone, with the TTL of all records. */
function readExternal(plugin: Directive, zone: string, context: PluginContext): void {
  const [domain = '', ...others] = plugin.args.map(plainDomain);
  const { draft } = context;
  if (!isDnsSubdomain(domain) || others.length > 0 || draft.externalDomain !== '') {
    lose(context, plugin, zone, 'kubedns has one zone of --external-domain');
    return;
  }
  draft.externalDomain = domain;
  for (const option of plugin.block ?? []) {
    lose(context, option, zone, 'kubedns has nothing like it');
  }
}

/**
 * `transfer [ZONES…] { to ADDRESS… }`: kubedns has one rule for all its zones, so that of another plugin's zone would disclose the
 * cluster to its secondaries.
 */
function readTransfer(plugin: Directive, zone: string, context: PluginContext): void {
  const { draft, kubernetesBlocks } = context;
  const zones = (plugin.args.length === 0 ? [zone] : plugin.args).map(plainDomain);
  const isOfCluster = zones.some((each) => isWithin(draft.domain, each));
  if (!kubernetesBlocks.has(zone) || !isOfCluster) {
    lose(context, plugin, zone, 'kubedns transfers the zones of the cluster alone');
    return;
  }
  const own = new Set(draft.transferTo);
  for (const option of plugin.block ?? []) {
    if (option.name !== 'to') {
      lose(context, option, zone, 'kubedns has nothing like it');
      continue;
    }
    for (const target of option.args) {
      const server = target === '*' ? target : plainServer(target);
      if (server === '*') {
        for (const network of ALL_NETWORKS) own.add(network);
        change(context, option, zone, 'every address may transfer the zones; none gets a NOTIFY');
      } else if (server === undefined || isIP(serverHost(server)) === 0) {
        lose(context, option, zone, `${target} is no address`);
      } else {
        own.add(serverHost(server));
        if (serverHost(server) !== server)
          change(context, option, zone, `${server} gets a NOTIFY at its port with --notify alone`);
      }
    }
  }
  draft.transferTo = [...own];
  if (own.size === 0) return;
  const port = 'secondaries ask kubedns, at port 10053 of each pod';
  change(context, plugin, zone, `${port}; one rule holds for all its zones`);
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

const NOTHING_LIKE_IT = 'dnsmasq has nothing like it';

/** Reads `forward FROM TO… { … }` of a zone; `proxy` of the oldest Corefiles is the same. */
function readForward(plugin: Directive, zone: string, context: PluginContext): void {
  const [from = '.', ...targets] = plugin.args;
  const domain = plainDomain(from) === '.' ? zone : plainDomain(from);
  if (context.forwards.has(domain)) {
    lose(context, plugin, zone, `there is another forward for ${domain}`);
    return;
  }
  const options = plugin.block ?? [];
  const tlsName = options.find(({ name }) => name === 'tls_servername')?.args[0] ?? '';
  let file = '';
  const servers: string[] = [];
  for (const target of targets) {
    const server = serverOfTarget(target, tlsName);
    if (target.startsWith('/')) {
      if (file !== '') lose(context, plugin, zone, `dnsmasq reads one file, not ${target}, too`);
      else file = target;
    } else if (server === undefined) {
      lose(context, plugin, zone, `${target} is no server that dnsmasq can ask`);
    } else {
      if (isNamedServer(server)) {
        const certificate = server.includes('://') ? ', and its certificate must have a name' : '';
        const what = `${server} is a name: its address is looked up again and again`;
        change(context, plugin, zone, `${what}${certificate}`);
      }
      servers.push(server);
    }
  }
  for (const option of options) readForwardOption(option, zone, context);
  const limit = options.find(({ name }) => name === 'max_concurrent')?.args[0];
  context.forwards.set(domain, {
    servers,
    file,
    maxConcurrent: wholeNumber(limit),
    isSequential: options.some(({ name, args }) => name === 'policy' && args[0] === 'sequential'),
  });
}

function readForwardOption(option: Directive, zone: string, context: PluginContext): void {
  const [first = ''] = option.args;
  switch (option.name) {
    case 'max_concurrent':
      if (wholeNumber(first) === undefined) lose(context, option, zone, 'not a number');
      else if (Number(first) === 0) change(context, option, zone, 'dnsmasq always has a limit');
      return;
    case 'policy':
      if (first !== 'sequential')
        change(context, option, zone, 'dnsmasq prefers who answers first');
      return;
    case 'prefer_udp':
      return; // what dnsmasq does
    case 'tls_servername':
      return; // it is with each server
    case 'tls':
      readTls(option, zone, context);
      return;
    default:
      lose(context, option, zone, NOTHING_LIKE_IT);
  }
}

/** `tls`, `tls CA`, `tls CERT KEY` or `tls CERT KEY CA`. */
function readTls(option: Directive, zone: string, context: PluginContext): void {
  const { draft } = context;
  const { args } = option;
  if (args.length > 1) {
    lose(context, option, zone, 'dnsmasq has no certificate of its own for servers');
  }
  const ca = args.length % 2 === 1 ? args.at(-1)! : '';
  if (ca === '' || ca === draft.tlsCa) return;
  if (draft.tlsCa !== '') lose(context, option, zone, `all servers have one --tls-ca`);
  else {
    draft.tlsCa = ca;
    change(context, option, zone, 'the containers kubedns and dnsmasq need this file');
  }
}

const NOT_IN_KUBEDNS = 'kubedns has nothing like it';
/** The default `ttl` of CoreDNS. */
const KUBERNETES_TTL = 5;

/** Reads `kubernetes [ZONES…] { … }`: the domain, its reverse zones and what kubedns has flags for. */
function readKubernetes(plugin: Directive, zone: string, context: PluginContext): void {
  const { draft } = context;
  const zones = (plugin.args.length === 0 ? [zone] : plugin.args).flatMap((arg) => {
    const key = readKey(arg);
    return typeof key === 'string' ? plainDomain(arg) : key.zone;
  });
  const options = plugin.block ?? [];
  const imported = options.flatMap(({ name, args }) =>
    name === 'multicluster' ? args.map(plainDomain) : [],
  );
  const [domain, ...others] = zones.filter(
    (each) => !each.endsWith('.arpa') && !imported.includes(each),
  );
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
  const text = ['kubernetes', ...options.filter(isOfKubedns).map(directiveText)].join('; ');
  if (!isFirst && text !== context.kubernetes) {
    lose(context, plugin, zone, 'kubedns serves all of the cluster in one way');
  }
  for (const option of options) {
    if (option.name === 'multicluster') readMulticluster(option, zone, zones, context);
  }
  if (!isFirst) return;
  context.kubernetes = text;
  draft.recordTtl = KUBERNETES_TTL;
  for (const option of options) readKubernetesOption(option, zone, reverse, context);
}

/** `fallthrough` depends on the zone of a name, and `multicluster` on the zones of the block. */
function isOfKubedns({ name }: Directive): boolean {
  return name !== 'fallthrough' && name !== 'multicluster';
}

const IMPORTS =
  'kubedns also reads ServiceImports of v1beta1 and answers names of endpoints of clusters with a dot, dns-version is 1.0.0; ' +
  'it needs the role of the component clusterset';

/** `multicluster [ZONES…]`, of the zones of its plugin: without one it does nothing. */
function readMulticluster(
  option: Directive,
  zone: string,
  zones: readonly string[],
  context: PluginContext,
): void {
  const { draft } = context;
  for (const domain of option.args.map(plainDomain)) {
    const isOther = draft.clustersetDomain !== '' && draft.clustersetDomain !== domain;
    if (isOther) lose(context, option, zone, 'kubedns has one zone of --clusterset-domain');
    else if (!isDnsSubdomain(domain) || !zones.includes(domain)) {
      lose(context, option, zone, `${domain} is not a zone of this kubernetes`);
    } else {
      if (draft.clustersetDomain === '') change(context, option, zone, IMPORTS);
      draft.clustersetDomain = domain;
    }
  }
}

function readKubernetesOption(
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
    case 'zonal':
      draft.isZonal = true;
      return;
    case 'fallthrough': {
      // Both sides forward reverse names outside the cluster.
      const others = args.map(plainDomain).filter((each) => !reverse.includes(each));
      if (args.length === 0 || others.length > 0) {
        lose(context, option, zone, 'names of the domain end in kubedns');
      }
      return;
    }
    case 'multicluster':
      return; // see above
    case 'upstream':
      return; // without meaning since CoreDNS 1.7
    default:
      lose(context, option, zone, NOT_IN_KUBEDNS);
  }
}

/** The default `ttl` of the plugin hosts. */
const HOSTS_TTL = 3600;
const ANSWER = /^\{\{ ?\.Name ?\}\}\s+(\d{1,9})\s+IN\s+(A|AAAA)\s+(\S+)$/;

/** Reads `hosts [FILE [ZONES…]] { … }` into host records and a hosts file. */
function readHosts(plugin: Directive, zone: string, context: PluginContext): void {
  const { draft } = context;
  const [file = '', ...zones] = plugin.args;
  const options = plugin.block ?? [];
  if (zones.length > 0) change(context, plugin, zone, 'dnsmasq serves the file for every domain');
  if (file !== '' && draft.hostsFile !== '' && draft.hostsFile !== file) {
    lose(context, plugin, zone, 'one hosts file is carried over');
  } else if (file !== '') readHostsFile(plugin, file, zone, context);
  if (!options.some(({ name }) => name === 'fallthrough')) {
    change(context, plugin, zone, 'names that are not in it go on to the servers');
  }
  const ttl = options.find(({ name }) => name === 'ttl');
  draft.localTtl = wholeNumber(ttl?.args[0]) ?? HOSTS_TTL;
  if (ttl !== undefined && wholeNumber(ttl.args[0]) === undefined) {
    lose(context, ttl, zone, 'not a number');
  }
  for (const option of options) {
    const { name, args } = option;
    const entry = hostsEntry([name, ...args]);
    if (entry !== undefined) draft.hosts = [...draft.hosts, entry];
    else if (name === 'fallthrough' ? args.length > 0 : name !== 'ttl') {
      lose(context, option, zone, 'dnsmasq has nothing like it');
    }
  }
}

/** More lines are no arguments of a program. */
const MAX_FILE_HOSTS = 500;

/** A hosts file that is a key of the ConfigMap becomes host records; the pod has no other file of CoreDNS. */
function readHostsFile(
  plugin: Directive,
  path: string,
  zone: string,
  context: PluginContext,
): void {
  const { draft, findFile } = context;
  const found = findFile(path);
  const lines = found.flatMap(({ text }) => text.split('\n'));
  const entries = lines.flatMap((line) => hostsEntry(line.replace(/#.*/, '').trim().split(/\s+/)) ?? []); // prettier-ignore
  if (found.length === 0 || entries.length > MAX_FILE_HOSTS) {
    draft.hostsFile = path;
    lose(
      context,
      plugin,
      zone,
      `mount ${path} into the container dnsmasq: the pod has no such file`,
    );
    return;
  }
  draft.hosts = [...draft.hosts, ...entries];
  change(context, plugin, zone, `the lines of ${path} are arguments: later lines are not here`);
}

/** An address and its names; undefined for any other line. */
function hostsEntry([address = '', ...names]: readonly string[]): HostsEntry | undefined {
  if (isIP(address) === 0 || names.length === 0) return undefined;
  return { address, names: names.map(plainDomain) };
}

/** `dns64`: dnsmasq has one prefix, for all names outside of the cluster and all clients. */
function readDns64(plugin: Directive, zone: string, context: PluginContext): void {
  const { draft } = context;
  const options = plugin.block ?? [];
  const isFirst = draft.dns64 === '';
  const given = options.find(({ name }) => name === 'prefix')?.args ?? plugin.args;
  try {
    draft.dns64 = parseNat64Prefix(given[0] ?? WELL_KNOWN_PREFIX).text;
  } catch (error) {
    lose(context, plugin, zone, errorText(error));
    return;
  }
  if (zone !== '.' && isFirst)
    change(context, plugin, zone, 'dnsmasq makes addresses for all domains');
  if (options.some(({ name }) => name === 'translate_all')) {
    lose(context, plugin, zone, 'names with AAAA records have those: see --filter-AAAA');
  }
  if (isFirst && !options.some(({ name }) => name === 'allow_ipv4')) {
    change(context, plugin, zone, 'clients that ask over IPv4 get such addresses, too');
  }
}

const TEMPLATES =
  'dnsmasq gives a domain fixed addresses, or none of its names; node-cache, in front of it, has templates';

/** Reads the `template`s that correspond to `--address`, `--local` and `--filter-AAAA`. */
function readTemplate(plugin: Directive, zone: string, context: PluginContext): void {
  const { draft } = context;
  const [dnsClass = '', type = '', ...zones] = plugin.args;
  const options = plugin.block ?? [];
  const isOfNames = ['IN', 'ANY'].includes(dnsClass);
  const domains = (zones.length === 0 ? [zone] : zones).map(plainDomain);
  const [option, ...others] = options;
  if (isOfNames && option?.name === 'rcode' && others.length === 0) {
    if (option.args[0] === 'NXDOMAIN' && type === 'ANY' && !domains.includes('.')) {
      draft.emptyDomains = [...draft.emptyDomains, ...domains];
      return;
    }
    if (option.args[0] === 'NOERROR' && (type === 'A' || type === 'AAAA')) {
      if (domains.join() === zone) {
        context.filters.push({ zone, type });
        return;
      }
    }
  }
  const answers = options.map(({ name, args }) =>
    name === 'answer' && args.length === 1 ? ANSWER.exec(args[0] ?? '') : null,
  );
  const isPlain = answers.length > 0 && answers.every((each) => each?.[2] === type);
  if (!isOfNames || !isPlain) {
    lose(context, plugin, zone, TEMPLATES);
    return;
  }
  const addresses = answers.map((each) => each?.[3] ?? '');
  draft.localTtl = Number(answers[0]?.[1] ?? 0);
  draft.addresses = new Map([
    ...draft.addresses,
    ...domains.map((each) => [each, [...(draft.addresses.get(each) ?? []), ...addresses]] as const),
  ]);
}

/** Reads a Corefile that is the input of a conversion: its CorefileError becomes an InputError. */
export function asInput<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof CorefileError) throw new InputError(error.message, { cause: error });
    throw error;
  }
}
