import { networkInterfaces } from 'node:os';
import type { Subscriptions } from '@kube-dns/push';
import {
  type AnswerCache,
  type CachedEntry,
  cacheStep,
  outcomeStep,
  type ServerFacts,
  serverFacts,
  skippedSteps,
} from '@kube-dns/resolver';
import {
  askRecorded,
  type ExplainedQuestion,
  type ExplainedStep,
  type Explanation,
  queryFor,
} from '@kube-dns/telemetry';
import type { Answerer, QueryForwarder, ServerAddress } from '@kube-dns/transport';
import {
  MAX_MESSAGE_BYTES,
  type Query,
  readUint16,
  reasonsOf,
  RecordCursor,
  TYPE,
  typeText,
} from '@kube-dns/wire';
import { servedNetworks } from '../answer/local-service.js';
import type { LocalData } from '../local/local-data.js';
import type { DnsmasqOptions } from '../options/option-table.js';
import type { Router } from '../routing/router.js';
import { isOfCluster } from '../upstream/cluster-servers.js';
import { originOf, originText, type RecordOrigin, recordOrigins } from './local-origins.js';
import { routeStep } from './route-step.js';
import { answeringRule } from './rule-origins.js';

export interface DnsmasqExplainerOptions {
  readonly options: DnsmasqOptions;
  readonly answerer: Answerer;
  readonly local: Pick<LocalData, 'look' | 'answerByRule' | 'origins'>;
  readonly cache: Pick<AnswerCache, 'inspect' | 'maxRecords'>;
  readonly router: Pick<Router, 'routes' | 'loops' | 'sources'>;
  readonly forwarder: Pick<QueryForwarder, 'exchanges' | 'look' | 'now'>;
  readonly subscriptions: Pick<Subscriptions, 'optionsFor' | 'rowOf' | 'hasAnnounced'>;
  readonly kubedns: ServerAddress | undefined;
}

/** The text of an Extended DNS Error comes after its code and length, and its own code. */
const REASON_TEXT_AT = 6;

/** What is known before the question is asked. */
interface Before {
  readonly steps: readonly ExplainedStep[];
  /** The answer of local data, whose origins are looked up afterwards. */
  readonly local?: Uint8Array;
  readonly servers: readonly ServerFacts[];
}

/**
 * Explains the answers of dnsmasq, in the order of its answering. Everything is looked at before the question is asked;
 * to look changes nothing, to ask is what a client does.
 */
export class DnsmasqExplainer {
  readonly #parts: DnsmasqExplainerOptions;

  constructor(parts: DnsmasqExplainerOptions) {
    this.#parts = parts;
  }

