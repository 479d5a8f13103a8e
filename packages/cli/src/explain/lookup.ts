import type { ExplainedStep, Explanation } from '@kube-dns/telemetry';
import type { V1Pod } from '@kubernetes/client-node';
import { askPage, type Reached } from './programs.js';

/** How a client's resolver makes names of what a program asks for: as `/etc/resolv.conf` says (resolv.conf(5)). */
interface SearchRules {
  /** Domains without a final dot. */
  readonly searches: readonly string[];
  readonly ndots: number;
}

/** Names that a resolver asks, in order, each with its final dot. */
export interface SearchPath {
  readonly candidates: readonly string[];
  /** Why these, and in this order. */
  readonly reason: 'absolute' | 'enough-dots' | 'searched' | 'no-searches';
}

/** The longest name in presentation form without its final dot (RFC 1035 section 2.3.4). */
const MAX_NAME_CHARACTERS = 253;

/**
 * The names that glibc's resolver asks (resolv/res_query.c): one with a final dot alone, one with at least `ndots` dots
 * first as it is, any other first with the search domains. Names that are too long are left out.
 */
export function searchPath(name: string, { searches, ndots }: SearchRules): SearchPath {
  const absolute = name.endsWith('.') ? name : `${name}.`;
  if (name.endsWith('.')) return { candidates: [absolute], reason: 'absolute' };
  const searched = searches
    .map((domain) => (domain === '.' || domain === '' ? absolute : `${name}.${domain}.`))
    .filter((candidate) => candidate.length - 1 <= MAX_NAME_CHARACTERS);
  if (searched.length === 0) return { candidates: [absolute], reason: 'no-searches' };
  const hasDots = name.split('.').length - 1 >= ndots;
  const candidates = hasDots ? [absolute, ...searched] : [...searched, absolute];
  return { candidates: [...new Set(candidates)], reason: hasDots ? 'enough-dots' : 'searched' };
}

/** What became of one candidate. */
type Outcome = 'answered' | 'no-data' | 'no-name' | 'failed';

/**
 * The candidate whose outcome a program sees: the one that is answered, else the first empty answer, else the first
 * failure, else the last one.
 */
export function decidingOutcome(outcomes: readonly Outcome[]): number {
  for (const wanted of ['answered', 'no-data', 'failed'] as const) {
    const at = outcomes.indexOf(wanted);
    if (at >= 0) return at;
  }
  return outcomes.length - 1;
}

/** Where musl differs from glibc: it ends at the first answer that is not NXDOMAIN, and does not search for a name with enough dots. */
export function muslNote(
  { candidates, reason }: SearchPath,
  outcomes: readonly Outcome[],
): string | undefined {
  const deciding = decidingOutcome(outcomes);
  if (reason === 'enough-dots' && deciding > 0 && outcomes[deciding] === 'answered') {
    return `musl (Alpine) does not try search domains for a name with that many dots: there the lookup ends with ${candidates[0]!}`;
  }
  const stop = outcomes.findIndex((outcome) => outcome !== 'no-name');
  if (stop < 0 || stop >= deciding) return undefined;
  const why = outcomes[stop] === 'no-data' ? 'an empty answer' : 'a failure';
  return `musl (Alpine) ends the lookup at ${candidates[stop]!} because of ${why}; glibc goes on`;
}

/** How a pod's resolver is set up. */
export interface PodResolver extends SearchRules {
  /** The pod's address, as the client of its questions. */
  readonly address: string | undefined;
  /** Sentences that say where the rules come from, and what is assumed. */
  readonly notes: readonly string[];
}

/** Of a pod with the policy ClusterFirst, as the kubelet writes it. */
const CLUSTER_NDOTS = 5;
/** resolv.conf(5). */
const DEFAULT_NDOTS = 1;
const NDOTS = /^\d{1,2}$/;

/** The resolver of a pod that is not read: as that of most pods. */
export function assumedResolver(namespace: string, domain: string): PodResolver {
  return {
    searches: clusterSearches(namespace, domain),
    ndots: CLUSTER_NDOTS,
    address: undefined,
    notes: [
      `A pod in the namespace ${namespace} is assumed to have dnsPolicy ClusterFirst without dnsConfig.`,
    ],
  };
}

