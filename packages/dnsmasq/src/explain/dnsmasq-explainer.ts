import { createReadStream, openSync } from 'node:fs';
import type { Trace } from '@kube-dns/base';
import { READ_FLAGS } from '@kube-dns/daemon';
import type { Subscriptions } from '@kube-dns/push';
import {
  type CacheLook,
  cacheStep,
  dns64Steps,
  LOOKED_UP,
  type LoopDetector,
  outcomeStep,
  type Resolver,
  type ServerFacts,
  serverFactsText,
  skippedSteps,
} from '@kube-dns/resolver';
import {
  askTraced,
  type ExplainedAnswer,
  type ExplainedQuestion,
  type ExplainedStep,
  type Explanation,
  exchangeSteps,
  queryFor,
} from '@kube-dns/telemetry';
import { type Answerer, type ServerAddress, serverText } from '@kube-dns/transport';
import {
  decodeName,
  expandKey,
  expandRdata,
  MAX_MESSAGE_BYTES,
  MAX_NAME_BYTES,
  parseAddress,
  type Query,
  readUint16,
  reasonsOf,
  RecordCursor,
  ReplyOutline,
  ReverseAddress,
  SECTION,
  isInZone,
  TYPE,
  typeText,
} from '@kube-dns/wire';
import { CLIENT_IGNORED } from '../answer/local-service.js';
import { LOCAL_ANSWER, type LocalData, RULE_ANSWER } from '../local/local-data.js';
import { SynthNames } from '../local/synth-names.js';
import { type GivenOption, optionText } from '../options/given-options.js';
import type { DnsmasqOptions } from '../options/option-table.js';
import type { RuleDomains } from '../options/server-value.js';
import type { Router, RuleSource } from '../routing/router.js';
import type { Route, Routes } from '../routing/routes.js';
import { isOfCluster } from '../upstream/upstream-options.js';

export interface DnsmasqExplainerOptions {
  readonly options: DnsmasqOptions;
  readonly answerer: Answerer;
  readonly local: Pick<LocalData, 'origins'>;
  readonly resolver: Pick<Resolver, 'describeQuestion' | 'inspect' | 'nowMs'>;
  readonly router: Pick<Router, 'routes' | 'loops' | 'sources'>;
  readonly subscriptions: Pick<Subscriptions, 'rowOf' | 'hasAnnounced'>;
  readonly kubedns: ServerAddress | undefined;
}

/** The text of an Extended DNS Error comes after its code and length, and its own code. */
const REASON_TEXT_AT = 6;

/** A question that was asked, and what is known of it. */
interface Asked {
  readonly question: ExplainedQuestion;
  readonly query: Query;
  readonly trace: Trace;
  readonly look: CacheLook;
  /** The route of the name, and its servers as they were before. */
  readonly routed: ExplainedStep;
  readonly servers: readonly ServerFacts[];
  readonly verdict: ExplainedAnswer;
}

/**
 * Explains the answers of dnsmasq, in the order of its answering: the question is asked once, as a client asks, and what
 * decided noted in the trace what it did. Added are the route of the name and the state of its servers, which are looked
 * at before the question is asked; to look changes nothing.
 */
export async function explainAnswer(
  parts: DnsmasqExplainerOptions,
  question: ExplainedQuestion,
): Promise<Explanation> {
  const { answerer, resolver, router, subscriptions } = parts;
  const query = queryFor(question, false);
  const route = router.routes.find(query);
  const { servers, state } = resolver.describeQuestion(query);
  const { trace, answered } = askTraced(answerer, question);
  const entry = trace.first(LOOKED_UP);
  const subscription = entry && subscriptions.rowOf(entry.subscription);
  const look = { type: query.type, entry, subscription, stale: staleRule(parts), question: state };
  const routed = routeStepOf(parts, route, servers);
  const verdict = await answered;
  const outcome = outcomeStep(verdict, question.client, resolver.inspect(query));
  const steps = await stepsOf(parts, { question, query, trace, look, routed, servers, verdict });
  const made = dns64Steps(verdict, parts.options.dns64Prefix, query.type);
  steps.push(...made, outcome);
  return { program: 'dnsmasq', question: question.text, steps, verdict };
}