  async explain(question: ExplainedQuestion): Promise<Explanation> {
    const { answerer, forwarder, options, local } = this.#parts;
    const query = queryFor(question, false);
    const before = this.#look(query, question);
    const { exchanges } = forwarder;
    const now = () => forwarder.now();
    const { verdict, asked } = await askRecorded(answerer, question, { exchanges, now });
    const localSteps =
      before.local === undefined
        ? []
        : [
            localStep(
              await recordOrigins(before.local, options, local),
              readUint16(before.local, 6),
            ),
          ];
    const steps = [
      ...localSteps,
      ...before.steps,
      ...asked,
      ...skippedSteps(before.servers, asked),
      outcomeStep(verdict, question.client, this.#entryOf(query)),
    ];
    return { program: 'dnsmasq', question: question.text, steps, verdict };
  }

  #look(query: Query, { client }: ExplainedQuestion): Before {
    const { options, local, router, forwarder } = this.#parts;
    const networks = servedNetworks(options, networkInterfaces());
    if (networks?.has(client) === false) {
      const text = `${client} is in no network of this machine: with --local-service it gets no answer.`;
      return { steps: [{ step: 'client', text, client }], servers: [] };
    }
    const out = new Uint8Array(MAX_MESSAGE_BYTES);
    const localBytes = local.look(query, out, { address: client });
    if (localBytes > 0) return { steps: [], local: out.slice(0, localBytes), servers: [] };
    const steps = [
      { step: 'local', text: 'Neither hosts files nor options have records for it.' },
      ...this.#filterSteps(query),
    ];
    const entry = this.#entryOf(query);
    const isCached = entry?.state === 'fresh' || entry?.state === 'kept';
    steps.push(this.#cacheStep(query, entry));
    const sibling = this.#siblingStep(query, entry);
    if (sibling !== undefined) return { steps: [...steps, sibling], servers: [] };
    const ruleBytes = isCached ? 0 : local.answerByRule(query, out);
    if (ruleBytes > 0) {
      return { steps: [...steps, this.#ruleStep(query, out.slice(0, ruleBytes))], servers: [] };
    }
    const route = router.routes.find(query);
    const { group } = route;
    const nowMs = forwarder.now();
    const servers = (group?.servers ?? []).map((each) => serverFacts(each, nowMs, group));
    steps.push(
      routeStep({
        route,
        routes: router.routes,
        loops: router.loops,
        sources: router.sources.get(route.domain) ?? [],
        servers,
        isOfCluster: isOfCluster(group, this.#parts.kubedns, this.#parts.subscriptions),
      }),
    );
    return { steps, servers: isCached ? [] : servers };
  }

  #entryOf({ name, nameLength, type }: Query): CachedEntry | undefined {
    return this.#parts.cache.inspect(name, nameLength, type);
  }

  #cacheStep(query: Query, entry: CachedEntry | undefined): ExplainedStep {
    const { options, cache, router, forwarder, subscriptions } = this.#parts;
    if (cache.maxRecords === 0) {
      return { step: 'cache', text: 'There is no cache: --cache-size is 0.', state: 'off' };
    }
    const { group } = router.routes.find(query);
    return cacheStep({
      type: query.type,
      entry,
      subscription: entry && subscriptions.rowOf(entry.subscription),
      stale:
        options.stale === undefined ? (options.maxStaleSeconds > 0 ? 'at once' : 'never') : 'late',
      question: forwarder.look(query, group && subscriptions.optionsFor(group)),
    });
  }

  #filterSteps({ type }: Query): ExplainedStep[] {
    const { filteredTypes, given } = this.#parts.options;
    if (!filteredTypes.includes(type)) return [];
    const isFilter = ({ name }: { readonly name: string }) => /^filter-(?:A|AAAA|rr)$/.test(name);
    const origins = given.all.filter(isFilter).map(originOf);
    const from = origins.map(originText).join(', ');
    const text = `Records of type ${typeText(type)} are removed from the answers of servers: ${from}.`;
    return [{ step: 'filter', text, origins }];
  }

  /** As FilteredAnswers.answerFromSibling has it. */
  #siblingStep(
    { name, nameLength, type }: Query,
    entry: CachedEntry | undefined,
  ): ExplainedStep | undefined {
    const { options, cache } = this.#parts;
    const isThere = (one: CachedEntry | undefined) => one !== undefined && one.state !== 'gone';
    if (!options.filteredTypes.includes(type) || isThere(entry)) return undefined;
    const sibling = [TYPE.A, TYPE.AAAA].find(
      (each) => each !== type && isThere(cache.inspect(name, nameLength, each)),
    );
    if (sibling === undefined) return undefined;
    const text = `The cache has records of type ${typeText(sibling)}, so the name exists: no server is asked.`;
    return { step: 'rule', text, rule: 'filtered type', origins: [] };
  }

  #ruleStep(query: Query, message: Uint8Array): ExplainedStep {
    const reasons = reasonsOf(message, new RecordCursor());
    const reason = Buffer.from(reasons.subarray(REASON_TEXT_AT)).toString();
    const { text, origins } = answeringRule(reason, query, this.#parts.options);
    const from = origins.length === 0 ? '' : `: ${origins.map(originText).join(', ')}`;
    return { step: 'rule', text: `${text}${from}.`, rule: reason, origins };
  }
}

function localStep(origins: readonly RecordOrigin[], records: number): ExplainedStep {
  const from = origins.length === 0 ? 'the options' : origins.map(originText).join(' and ');
  const text =
    records === 0
      ? `${from} have the name, and a filter removes this type: no server is asked.`
      : `Local data answers it, from ${from}: no server is asked.`;
  return { step: 'local', text, records, origins };
}
