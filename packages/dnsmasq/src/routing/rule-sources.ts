import { serverText } from '@kube-dns/transport';
import { type GivenOptions, optionText } from '../options/given-options.js';
import type { RouteTarget, ServerRule } from '../options/server-value.js';

/** A rule of a route, and where it is from. */
export interface RuleSource {
  /** As it is written: `--server=/corp.example/10.0.0.1`; of a file or the ConfigMap, its server. */
  readonly rule: string;
  /** `the command line`, `line 3 of FILE`, `stubDomains of the ConfigMap`. */
  readonly place: string;
}

/** Where a rule for a domain (presentation text) is from; `given` are the options of all sources that have options. */
export function ruleSource(
  rule: ServerRule,
  domain: string,
  given: readonly GivenOptions[],
): RuleSource {
  for (const options of given) {
    const option = options.of(rule);
    if (option !== undefined) return { rule: optionText(option), place: option.place };
  }
  const key = domain === '.' ? 'upstreamNameservers' : 'stubDomains';
  return { rule: targetText(rule.target), place: `${key} of the ConfigMap` };
}

/** A target as `--server` has it. */
function targetText(target: RouteTarget): string {
  switch (target.kind) {
    case 'server':
      return serverText(target.server);
    case 'named-server':
      return serverText({ ...target.server, address: target.server.host });
    case 'default':
      return '#';
    case 'local':
      return '';
  }
}
