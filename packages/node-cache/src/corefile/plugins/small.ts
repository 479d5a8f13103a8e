import type { BlockDraft } from '../block-draft.js';
import type { Directive } from '../corefile.js';
import {
  checkNoBlock,
  checkWords,
  durationMs,
  fail,
  wholeNumber,
  zones,
} from '../directive-words.js';

/** coredns plugin/bufsize: its default, and the range of RFC 6891 that it takes. */
const BUFSIZE = '1232';
const MIN_BUFSIZE = 512;
const MAX_BUFSIZE = 4_096;
/** coredns plugin/reload. */
const MIN_INTERVAL_MS = 2_000;
const MIN_JITTER_MS = 1_000;

/** Reads `loop`. */
export function readLoop(each: Directive, draft: BlockDraft): void {
  checkWords(each, 0, 0);
  checkNoBlock(each);
  draft.detectsLoops = true;
}

/** Reads `bufsize [BYTES]`. */
export function readBufsize(each: Directive, draft: BlockDraft): void {
  checkWords(each, 0, 1, '[BYTES]');
  checkNoBlock(each);
  draft.maxUdpBytes = wholeNumber(each, each.args[0] ?? BUFSIZE, MIN_BUFSIZE, MAX_BUFSIZE);
}

/** Reads `loadbalance [round_robin]`. */
export function readLoadbalance(each: Directive, draft: BlockDraft): void {
  if (each.args.length > 0 && each.args.join(' ') !== 'round_robin') {
    fail(each, 'records are rotated, without weights: write loadbalance round_robin');
  }
  if ((each.block ?? []).length > 0) fail(each, 'no network is preferred: leave the braces out');
  draft.rotatesRecords = true;
}

/** Checks `reload [INTERVAL] [JITTER]`: a new Corefile is always applied immediately. */
export function checkReload(each: Directive): void {
  checkWords(each, 0, 2, '[INTERVAL] [JITTER]');
  checkNoBlock(each);
  const [interval, jitter] = each.args.map((word) => durationMs(each, word));
  if (interval !== undefined && interval < MIN_INTERVAL_MS) {
    fail(each, 'interval value must be greater or equal to 2s');
  }
  if (jitter !== undefined && jitter !== 0 && jitter < MIN_JITTER_MS) {
    fail(each, 'jitter value must be 0 or greater or equal to 1s');
  }
}

/** Checks `debug`: what it logs is logged with `--v=4`. */
export function checkDebug(each: Directive): void {
  checkWords(each, 0, 0);
  checkNoBlock(each);
}

/** Checks `metadata [ZONES…]`: nothing that is obeyed reads it. */
export function checkMetadata(each: Directive): void {
  checkNoBlock(each);
  zones(each, each.args);
}
