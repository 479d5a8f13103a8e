import { REVERSE_ZONES, STOCK_SETUP, type DnsSetup } from '../dns-setup.js';
import type { Notes } from '../notes.js';
import { directiveText, type Corefile, type Directive, type ServerBlock } from './corefile.js';
import type { ForwardPlan, PluginContext } from './plugin-context.js';
import { readPlugin } from './plugins.js';
import { readKey } from './zone-key.js';

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
 * has no counterpart is named in the notes with its line; variables are those of `env`.
 */
export function fromCorefile(corefile: Corefile, env: NodeJS.ProcessEnv, notes: Notes): DnsSetup {
  for (const { args, line } of corefile.imports) {
    const what = `line ${line}: import ${args.join(' ')}`;
    notes.lose(what, 'imports are not followed: put the text in its place');
  }
  const context: PluginContext = {
    draft: { ...EMPTY },
    notes,
    forwards: new Map(),
    filters: [],
    logs: new Set(),
    caches: new Map(),
    kubernetes: '',
  };
  const blocks = corefile.blocks.filter((block) => !isSnippet(block, notes));
  const zones = blocks.flatMap((block) => readBlock(block, env, context));
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

/** Reads a block for each of its zones, and returns them. */
function readBlock(block: ServerBlock, env: NodeJS.ProcessEnv, context: PluginContext): string[] {
  const { notes, draft } = context;
  const zones = block.keys.flatMap((key) => {
    const read = readKey(expand(key, env, `line ${block.line}: ${key}`, notes));
    if (typeof read === 'string') {
      notes.lose(`line ${block.line}: server block ${key}`, read);
      return [];
    }
    if (read.zone === '.' || context.forwards.size === 0) draft.port = read.port;
    else if (read.port !== draft.port) {
      notes.change(`line ${block.line}: ${key}`, `all domains are on port ${draft.port}`);
    }
    return [read.zone];
  });
  for (const zone of zones) {
    for (const each of block.directives) readPlugin(expanded(each, env, notes), zone, context);
  }
  return zones;
}

function isSnippet({ keys, line }: ServerBlock, notes: Notes): boolean {
  const [name = ''] = keys;
  if (!/^\(.*\)$/.test(name)) return false;
  notes.lose(`line ${line}: snippet ${name}`, 'snippets are not read: put it where it is imported');
  return true;
}

function expanded(each: Directive, env: NodeJS.ProcessEnv, notes: Notes): Directive {
  const what = `line ${each.line}: ${directiveText(each)}`;
  return {
    ...each,
    name: expand(each.name, env, what, notes),
    args: each.args.map((word) => expand(word, env, what, notes)),
    block: each.block?.map((option) => expanded(option, env, notes)),
  };
}

/** `{$NAME}` and `{%NAME%}`; CoreDNS takes a variable that is not set for an empty one. */
function expand(text: string, env: NodeJS.ProcessEnv, what: string, notes: Notes): string {
  return text.replace(/\{\$(\w+)\}|\{%(\w+)%\}/g, (match, unix?: string, windows?: string) => {
    const name = unix ?? windows ?? '';
    const value = env[name];
    if (value === undefined) notes.lose(what, `the variable ${name} is not set here`);
    return value ?? match;
  });
}

function applyForwards(zones: readonly string[], { draft, forwards, notes }: PluginContext): void {
  const root = forwards.get('.');
  if (root !== undefined) {
    draft.upstreams = root.servers;
    draft.resolvFile = root.file;
    draft.forwardMax = root.maxConcurrent === 1000 ? undefined : root.maxConcurrent;
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
    if (root !== undefined && plan.maxConcurrent !== root.maxConcurrent) {
      notes.change(`max_concurrent in ${zone}`, 'one limit holds for every domain');
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