async function stepsOf(parts: DnsmasqExplainerOptions, asked: Asked): Promise<ExplainedStep[]> {
  const { resolver, options, local } = parts;
  const { query, trace, look, routed, servers } = asked;
  if (trace.first(CLIENT_IGNORED) !== undefined) return [clientStep(asked.question.client)];
  const localAnswer = trace.first(LOCAL_ANSWER);
  if (localAnswer !== undefined) {
    const origins = await recordOrigins(localAnswer, options, local);
    return [localStep(origins, readUint16(localAnswer, 6))];
  }
  const before = [NOT_LOCAL, ...filterSteps(parts, query), cacheStepOf(parts, look)];
  const rule = trace.first(RULE_ANSWER);
  if (rule !== undefined) return [...before, ruleStep(parts, query, rule)];
  if (isFiltered(asked.verdict)) return [...before, siblingStep(parts, query)];
  const exchanges = exchangeSteps(trace, resolver.nowMs);
  return [...before, routed, ...exchanges, ...skippedSteps(look.entry, servers, exchanges)];
}

/** What happens to expired answers. */
function staleRule(parts: DnsmasqExplainerOptions): CacheLook['stale'] {
  const { stale, maxStaleSeconds } = parts.options;
  if (stale !== undefined) return 'late';
  return maxStaleSeconds > 0 ? 'at once' : 'never';
}

function cacheStepOf(parts: DnsmasqExplainerOptions, look: CacheLook): ExplainedStep {
  if (parts.options.cacheSize > 0) return cacheStep(look);
  return { step: 'cache', text: 'There is no cache: --cache-size is 0.', state: 'off' };
}

function routeStepOf(
  parts: DnsmasqExplainerOptions,
  route: Route,
  servers: readonly ServerFacts[],
): ExplainedStep {
  const { router, kubedns, subscriptions } = parts;
  return routeStep({
    route,
    routes: router.routes,
    loops: router.loops,
    sources: router.sources.get(route.domain) ?? [],
    servers,
    isOfCluster: isOfCluster(route.group, kubedns, subscriptions),
  });
}

function filterSteps(parts: DnsmasqExplainerOptions, { type }: Query): ExplainedStep[] {
  const { filteredTypes, given } = parts.options;
  if (!filteredTypes.includes(type)) return [];
  const isFilter = ({ name }: { readonly name: string }) => /^filter-(?:A|AAAA|rr)$/.test(name);
  const origins = given.all.filter(isFilter).map(originOf);
  const from = origins.map(originText).join(', ');
  const text = `Records of type ${typeText(type)} are removed from the answers of servers: ${from}.`;
  return [{ step: 'filter', text, origins }];
}

/** The name of a filtered type exists, as the cache has an address of it. */
function siblingStep(parts: DnsmasqExplainerOptions, query: Query): ExplainedStep {
  const { resolver } = parts;
  const isThere = (each: number) => (resolver.inspect(query, each)?.state ?? 'gone') !== 'gone';
  const sibling = query.type === TYPE.A || !isThere(TYPE.A) ? TYPE.AAAA : TYPE.A;
  const text = `The cache has records of type ${typeText(sibling)}, so the name exists: no server is asked.`;
  return { step: 'rule', text, rule: 'filtered type', origins: [] };
}

function ruleStep(
  parts: DnsmasqExplainerOptions,
  query: Query,
  message: Uint8Array,
): ExplainedStep {
  const reasons = reasonsOf(message, new ReplyOutline().read(message));
  const reason = Buffer.from(reasons.subarray(REASON_TEXT_AT)).toString();
  const { text, origins } = answeringRule(reason, query, parts.options);
  const from = origins.length === 0 ? '' : `: ${origins.map(originText).join(', ')}`;
  return { step: 'rule', text: `${text}${from}.`, rule: reason, origins };
}