/** The resolver of a pod, as the kubelet sets it up (pkg/kubelet/network/dns/dns.go, GetPodDNS). */
export function podResolver(pod: V1Pod, domain: string): PodResolver {
  const { metadata, spec, status } = pod;
  const namespace = metadata?.namespace ?? 'default';
  const given = spec?.dnsPolicy ?? 'ClusterFirst';
  const isOnHost = spec?.hostNetwork === true;
  const policy = given === 'ClusterFirst' && isOnHost ? 'Default' : given;
  const config = spec?.dnsConfig;
  const isCluster = policy === 'ClusterFirst' || policy === 'ClusterFirstWithHostNet';
  const own = config?.searches ?? [];
  const ndotsText = config?.options?.find(({ name }) => name === 'ndots')?.value ?? '';
  const notes = [
    `The pod ${namespace}/${metadata?.name ?? ''} has dnsPolicy ${given}${isOnHost && given === 'ClusterFirst' ? ' on the host’s network, which counts as Default' : ''}.`,
  ];
  if (policy === 'Default') {
    notes.push(
      'So it uses its node’s resolv.conf, which is not known here: it does not ask the DNS of the cluster unless the node does.',
    );
  }
  const servers = config?.nameservers ?? [];
  if (servers.length > 0) {
    const first = isCluster ? 'after the DNS of the cluster' : 'in place of the DNS of the cluster';
    notes.push(`Its dnsConfig has name servers, which it asks ${first}: ${servers.join(', ')}.`);
  }
  if (own.length > 0) notes.push(`Its dnsConfig adds the search domains ${own.join(', ')}.`);
  if (NDOTS.test(ndotsText)) notes.push(`Its dnsConfig sets ndots to ${ndotsText}.`);
  return {
    searches: [...(isCluster ? clusterSearches(namespace, domain) : []), ...own].map(withoutDot),
    ndots: NDOTS.test(ndotsText) ? Number(ndotsText) : isCluster ? CLUSTER_NDOTS : DEFAULT_NDOTS,
    address: status?.podIP,
    notes,
  };
}

function clusterSearches(namespace: string, domain: string): string[] {
  return [`${namespace}.svc.${domain}`, `svc.${domain}`, domain];
}

function withoutDot(domain: string): string {
  return domain.replace(/(?<=.)\.$/, '');
}

/** A name of the search path that was asked. */
export interface LookedUp {
  readonly name: string;
  readonly outcome: Outcome;
  /** What the program next to the client says. */
  readonly explanation: Explanation;
  /** What the program that answers it says: the last one that can be asked. */
  readonly behind: Explanation;
  /** What each program says, the one next to the client first. */
  readonly explanations: readonly Explanation[];
  /** Why there is no answer, in a sentence; empty when there is one. */
  readonly why: string;
}

/** What a resolver finds on its search path. */
export interface Lookup {
  readonly asked: readonly LookedUp[];
  /** The one whose outcome a program sees. */
  readonly deciding: LookedUp;
  /** The one that says most about why: without an answer it may be another, that does not exist. */
  readonly explained: LookedUp;
}

interface LookupOptions {
  readonly path: SearchPath;
  readonly type: string;
  readonly client: string | undefined;
  /** At least one. */
  readonly programs: readonly Reached[];
  /** How long a program waits for its servers, in ms; as long as it does unless this is given. */
  readonly limitMs?: number | undefined;
}

/** Steps that say why a name has no answer, the best first. */
const REASONS = ['absent', 'not-ready', 'left-out'];

/**
 * Asks the names of a search path in order, as glibc does: each program once for each name. A name without any answer is
 * the last one.
 */
export async function lookUp(options: LookupOptions): Promise<Lookup> {
  const { path, type, client, programs, limitMs } = options;
  const asked: LookedUp[] = [];
  for (const name of path.candidates) {
    const explanations: Explanation[] = [];
    // A program asks those behind it: these look at what they have before that question reaches them.
    for (const { port } of programs.toReversed()) {
      explanations.unshift(await askPage(port, name, type, client, limitMs));
    }
    const explanation = explanations[0]!;
    const behind = explanations.at(-1)!;
    const outcome = outcomeOf(explanation, type);
    const why = outcome === 'answered' ? '' : whyOf(behind);
    asked.push({ name, outcome, explanation, behind, explanations, why });
    // glibc goes on until one is answered, also after an empty answer and after a failure.
    // After silence the next name would cost the same time, and say no more.
    if (outcome === 'answered' || explanation.verdict.rcode === null) break;
  }
  const deciding = asked[decidingOutcome(asked.map(({ outcome }) => outcome))]!;
  const absent = asked.filter(({ outcome }) => outcome === 'no-name');
  const isEmpty = deciding.outcome === 'answered' || deciding.outcome === 'no-data';
  // A service that exists and fails, such as an ExternalName whose target has no server, says more than what is absent.
  const isOfService = stepOf(deciding, 'service') !== undefined;
  const explained = (isEmpty || isOfService ? undefined : mostTelling(absent, path)) ?? deciding;
  return { asked, deciding, explained };
}

