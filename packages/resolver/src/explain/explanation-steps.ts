import type { SubscriptionRow } from '@kube-dns/push';
import type { QuestionState } from '@kube-dns/transport';
import { OPTION_HEAD_BYTES, RCODE_NAMES, TYPE, typeText } from '@kube-dns/wire';
import type { CachedEntry } from '../cache/answer-cache.js';
import { dns64Reason } from '../dns64/dns64.js';
import type { Nat64Prefix } from '../dns64/nat64-prefix.js';
import type { ServerFacts } from '../status/server-facts.js';

/** What is known of a question before it is asked. */
export interface CacheLook {
  readonly type: number;
  readonly entry: CachedEntry | undefined;
  /** That of the server that announces when the entry changes. */
  readonly subscription: SubscriptionRow | undefined;
  /** What happens to expired answers: given while no server replies, given at once, or not at all. */
  readonly stale: 'late' | 'at once' | 'never';
  readonly question: QuestionState;
}

/** The answer that a client got. */
export interface ExplainedOutcome {
  readonly rcode: string | null;
  readonly ede: readonly { readonly code: number; readonly text: string }[];
  readonly source: string;
  readonly server: string | null;
}

/** A step of an explanation. */
interface Step {
  readonly step: string;
  readonly text: string;
  readonly [fact: string]: unknown;
}

/** A code comes before the text of an Extended DNS Error. */
const CODE_BYTES = 2;

/** What the cache has for a question, as a sentence and as facts. */
export function cacheStep(look: CacheLook): Step {
  const { entry, subscription, question } = look;
  const texts = [entry === undefined ? 'The cache has no answer for it.' : entryText(entry, look)];
  if (entry !== undefined && subscription !== undefined) {
    texts.push(subscriptionText(entry, subscription));
  }
  if (entry?.isPrefetched === true) texts.push('A newer answer has been asked for already.');
  if (entry?.triedAtMs !== undefined && entry.triedAtMs !== 0 && entry.expiredSeconds > 0) {
    texts.push('It was asked for again since, in vain.');
  }
  const { failure, isInFlight } = question;
  const reason = failure && reasonText(failure.option);
  if (failure !== undefined) {
    texts.push(
      `No server could answer it a moment ago (${reason}): until a second has passed it is not asked again.`,
    );
  }
  if (isInFlight) texts.push('It is in flight to servers for another client.');
  return {
    step: 'cache',
    text: texts.join(' '),
    state: entry?.state ?? 'none',
    ...(entry !== undefined && entryFacts(entry)),
    ...(subscription !== undefined && subscriptionFacts(subscription)),
    ...(failure !== undefined && { failedBefore: reason, failureCode: failure.code }),
    isInFlight,
  };
}

/** Where the answer to a client came from, and whether it is cached: `entry` is what the cache has now. */
export function outcomeStep(
  answer: ExplainedOutcome,
  client: string,
  entry: CachedEntry | undefined,
): Step {
  const { source, server, rcode, ede } = answer;
  const texts = [`Asked as a client at ${client} would: ${sourceText(answer)}`];
  const isAsked = source === 'upstream' || source === 'joined';
  const isCached = hasAnswer(entry);
  if (isAsked && isCached) {
    texts.push(`The cache has its answer now, for ${Math.ceil(entry.secondsLeft)} s.`);
  } else if (isAsked) texts.push('It is not cached.');
  const reasons = ede.map(({ code, text }) =>
    text === '' ? `EDE ${code}` : `EDE ${code}, ${text}`,
  );
  if (reasons.length > 0) texts.push(`The answer says why: ${reasons.join('; ')}.`);
  return { step: 'outcome', text: texts.join(' '), source, server, rcode, isCached };
}

/** What a DNS64 with this prefix has made of the answer of other questions; none where it has made nothing. */
export function dns64Steps(
  { ede }: Pick<ExplainedOutcome, 'ede'>,
  prefix: Nat64Prefix | undefined,
  type: number,
): Step[] {
  if (prefix === undefined || !ede.some(({ text }) => text === dns64Reason(prefix))) return [];
  const text =
    type === TYPE.PTR
      ? `The address is below ${prefix.text}, so the answer is that for the IPv4 address in it (DNS64).`
      : `The name has no AAAA records: those of the answer are its A records below ${prefix.text} (DNS64).`;
  return [{ step: 'dns64', text, prefix: prefix.text }];
}

/** Whether a client gets it without a question to servers. */
function hasAnswer(entry: CachedEntry | undefined): entry is CachedEntry {
  return entry?.state === 'fresh' || entry?.state === 'pinned';
}

