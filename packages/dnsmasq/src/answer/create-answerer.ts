import type { Relay } from '@kube-dns/push';
import type { Answerer, QueryForwarder } from '@kube-dns/transport';
import type { PrefetchOptions, StaleAnswers } from '@kube-dns/resolver';

import { EdnsForwarder } from '../upstream/edns-forwarder.js';
import type { EdnsOptions } from '../upstream/edns-options.js';
import { FilteredAnswers } from './filtered-answers.js';
import { type AnswererParts, DnsmasqAnswerer } from './dnsmasq-answerer.js';
import { LoggedAnswerer, loggedParts } from './logged-answerer.js';
import type { QueryLog } from './query-log.js';
import { Refusals } from './refusals.js';
import { ReplyIntake, type ReplyIntakeOptions } from './reply-intake.js';

export interface AnswererOptions
  extends ReplyIntakeOptions, Pick<AnswererParts, 'chaos' | 'counters'> {
  readonly forwarder: QueryForwarder;
  readonly local: ReplyIntakeOptions['local'] & AnswererParts['local'];
  readonly router: AnswererParts['router'];
  readonly subscriptions: ReplyIntakeOptions['subscriptions'] & AnswererParts['subscriptions'];
  readonly relayed?: Pick<Relay, 'addTo' | 'translate'> | undefined;
  /** Undefined unless queries go upstream with EDNS options. */
  readonly ednsOptions?: EdnsOptions | undefined;
  /** Undefined unless queries are logged. */
  readonly queryLog?: QueryLog | undefined;
  /** Undefined unless popular answers are asked for before they expire (`--prefetch`). */
  readonly prefetching?: PrefetchOptions | undefined;
}

/** The answerer; parts that log or add EDNS options are in it only where an option asks for them. */
export function createAnswerer(options: AnswererOptions): Answerer {
  const { cache, chaos, counters, forwarder, local, router, subscriptions } = options;
  const { ednsOptions, queryLog } = options;
  const parts: AnswererParts = {
    chaos,
    counters,
    local,
    router,
    cached: new FilteredAnswers(
      cache,
      options.filteredTypes,
      options.servesStaleLate === true,
      options.relayed,
    ),
    refusals: new Refusals(),
    forwarder: ednsOptions === undefined ? forwarder : new EdnsForwarder(forwarder, ednsOptions),
    intake: new ReplyIntake(options),
    subscriptions,
    prefetch: options.prefetching,
    stale: options.servesStaleLate === true ? staleAnswers(options) : undefined,
  };
  if (queryLog === undefined) return new DnsmasqAnswerer(parts);
  const answerer = new DnsmasqAnswerer(loggedParts(parts, queryLog));
  return new LoggedAnswerer(answerer, router.loops, queryLog);
}

function staleAnswers({ forwarder, queryLog }: AnswererOptions): StaleAnswers {
  return {
    now: () => forwarder.now(),
    onGiven: queryLog && ((message) => queryLog.stale(message)),
  };
}
