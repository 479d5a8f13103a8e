import type { Subscriptions } from '@kube-dns/push';
import {
  type CachedEntry,
  cacheStep,
  dns64Steps,
  LOOKED_UP,
  outcomeStep,
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
import type { Answerer, QuestionState } from '@kube-dns/transport';
import { decodeName, type Query, RCODE, RCODE_NAMES, typeText } from '@kube-dns/wire';
import { HOSTS_ANSWER } from './answer/hosts.js';
import type { ServedBlock } from './answer/served-block.js';
import { TEMPLATE_ANSWER } from './answer/templates.js';
import type { ForwardRules } from './corefile/server-block.js';
import type { ListenPoint, ListenPoints, ServedZone } from './listen/listen-points.js';

interface NodeCacheExplainerOptions {
  readonly points: ListenPoints;
  readonly subscriptions: Subscriptions;
  /** The Corefile that is obeyed. */
  readonly corefile: string;
}

/** Where a name is answered. */
interface ServedAt {
  readonly point: ListenPoint;
  readonly zone: ServedZone;
}

/** What led to an answer, and the answer. */
type Explained = Pick<Explanation, 'steps' | 'verdict'>;

/**
 * Explains the answers of node-cache, in the order of its answering: the question is asked once, as a client asks, and
 * what decided noted in the trace what it did. Added is the state of the servers, which are looked at before the
 * question is asked; to look changes nothing.
 */
export async function explainAnswer(
  options: NodeCacheExplainerOptions,
  question: ExplainedQuestion,
): Promise<Explanation> {
  const query = queryFor(question, false);
  const at = servedAt(options, query);
  const answerer = at?.point.answerer ?? options.points.all[0]?.answerer;
  const rewritten = at?.zone.block.rewritten(query);
  const asked = rewritten?.query ?? query;
  const { steps, verdict } = await (answerer === undefined
    ? { steps: [unservedStep(options)], verdict: NOT_LISTENING }
    : at === undefined
      ? explainRefused(options, answerer, question)
      : explainServed(options, question, asked, at, rewritten?.lines));
  const entry = at?.zone.block.resolver.inspect(asked);
  const outcome = outcomeStep(verdict, question.client, entry);
  const made = dns64Steps(verdict, at?.zone.block.block.dns64?.prefix, asked.type);
  const all = [...steps, ...made, outcome];
  return { program: 'node-cache', question: question.text, steps: all, verdict };
}

/** The longest zone that the name is in, at the first address that serves it. */
function servedAt(options: NodeCacheExplainerOptions, query: Query): ServedAt | undefined {
  const served = options.points.all.flatMap((point) => {
    const zone = point.answerer.zoneOf(query);
    return zone === undefined ? [] : [{ point, zone }];
  });
  const lengthOf = ({ zone: { zone } }: ServedAt) => (zone === '.' ? 0 : zone.length);
  return served.reduce<ServedAt | undefined>(
    (best, each) => (best === undefined || lengthOf(each) > lengthOf(best) ? each : best),
    undefined,
  );
}

function unservedStep(options: NodeCacheExplainerOptions): ExplainedStep {
  const { corefile } = options;
  const text = `No server block of ${corefile} has a zone that the name is in: it is refused.`;
  return { step: 'block', text, corefile, zone: null };
}

async function explainRefused(
  options: NodeCacheExplainerOptions,
  answerer: Answerer,
  question: ExplainedQuestion,
): Promise<Explained> {
  return {
    steps: [unservedStep(options)],
    verdict: await askTraced(answerer, question).answered,
  };
}

async function explainServed(
  options: NodeCacheExplainerOptions,
  question: ExplainedQuestion,
  query: Query,
  at: ServedAt,
  rewriteLines: readonly number[] | undefined,
): Promise<Explained> {
  const { block } = at.zone;
  const { resolver } = block;
  const { servers, state } = resolver.describeQuestion(query);
  const { trace, answered } = askTraced(at.point.answerer, question);
  const steps = [blockStep(options, at)];
  if (rewriteLines !== undefined) steps.push(rewriteStep(query, rewriteLines));
  const template = trace.first(TEMPLATE_ANSWER);
  if (template !== undefined) {
    return { steps: [...steps, templateStep(template)], verdict: await answered };
  }
  const hostsRcode = trace.first(HOSTS_ANSWER);
  if (block.block.hosts !== undefined) steps.push(hostsStep(block.block.hosts.file, hostsRcode));
  if (hostsRcode !== undefined) return { steps, verdict: await answered };
  const entry = trace.first(LOOKED_UP);
  steps.push(cacheStepOf(options, query, block, entry, state));
  const isForwarded = block.isForwarded(query);
  steps.push(forwardStep(block, servers, isForwarded));
  const verdict = await answered;
  const asked = exchangeSteps(trace, resolver.nowMs);
  const skipped = isForwarded ? skippedSteps(entry, servers, asked) : [];
  return { steps: [...steps, ...asked, ...skipped], verdict };
}

function blockStep(
  options: NodeCacheExplainerOptions,
  { point, zone: { zone, block } }: ServedAt,
): ExplainedStep {
  const { corefile } = options;
  const { line } = block.block;
  const why =
    zone === '.' ? 'no longer zone has the name' : 'its zone is the longest that the name is in';
  const at = `${point.address}, port ${point.port}`;
  return {
    step: 'block',
    text: `The server block for ${zone} (line ${line} of ${corefile}) answers it at ${at}: ${why}.`,
    zone,
    corefile,
    line,
    address: point.address,
    port: point.port,
  };
}

function cacheStepOf(
  options: NodeCacheExplainerOptions,
  query: Query,
  block: ServedBlock,
  entry: CachedEntry | undefined,
  question: QuestionState,
): ExplainedStep {
  const { subscriptions } = options;
  const rules = block.block.cache;
  if (rules === undefined) {
    return { step: 'cache', text: 'The block has no plugin cache.', state: 'off' };
  }
  const { stale } = rules;
  return cacheStep({
    type: query.type,
    entry,
    subscription: entry && subscriptions.rowOf(entry.subscription),
    stale: stale !== undefined && stale.verifyMs === undefined ? 'at once' : 'late',
    question,
  });
}

const NOT_LISTENING: ExplainedAnswer = {
  rcode: null,
  flags: [],
  answers: [],
  authorities: [],
  ede: [],
  source: 'none',
  server: null,
  ms: 0,
};

/** What is asked in place of the question, which all that follows is about. */
function rewriteStep({ name, nameLength, type }: Query, lines: readonly number[]): ExplainedStep {
  const asked = `${decodeName(name.subarray(0, nameLength))} ${typeText(type)}`;
  const where = lines.length === 1 ? `line ${lines[0]!}` : `lines ${lines.join(', ')}`;
  const text = `rewrite (${where}) is for it: ${asked} is asked, and what follows is about that.`;
  return { step: 'rewrite', text, asked, lines };
}

/** The answer of the plugin `template`. */
function templateStep({ line, rcode }: { line: number; rcode: number }): ExplainedStep {
  const answer = RCODE_NAMES[rcode] ?? `rcode ${rcode}`;
  const text = `template (line ${line}) makes the answer, ${answer}: no server is asked for it.`;
  return { step: 'template', text, line, rcode: answer };
}

/** What the plugin `hosts` did; `rcode` is that of its answer, if it gave one. */
function hostsStep(file: string, rcode: number | undefined): ExplainedStep {
  const facts = { step: 'hosts', file, isAnswered: rcode !== undefined };
  if (rcode === undefined)
    return { ...facts, text: `hosts (${file}) has not the name, and lets it through.` };
  const text =
    rcode === RCODE.SERVFAIL
      ? `hosts (${file}) has not the name, and has no fallthrough: SERVFAIL, no server is asked.`
      : `hosts (${file}) has the name: no server is asked.`;
  return { ...facts, text };
}

function forwardStep(
  { block: { forward }, isOfCluster }: ServedBlock,
  servers: readonly ServerFacts[],
  isForwarded: boolean,
): ExplainedStep {
  if (forward === undefined) {
    return { step: 'forward', text: 'The block has no plugin forward: SERVFAIL.', servers };
  }
  const { from, except, line, protocol } = forward;
  const facts = { step: 'forward', from, except, line, protocol, servers, isOfCluster };
  const plugin = `forward ${from} (line ${line})`;
  if (!isForwarded) {
    const why = except.length > 0 ? `${from}, except ${except.join(', ')}` : from;
    return { ...facts, text: `${plugin} is for names of ${why}, so not for this one: SERVFAIL.` };
  }
  if (servers.length === 0) {
    return { ...facts, text: `${plugin} has no servers now: nothing is asked.` };
  }
  const texts = [
    `${plugin} sends it to ${servers.map(serverFactsText).join(', ')}${wayText(forward)}.`,
  ];
  if (isOfCluster) {
    texts.push('That is the DNS of the cluster: the explanation of kube-dns tells the rest.');
  }
  return { ...facts, text: texts.join(' ') };
}

function wayText({ protocol }: ForwardRules): string {
  if (protocol === 'tcp') return ' over TCP (force_tcp)';
  return protocol === 'udp' ? ' over UDP (prefer_udp)' : '';
}