/** The servers that were not asked, and why, if `entry` was no answer; `asked` are the steps of the others. */
export function skippedSteps(
  entry: CachedEntry | undefined,
  servers: readonly ServerFacts[],
  asked: readonly Readonly<Record<string, unknown>>[],
): Step[] {
  if (hasAnswer(entry)) return [];
  const names = new Set(asked.map(({ server }) => server));
  const preferred = servers.find(({ isPreferred }) => isPreferred)?.server;
  return servers
    .filter(({ server }) => !names.has(server))
    .flatMap(({ server, state, reason, downSeconds }) => {
      if (state === 'down') {
        const since = `it has been down for ${downSeconds ?? 0} s (${reason ?? ''})`;
        return [{ step: 'skipped', text: `${server} was not asked: ${since}.`, server, reason }];
      }
      if (preferred === undefined || asked.length === 0) return [];
      const text = `${server} was not asked: ${preferred} is preferred.`;
      return [{ step: 'skipped', text, server, reason: 'preferred' }];
    });
}

function entryText(entry: CachedEntry, { type, stale }: CacheLook): string {
  const { state, ageSeconds, secondsLeft, expiredSeconds, staleSecondsLeft } = entry;
  const from = entry.isRestored ? ' from the snapshot' : '';
  const what = `${contentText(entry, type)}${from}`;
  const age = `stored ${secondsText(ageSeconds)} ago`;
  switch (state) {
    case 'fresh':
      return `The cache has ${what}, ${age}; ${Math.ceil(secondsLeft)} s of its TTL are left.`;
    case 'pinned':
      return `The cache has ${what}, ${age}: its TTL is over, and it is kept.`;
    case 'expired': {
      const rule =
        stale === 'at once'
          ? 'Clients get it at once while it is asked for again'
          : 'Clients get it if no server replies in time';
      return (
        `The cache has ${what}, ${age}, which expired ${secondsText(expiredSeconds)} ago. ` +
        `${rule}, for ${secondsText(staleSecondsLeft)} more.`
      );
    }
    case 'gone':
      return `The cache had ${what}, ${age}; it expired ${secondsText(expiredSeconds)} ago, and no client gets it.`;
  }
}

function contentText({ isNxdomain, isNegative, cnames, records }: CachedEntry, type: number) {
  if (isNxdomain) return 'a negative answer: the name does not exist (NXDOMAIN)';
  if (isNegative)
    return `a negative answer: the name has no records of type ${typeText(type)} (NODATA)`;
  const set = `${records} ${typeText(type)} record${records === 1 ? '' : 's'}`;
  if (cnames === 0) return set;
  return `${cnames === 1 ? 'a CNAME' : `${cnames} CNAMEs`} and ${set}`;
}

function entryFacts(entry: CachedEntry) {
  const { rcode, ageSeconds, lifetimeSeconds, secondsLeft, expiredSeconds } = entry;
  return {
    rcode: RCODE_NAMES[rcode] ?? `RCODE${rcode}`,
    isNegative: entry.isNegative,
    records: entry.cnames + entry.records,
    ageSeconds: whole(ageSeconds),
    ttlSeconds: whole(lifetimeSeconds),
    // As the TTL that a client gets is rounded.
    secondsLeft: Math.max(0, Math.ceil(secondsLeft)),
    ...(expiredSeconds > 0 && {
      expiredSeconds: whole(expiredSeconds),
      staleSecondsLeft: whole(entry.staleSecondsLeft),
    }),
    hits: entry.hits ?? null,
    isPrefetched: entry.isPrefetched,
    ...(entry.isRestored && { isRestored: true }),
  };
}

function subscriptionText({ state, secondsLeft }: CachedEntry, row: SubscriptionRow): string {
  const zones = row.zones.join(', ');
  if (row.state === 'live') {
    const until =
      state === 'pinned' || secondsLeft > 0 ? 'until then it is right' : 'it is not kept';
    return `${row.server} announces what changes in ${zones} (serial ${row.serial ?? 0}); ${until}.`;
  }
  return `${row.server} announced what changes in ${zones}, and does not now (${row.reason}): it expires by its TTL.`;
}

function subscriptionFacts({ server, zones, state, serial }: SubscriptionRow) {
  return { subscription: { server, zones, state, serial: serial ?? null } };
}

/** The text of an Extended DNS Error. */
function reasonText(option: Uint8Array): string {
  return (
    Buffer.from(option.subarray(OPTION_HEAD_BYTES + CODE_BYTES)).toString() || 'no reason given'
  );
}

function secondsText(seconds: number): string {
  return seconds < 1 ? 'less than a second' : `${whole(seconds)} s`;
}

function whole(seconds: number): number {
  return Math.floor(seconds);
}

function sourceText({ source, server, rcode }: ExplainedOutcome): string {
  switch (source) {
    case 'none':
      return 'it gets no answer.';
    case 'local':
      return 'it is answered here.';
    case 'cache':
      return rcode === 'SERVFAIL'
        ? 'it gets the failure of a moment ago.'
        : 'it gets the cached answer.';
    case 'stale':
      return 'it gets the expired answer.';
    case 'joined':
      return `it joined the question of another client${server === null ? '' : `, which ${server} answered`}.`;
    default:
      return server === null
        ? `no server answered, so it gets ${rcode ?? 'nothing'}.`
        : `${server} answered.`;
  }
}
