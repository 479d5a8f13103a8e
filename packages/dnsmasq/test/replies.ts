import {
  type AnswerCache,
  type CachingRules,
  ReplyPipeline,
  type ReplyPipelineOptions,
} from '@kube-dns/resolver';
import { PLAIN_RULES } from '@kube-dns/resolver/testing';
import { FilteredTypes, type ReplyRules } from '../src/answer/reply-filter.js';
import { DnsmasqReplies } from '../src/answer/reply-policy.js';
import { defaultOptions } from '../src/options/option-table.js';
import { Routes } from '../src/routing/routes.js';
import { recordedLog } from './recorded-log.js';

/** Rules of dnsmasq; each is off unless it is there. */
interface RepliesSetup extends Partial<Omit<ReplyPipelineOptions, 'cache' | 'policy'>> {
  readonly cache: AnswerCache;
  readonly caching?: CachingRules;
  readonly replies?: ReplyRules;
  readonly filteredTypes?: readonly number[];
  readonly maxTtlSeconds?: number;
  readonly hasName?: boolean;
  readonly routes?: Routes;
}

/** Processes replies by dnsmasq's rules. */
export function repliesWith(setup: RepliesSetup): ReplyPipeline {
  const { cache, relay, subscriptions = NO_SUBSCRIPTIONS } = setup;
  return new ReplyPipeline({ policy: policyWith(setup), cache, subscriptions, relay });
}

/** Those rules. */
export function policyWith(setup: Omit<RepliesSetup, 'cache'>): DnsmasqReplies {
  const { hasName = false, filteredTypes = [], maxTtlSeconds = 0 } = setup;
  const { routes = new Routes({ rules: [], resolvServers: [] }) } = setup;
  return new DnsmasqReplies({
    caching: setup.caching ?? PLAIN_RULES,
    replies: setup.replies ?? defaultOptions(),
    filtered: new FilteredTypes(filteredTypes),
    maxTtlSeconds,
    local: { hasName: () => hasName },
    router: { routes },
    isStaleLate: false,
    isOfCluster: undefined,
    log: recordedLog(),
  });
}

const NO_SUBSCRIPTIONS: ReplyPipelineOptions['subscriptions'] = {
  find: () => undefined,
  search: () => undefined,
  publisherOf: () => undefined,
};