const NOT_LOCAL: ExplainedStep = {
  step: 'local',
  text: 'Neither hosts files nor options have records for it.',
};

/** Whether the answer is one of this program because of a filtered type. */
function isFiltered({ source, ede }: ExplainedAnswer): boolean {
  return source === 'local' && ede.some(({ text }) => text === 'filtered type');
}

function clientStep(client: string): ExplainedStep {
  const text = `${client} is in no network of this machine: with --local-service it gets no answer.`;
  return { step: 'client', text, client };
}

function localStep(origins: readonly RecordOrigin[], records: number): ExplainedStep {
  const from = origins.length === 0 ? 'the options' : origins.map(originText).join(' and ');
  const text =
    records === 0
      ? `${from} have the name, and a filter removes this type: no server is asked.`
      : `Local data answers it, from ${from}: no server is asked.`;
  return { step: 'local', text, records, origins };
}

/** A route as it is found for a name. */
interface RouteLook {
  readonly route: Route;
  readonly routes: Pick<Routes, 'defaultServers'>;
  readonly loops: Pick<LoopDetector, 'isLooping'>;
  /** The rules that it was made of. */
  readonly sources: readonly RuleSource[];
  /** Its servers as they are now. */
  readonly servers: readonly ServerFacts[];
  /** Whether they answer for the cluster. */
  readonly isOfCluster: boolean;
}

/** More rules than this are counted, not listed. */
const MAX_SOURCES = 10;

/** Which rule chose the servers of a name, and how these are. */
function routeStep(look: RouteLook): ExplainedStep {
  const { route, servers, sources, isOfCluster } = look;
  const looping = loopingServers(look);
  const texts = [domainText(route), sourcesText(sources)];
  if (servers.length > 0) texts.push(`Its servers: ${servers.map(serverFactsText).join(', ')}.`);
  else texts.push('It has no servers: nothing is asked.');
  if (looping.length > 0) {
    texts.push(`Not asked, as it forwards back to this server: ${looping.join(', ')}.`);
  }
  if (isOfCluster) {
    texts.push('That is the DNS of the cluster, kubedns: its own explanation tells the rest.');
  }
  return {
    step: 'route',
    text: texts.filter((text) => text !== '').join(' '),
    domain: route.domain,
    rules: sources.slice(0, MAX_SOURCES),
    servers,
    ...(looping.length > 0 && { looping }),
    isOfCluster,
  };
}

function domainText({ domain }: Route): string {
  if (domain === '.')
    return 'No rule names a domain that it is in: it goes to the default servers.';
  if (domain === '') return 'It is a name of one label, for which there is a rule.';
  if (domain.startsWith('*')) return `It matches the rule for ${domain}.`;
  return `The longest domain with a rule that it is in is ${domain}.`;
}

