import {
  type Corefile,
  directiveText,
  type FindImports,
  placeOf,
  readKey,
  resolveCorefile,
  type WrittenBlock,
} from '@kube-dns/node-cache/corefile';
import { DNSMASQ_FORWARD_MAX, REVERSE_ZONES, STOCK_SETUP, type DnsSetup } from '../dns-setup.js';
import { asInput } from '../corefile-input.js';
import { InputError } from '../input-error.js';
import type { Notes } from '../notes.js';
import type { ForwardPlan, PluginContext } from './plugin-context.js';
import { isPluginName, readPlugin } from './plugins.js';

const MISSING_IMPORT = 'it is not here: put its text in its place, or its file beside this one';

/** The defaults of CoreDNS. */
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
 * has no counterpart is named in the notes with its line; variables are those of `env`. Throws an InputError
 * for a text that is no Corefile and for a variable that is not set.
 */
export function fromCorefile(
  corefile: Corefile,
  env: NodeJS.ProcessEnv,
  notes: Notes,
  findImports: FindImports = () => [],
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
    kubernetes: '',
  };
  const zones = blocks.flatMap((block) => readBlock(block, context));
  const { draft } = context;
  if (context.kubernetes === '') {
    const what = 'the plugin kubernetes';
    notes.change(what, `it is nowhere; the pod serves ${draft.domain} nevertheless`);
  }
  applyForwards(zones, context);
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
  applyLimits(forwards, context);
  if (root !== undefined) {
    draft.upstreams = root.servers;
    draft.resolvFile = root.file;
    draft.asksInOrder = root.isSequential;
  }
  const stubDomains = new Map<string, readonly string[]>();
  for (const [zone, plan] of forwards) {
    if (plan === root) continue;
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
  const isCluster = (zone: string) => [draft.domain, '.', ...REVERSE_ZONES].includes(zone);
  for (const zone of zones) {
    if (!forwards.has(zone) && !isCluster(zone)) {
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