/** What a resolver makes of an answer. */
function outcomeOf({ verdict }: Explanation, type: string): Outcome {
  const { rcode, answers } = verdict;
  if (rcode === 'NXDOMAIN') return 'no-name';
  if (rcode !== 'NOERROR') return 'failed';
  const hasRecord = answers.some((record) => type === 'ANY' || typeOf(record) === type);
  return hasRecord ? 'answered' : 'no-data';
}

/** The type of a record, `NAME TTL CLASS TYPE DATA`. */
export function typeOf(record: string): string {
  return record.split(' ', 4)[3] ?? '';
}

function whyOf({ steps, verdict }: Explanation): string {
  for (const reason of REASONS) {
    const found = steps.find(({ step }) => step === reason);
    if (found !== undefined) return found.text;
  }
  const outside = steps.filter(({ step, servers }) => step === 'server' || Array.isArray(servers));
  const last = outside.at(-1)?.text ?? verdict.ede[0]?.text ?? '';
  const external = steps.find(({ step, kind }) => step === 'name' && kind === 'cname');
  return external === undefined || outside.length === 0 ? last : `${external.text} ${last}`;
}

/**
 * Of names that do not exist, the one that says most about why: one of a service that exists, else one that lacks a
 * service in a namespace that was asked for, else one that is near to another name; undefined when there is none.
 */
function mostTelling(asked: readonly LookedUp[], { candidates }: SearchPath): LookedUp | undefined {
  return (
    asked.find((each) => stepOf(each, 'service') !== undefined) ??
    withoutService(asked, candidates.at(-1)!) ??
    asked.find((each) => stepOf(each, 'near') !== undefined)
  );
}

/** The names that one may have been meant to be, without those that were asked. */
export function nearNames({ asked, explained }: Lookup): string[] {
  const tried = new Set(asked.map(({ name }) => name.toLowerCase()));
  const names = explained.explanations
    .flatMap(({ steps }) => steps.filter(({ step }) => step === 'near'))
    .flatMap(({ names: near }): unknown[] => (Array.isArray(near) ? near : []));
  const texts = names.filter((name): name is string => typeof name === 'string');
  return [...new Set(texts)].filter((name) => !tried.has(name.toLowerCase()));
}

/** The step of a kind that the program that answers has. */
export function stepOf({ behind }: LookedUp, kind: string): ExplainedStep | undefined {
  return behind.steps.find(({ step }) => step === kind);
}

/** The one with the fewest labels before the service: others have a search domain after what was asked for. */
function withoutService(asked: readonly LookedUp[], last: string): LookedUp | undefined {
  const typed = last.toLowerCase().split('.');
  const found = asked.flatMap((each) => {
    const absent = stepOf(each, 'absent');
    if (absent?.missing !== 'service') return [];
    const { namespace, labelsBelow } = absent;
    const isAskedFor = typeof namespace === 'string' && typed.includes(namespace);
    return labelsBelow === 0 || isAskedFor ? [{ each, below: Number(labelsBelow) }] : [];
  });
  return found.toSorted((one, other) => one.below - other.below)[0]?.each;
}

/** The Extended DNS Error of a failure that is remembered (RFC 8914). */
export const CACHED_ERROR = 13;

/**
 * Where the answer of the program at `at` is a remembered failure: what the program behind it said that remembers it,
 * when it had not failed before explain itself asked it.
 */
export function ownFailure(
  explanations: readonly Explanation[],
  at: number,
): Explanation | undefined {
  for (const [i, explanation] of explanations.slice(at).entries()) {
    const { ede, rcode, source } = explanation.verdict;
    if (!ede.some(({ code }) => code === CACHED_ERROR)) {
      return i > 0 && rcode === 'SERVFAIL' ? explanation : undefined;
    }
    if (source === 'cache') return undefined;
  }
  return undefined;
}
