import type { Subscriptions } from '@kube-dns/push';
import {
  type CachedEntry,
  cacheStep,
  outcomeStep,
  type ServerFacts,
  serverFacts,
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
import { MAX_MESSAGE_BYTES, type Query, RCODE, RCODE_MASK, readUint16 } from '@kube-dns/wire';
import type { ServedBlock } from './answer/served-block.js';
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

/** What is known before the question is asked. */
interface Before {
  readonly steps: readonly ExplainedStep[];
  readonly servers: readonly ServerFacts[];
}

/**
 * Explains the answers of node-cache, in the order of its answering. Everything is looked at before the question is
 * asked; to look changes nothing, to ask is what a client does.
 */
export class NodeCacheExplainer {
  readonly #options: NodeCacheExplainerOptions;

  constructor(options: NodeCacheExplainerOptions) {
    this.#options = options;
  }

  async explain(question: ExplainedQuestion): Promise<Explanation> {
    const query = queryFor(question, false);
    const at = this.#servedAt(query);
    const answerer = at?.point.answerer ?? this.#options.points.all[0]?.answerer;
    const before = at === undefined ? this.#unserved() : this.#look(query, at);
    const block = at?.zone.block;
    const traced = answerer && askTraced(answerer, question);
    const verdict = (await traced?.answered) ?? NOT_LISTENING;
    const asked = traced === undefined ? [] : exchangeSteps(traced.trace, block?.forwarder.now());
    const entry = block && entryOf(block, query);
    const steps = [
      ...before.steps,
      ...asked,
      ...skippedSteps(before.servers, asked),
      outcomeStep(verdict, question.client, entry),
    ];
    return { program: 'node-cache', question: question.text, steps, verdict };
  }

  /** The longest zone that the name is in, at the first address that serves it. */
  #servedAt(query: Query): ServedAt | undefined {
    const served = this.#options.points.all.flatMap((point) => {
      const zone = point.answerer.zoneOf(query);
      return zone === undefined ? [] : [{ point, zone }];
    });
    const lengthOf = ({ zone: { zone } }: ServedAt) => (zone === '.' ? 0 : zone.length);
    return served.reduce<ServedAt | undefined>(
      (best, each) => (best === undefined || lengthOf(each) > lengthOf(best) ? each : best),
      undefined,
    );
  }

  #unserved(): Before {
    const { corefile } = this.#options;
    const text = `No server block of ${corefile} has a zone that the name is in: it is refused.`;
    return { steps: [{ step: 'block', text, corefile, zone: null }], servers: [] };
  }

  #look(query: Query, at: ServedAt): Before {
    const { block } = at.zone;
    const steps = [this.#blockStep(at)];
    const hosts = hostsStep(block, query);
    if (hosts !== undefined) {
      steps.push(hosts);
      if (hosts.isAnswered === true) return { steps, servers: [] };
    }
    const entry = entryOf(block, query);
    const isCached = entry?.state === 'fresh' || entry?.state === 'kept';
    steps.push(this.#cacheStep(query, block, entry));
    const { group } = block;
    const nowMs = block.forwarder.now();
    const servers = (group?.servers ?? []).map((each) => serverFacts(each, nowMs, group));
    const isForwarded = block.isForwarded(query);
    steps.push(forwardStep(block, servers, isForwarded));
    return { steps, servers: isCached || !isForwarded ? [] : servers };
  }

  #blockStep({ point, zone: { zone, block } }: ServedAt): ExplainedStep {
    const { corefile } = this.#options;
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

  #cacheStep(query: Query, block: ServedBlock, entry: CachedEntry | undefined): ExplainedStep {
    const { subscriptions } = this.#options;
    const rules = block.block.cache;
    if (rules === undefined) {
      return { step: 'cache', text: 'The block has no plugin cache.', state: 'off' };
    }
    const { stale } = rules;
    const { group } = block;
    return cacheStep({
      type: query.type,
      entry,
      subscription: entry && subscriptions.rowOf(entry.subscription),
      stale: stale !== undefined && stale.verifyMs === undefined ? 'at once' : 'late',
      question: block.forwarder.look(query, group && subscriptions.optionsFor(group)),
    });
  }
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

function entryOf(
  { cache }: ServedBlock,
  { name, nameLength, type }: Query,
): CachedEntry | undefined {
  return cache?.inspect(name, nameLength, type);
}

/** Undefined without the plugin `hosts`. */
function hostsStep({ hosts, block }: ServedBlock, query: Query): ExplainedStep | undefined {
  if (hosts === undefined || block.hosts === undefined) return undefined;
  const { file } = block.hosts;
  const out = new Uint8Array(MAX_MESSAGE_BYTES);
  const isAnswered = hosts.answer(query, out) > 0;
  const facts = { step: 'hosts', file, isAnswered };
  if (!isAnswered)
    return { ...facts, text: `hosts (${file}) has not the name, and lets it through.` };
  const isUnknown = (readUint16(out, 2) & RCODE_MASK) === RCODE.SERVFAIL;
  const text = isUnknown
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
