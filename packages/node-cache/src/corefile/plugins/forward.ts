import { errorText } from '@kube-dns/base';
import type { BlockDraft } from '../block-draft.js';
import type { Directive } from '../corefile.js';
import { checkWords, durationMs, fail, wholeNumber, zones } from '../directive-words.js';
import { readForwardTarget, UNKNOWN_ADDRESS } from '../forward-target.js';
import type { ForwardRules } from '../server-block.js';

/** The defaults of coredns plugin/forward (forward.go, New). */
const MAX_FAILS = 2;
const EXPIRE_MS = 10_000;
const HEALTH_CHECK_MS = 500;
/** plugin/forward/setup.go, max. */
const MAX_TARGETS = 15;

const POLICIES = ['random', 'round_robin', 'sequential'] as const;

/** Options of CoreDNS that are not obeyed, and what to do. */
const NOT_OBEYED: ReadonlyMap<string, string> = new Map([
  ['next', 'an answer of a server is the answer: leave it out'],
  ['next_on_nodata', 'an answer of a server is the answer: leave it out'],
  ['failover', 'which rcodes are asked of another server is fixed: leave it out'],
  ['max_connect_attempts', 'how often a question is sent is limited by time: leave it out'],
  ['max_age', 'a connection ends when it is idle: use expire'],
  ['max_idle_conns', 'few connections are used at once: leave it out'],
  ['read_timeout', 'a silent server is left out at once: leave it out'],
  ['doh_method', 'questions over HTTPS are POSTs: leave it out'],
  ['resolver', 'servers are written as IP addresses: leave it out'],
  ['source_address', 'the kernel chooses the source address: leave it out'],
]);

type ForwardDraft = { -readonly [K in keyof ForwardRules]: ForwardRules[K] };

/** Reads `forward FROM TO… { … }`. */
export function readForward(each: Directive, draft: BlockDraft): void {
  if (draft.forward !== undefined) {
    fail(each, 'there is one forward in a block: write a server block for this zone');
  }
  const [from = '', ...targets] = each.args;
  if (targets.length === 0) fail(each, 'it is forward FROM TO…');
  const rules: ForwardDraft = {
    from: zones(each, [from])[0]!,
    except: [],
    targets: [],
    protocol: 'client',
    policy: 'random',
    maxFails: MAX_FAILS,
    expireMs: EXPIRE_MS,
    maxConcurrent: 0,
    healthCheckMs: HEALTH_CHECK_MS,
    tlsCaFile: '',
    failsFastWhenAllDown: false,
    line: each.line,
  };
  let tlsName = '';
  for (const option of each.block ?? []) {
    if (option.name === 'tls_servername') tlsName = oneWord(option, 'NAME');
    else readOption(option, rules);
  }
  const known = targets.filter((target) => target !== UNKNOWN_ADDRESS);
  rules.targets = known.map((target) => {
    try {
      return readForwardTarget(target, tlsName);
    } catch (error) {
      return fail(each, `${JSON.stringify(target)}: ${errorText(error)}`);
    }
  });
  if (targets.length > MAX_TARGETS) fail(each, `more than ${MAX_TARGETS} servers`);
  draft.forward = rules;
}

function readOption(option: Directive, rules: ForwardDraft): void {
  switch (option.name) {
    case 'except':
      checkWords(option, 1, Infinity, 'ZONES…');
      rules.except = [...rules.except, ...zones(option, option.args)];
      return;
    case 'force_tcp':
      checkWords(option, 0, 0);
      rules.protocol = 'tcp';
      return;
    case 'prefer_udp':
      checkWords(option, 0, 0);
      // With both CoreDNS uses TCP.
      if (rules.protocol !== 'tcp') rules.protocol = 'udp';
      return;
    case 'policy':
      checkWords(option, 1, 1, POLICIES.join('|'));
      rules.policy =
        POLICIES.find((policy) => policy === option.args[0]) ??
        fail(option, `unknown policy '${option.args[0]!}'`);
      return;
    case 'max_fails':
      rules.maxFails = wholeNumber(option, oneWord(option, 'NUMBER'));
      return;
    case 'max_concurrent':
      rules.maxConcurrent = wholeNumber(option, oneWord(option, 'NUMBER'));
      return;
    case 'expire':
      rules.expireMs = durationMs(option, oneWord(option, 'DURATION'));
      return;
    case 'health_check':
      if (option.args.length > 1)
        fail(option, 'a check asks in one way: write health_check DURATION');
      rules.healthCheckMs = durationMs(option, oneWord(option, 'DURATION'));
      return;
    case 'tls':
      // An even number of files begins with a certificate and its key.
      if (option.args.length > 1) fail(option, 'a client has no certificate here: write tls [CA]');
      rules.tlsCaFile = option.args[0] ?? '';
      return;
    case 'failfast_all_unhealthy_upstreams':
      checkWords(option, 0, 0);
      rules.failsFastWhenAllDown = true;
      return;
    default:
      return fail(option, NOT_OBEYED.get(option.name) ?? 'forward has no such option');
  }
}

function oneWord(option: Directive, form: string): string {
  checkWords(option, 1, 1, form);
  return option.args[0]!;
}
