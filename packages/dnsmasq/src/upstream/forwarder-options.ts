import type { Log } from '@kube-dns/daemon';
import { type AnswerCache, staleRules } from '@kube-dns/resolver';
import { type QueryForwarderOptions, retryPlan } from '@kube-dns/transport';
import type { DnsmasqOptions } from '../options/option-table.js';
import { overflowLog } from './overflow-log.js';

/** How questions are forwarded, as the command line says. */
export function forwarderOptions(
  options: DnsmasqOptions,
  cache: AnswerCache,
  log: Log,
): QueryForwarderOptions {
  return {
    maxInFlight: options.maxInFlight,
    plan: retryPlan(options.queryTimeoutMs, options.fastRetry),
    portLimit: options.portLimit,
    maxUdpBytes: options.maxUdpBytes,
    passesAd: options.passesAd,
    mixesCase: options.mixesCase,
    onOverflow: overflowLog(options.maxInFlight, log),
    stale: options.stale && staleRules(options.stale, cache),
  };
}
