import type { SetupDraft } from '../dns-setup.js';
import type { Remarks } from '../remarks.js';
import { directiveText, type Directive } from './corefile.js';

/** What one zone's `forward` says. */
export interface ForwardPlan {
  readonly servers: readonly string[];
  /** A file in the form of resolv.conf; empty for none. */
  readonly file: string;
  readonly maxConcurrent: number | undefined;
  readonly isSequential: boolean;
}

/** What the blocks of a Corefile have said so far. */
export interface PluginContext {
  readonly draft: SetupDraft;
  readonly remarks: Remarks;
  /** By the zone that is forwarded. */
  readonly forwards: Map<string, ForwardPlan>;
  /** Templates without an answer, by their zone. */
  readonly filters: { readonly zone: string; readonly type: 'A' | 'AAAA' }[];
  /** The zones whose queries are logged. */
  readonly logs: Set<string>;
  /** By zone, as text: dnsmasq has one. */
  readonly caches: Map<string, string>;
  /** The text of the directive `kubernetes`; empty before there was one. */
  kubernetes: string;
}

/** Notes that a directive, or an option of one, has no counterpart. */
export function lose({ remarks }: PluginContext, each: Directive, zone: string, why: string): void {
  remarks.lose(named(each, zone), why);
}

/** Notes that a directive, or an option of one, has another meaning in the pod. */
export function change(
  { remarks }: PluginContext,
  each: Directive,
  zone: string,
  why: string,
): void {
  remarks.change(named(each, zone), why);
}

function named(each: Directive, zone: string): string {
  return `line ${each.line}: ${directiveText(each)} (in ${zone})`;
}

/** A number of a directive; undefined for a word that is none. */
export function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