function sourcesText(sources: readonly RuleSource[]): string {
  if (sources.length === 0) return '';
  const shown = sources.slice(0, MAX_SOURCES).map(({ rule, place }) => `${rule} (${place})`);
  const more = sources.length - shown.length;
  return `It is from ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
}

function loopingServers({ route, routes, loops }: RouteLook): string[] {
  if (route.domain !== '.') return [];
  const looping = routes.defaultServers.filter(({ server }) => loops.isLooping(server));
  return looping.map(({ server }) => serverText(server));
}

/** A rule that answers without a server: in words, and the options that say so. */
interface AnsweringRule {
  readonly text: string;
  readonly origins: readonly RecordOrigin[];
}

/** The rule whose Extended DNS Error has this text: see explanations.ts. */
function answeringRule(reason: string, query: Query, options: DnsmasqOptions): AnsweringRule {
  const { given, synthDomains, addressRules, serverRules } = options;
  const named = (...names: readonly string[]) =>
    given.all.filter(({ name }) => names.includes(name)).map(originOf);
  switch (reason) {
    case 'filtered type':
      return {
        text: 'The name has an address, and records of this type are filtered',
        origins: named('filter-A', 'filter-AAAA', 'filter-rr'),
      };
    case '--synth-domain':
      return {
        text: 'The name is made of an address, or is that of one',
        origins: made(
          synthDomains.filter((one) => isMadeBy(new SynthNames([one]), query)),
          options,
        ),
      };
    case '--bogus-priv':
      return {
        text: 'It is the reverse name of a private address, which no server outside knows',
        origins: named('bogus-priv'),
      };
    case '--filterwin2k':
      return { text: 'Only old Windows asks such questions', origins: named('filterwin2k') };
    case '--domain-needed':
      return {
        text: 'A name of one label is not sent to servers',
        origins: named('domain-needed'),
      };
    case '--address':
      return {
        text: 'A rule gives the domain an address',
        origins: made(longest(addressRules, query), options),
      };
    default: {
      const local = serverRules.filter(({ target }) => target.kind === 'local');
      return {
        text: 'The domain is local: no server is asked for its names',
        origins: made(longest([...addressRules, ...local], query), options),
      };
    }
  }
}

function made(rules: readonly object[], { given }: DnsmasqOptions): RecordOrigin[] {
  const options = new Set<GivenOption>();
  for (const rule of rules) {
    const option = given.of(rule);
    if (option !== undefined) options.add(option);
  }
  return Array.from(options, originOf);
}

/** The rules with the longest domain that the name is in. */
function longest<T extends RuleDomains>(rules: readonly T[], query: Query): T[] {
  const lengths = rules.map((rule) => matchedBytes(rule, query));
  const most = Math.max(0, ...lengths);
  return rules.filter((_, i) => lengths[i] === most && most > 0);
}

function matchedBytes(
  { domains, wildcards = [], isUnqualified }: RuleDomains,
  query: Query,
): number {
  const { name, nameLength } = query;
  const isIn = (domain: Uint8Array) => isInZone(name, nameLength, domain);
  const plain = domains.filter(isIn).map(({ length }) => length);
  const wild = wildcards
    .filter(({ parent }) => isIn(parent))
    .map(({ labelEnd, parent }) => labelEnd.length + parent.length);
  return Math.max(0, isUnqualified === true ? 1 : 0, ...plain, ...wild);
}

function isMadeBy(synth: SynthNames, { name, nameLength, type }: Query): boolean {
  if (synth.hasName(name, nameLength)) return true;
  if (type !== TYPE.PTR && type !== TYPE.ANY) return false;
  const { size, isWhole, bytes } = new ReverseAddress().read(name, nameLength);
  return isWhole && synth.nameOf(bytes.subarray(0, size)) !== undefined;
}

/** Where a local record is from. */
type RecordOrigin =
  | { readonly kind: 'option'; readonly option: string; readonly place: string }
  | { readonly kind: 'file'; readonly file: string; readonly line: number | null };

/** More records than this are as the first ones. */
const MAX_RECORDS = 32;

interface LocalRecordSeen {
  readonly owner: Uint8Array;
  readonly type: number;
  readonly rdata: Uint8Array;
}

/** Where the records of a local answer are from, each place once. */
async function recordOrigins(
  message: Uint8Array,
  options: DnsmasqOptions,
  local: Pick<LocalData, 'origins'>,
): Promise<RecordOrigin[]> {
  const origins = new Map<string, RecordOrigin>();
  for (const record of recordsIn(message)) {
    const origin = (await fileOrigin(record, options, local)) ?? optionOrigin(record, options);
    if (origin !== undefined) origins.set(originText(origin), origin);
  }
  return [...origins.values()];
}

/** `/etc/hosts, line 3`, or `--cname=a.x,b.x of the command line`. */
function originText(origin: RecordOrigin): string {
  if (origin.kind === 'option') return `${origin.option} of ${origin.place}`;
  return origin.line === null ? origin.file : `${origin.file}, line ${origin.line}`;
}

/** An option as an origin. */
function originOf(given: GivenOption): RecordOrigin {
  return { kind: 'option', option: optionText(given), place: given.place };
}

function* recordsIn(message: Uint8Array): Generator<LocalRecordSeen> {
  const cursor = new RecordCursor().reset(message, message.length);
  const name = new Uint8Array(MAX_NAME_BYTES);
  const data = new Uint8Array(MAX_MESSAGE_BYTES);
  for (let left = MAX_RECORDS; left > 0 && cursor.next(); left--) {
    if (cursor.section !== SECTION.ANSWER) return;
    const { type, start, rdataStart, end } = cursor;
    const nameBytes = expandKey(message, start, message.length, name);
    const dataBytes = expandRdata(message, type, rdataStart, end, data, 0);
    if (nameBytes < 0 || dataBytes < 0) return;
    yield { owner: name.slice(0, nameBytes), type, rdata: data.slice(0, dataBytes) };
  }
}

async function fileOrigin(
  { owner, type, rdata }: LocalRecordSeen,
  { expandsHosts, domain }: DnsmasqOptions,
  { origins }: Pick<LocalData, 'origins'>,
): Promise<RecordOrigin | undefined> {
  const file = origins.fileOf(owner, type, rdata);
  if (file === undefined) return undefined;
  const isReverse = type === TYPE.PTR;
  const { size, bytes } = new ReverseAddress().read(owner, owner.length);
  const name = decodeName(isReverse ? rdata : owner).toLowerCase();
  const address = isReverse ? bytes.slice(0, size) : rdata;
  const line = await hostsLine(file, name, address, expandsHosts ? domain.toLowerCase() : '');
  return { kind: 'file', file, line: line ?? null };
}

function optionOrigin(seen: LocalRecordSeen, options: DnsmasqOptions): RecordOrigin | undefined {
  const { given, records, interfaceNames } = options;
  const isSame = (one: Uint8Array, other: Uint8Array) => Buffer.compare(one, other) === 0;
  const made =
    records.find(
      ({ owner, type, rdata }) =>
        type === seen.type && isSame(owner, seen.owner) && isSame(rdata, seen.rdata),
    ) ?? interfaceNames.find(({ name }) => isSame(name, seen.owner) || isSame(name, seen.rdata));
  const option = made === undefined ? undefined : given.of(made);
  if (option !== undefined) return originOf(option);
  const ofHosts = given.all.find(({ name }) => HOST_MX_OPTIONS.includes(name));
  return seen.type === TYPE.MX && ofHosts !== undefined ? originOf(ofHosts) : undefined;
}

/** What gives each host an MX record. */
const HOST_MX_OPTIONS = ['localmx', 'selfmx', 'mx-target', 'mx-host'];

/** As much of a file is searched; it may have a hundred thousand lines. */
const MAX_BYTES = 8 * 1024 * 1024;
const LAST_BYTE = MAX_BYTES - 1;

/**
 * The line of a hosts file, from 1, that gives a name (lower case, without the final dot) an address, as the file is now;
 * undefined where there is none. `domain` is the one of `--expand-hosts`, or empty.
 */
async function hostsLine(
  file: string,
  name: string,
  address: Uint8Array,
  domain: string,
): Promise<number | undefined> {
  const short =
    domain !== '' && name.endsWith(`.${domain}`) ? name.slice(0, -domain.length - 1) : name;
  const isIt = (text: string) => {
    const [first = '', ...names] = text.replace(/#.*/, '').toLowerCase().trim().split(/\s+/);
    const given = names.map((each) => each.replace(/\.$/, ''));
    if (!given.includes(name) && !given.includes(short)) return false;
    const bytes = parseAddress(first);
    return bytes !== undefined && Buffer.compare(bytes, address) === 0;
  };
  let count = 0;
  let rest = '';
  try {
    const fd = openSync(file, READ_FLAGS);
    const stream = createReadStream(file, { fd, encoding: 'latin1', end: LAST_BYTE });
    for await (const chunk of stream as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      const at = lines.findIndex(isIt);
      if (at >= 0) return count + at + 1;
      count += lines.length;
    }
  } catch {
    return undefined; // the file is gone, and what was read of it still answers
  }
  return isIt(rest) ? count + 1 : undefined;
}
