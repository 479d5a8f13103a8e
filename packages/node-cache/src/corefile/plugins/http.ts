import { MAX_TIMER_MS } from '@kube-dns/base';
import type { BlockDraft } from '../block-draft.js';
import type { Directive } from '../corefile.js';
import { checkNoBlock, checkWords, durationMs, fail, httpAddress } from '../directive-words.js';

/** The defaults of CoreDNS' plugins. */
const HEALTH = ':8080';
const READY = ':8181';
const METRICS = 'localhost:9153';

/** Reads `health [ADDRESS] { lameduck DURATION }`. */
export function readHealth(each: Directive, draft: BlockDraft): void {
  checkWords(each, 0, 1, '[ADDRESS]');
  let lameduckMs = 0;
  for (const option of each.block ?? []) {
    if (option.name !== 'lameduck') fail(option, 'health has no such option');
    checkWords(option, 1, 1, 'DURATION');
    lameduckMs = Math.min(durationMs(option, option.args[0]!), MAX_TIMER_MS);
  }
  draft.health = { ...httpAddress(each, each.args[0] ?? HEALTH), lameduckMs };
}

/** Reads `ready [ADDRESS] { monitor continuously }`. */
export function readReady(each: Directive, draft: BlockDraft): void {
  checkWords(each, 0, 1, '[ADDRESS]');
  for (const option of each.block ?? []) {
    const isKnown = option.name === 'monitor' && option.args.join(' ') === 'continuously';
    if (!isKnown) fail(option, 'it always says how it is now: leave it out');
  }
  draft.ready = httpAddress(each, each.args[0] ?? READY);
}

/** Reads `prometheus [ADDRESS]`. */
export function readPrometheus(each: Directive, draft: BlockDraft): void {
  checkWords(each, 0, 1, '[ADDRESS]');
  checkNoBlock(each);
  draft.metrics = httpAddress(each, each.args[0] ?? METRICS);
}
