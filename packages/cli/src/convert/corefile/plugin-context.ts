import { type Directive, directiveText, placeOf } from '@kube-dns/node-cache/corefile';
import type { SetupDraft } from '../dns-setup.js';
import type { Notes } from '../notes.js';

/** The `forward` of one zone. */
export interface ForwardPlan {
  readonly servers: readonly string[];
  /** A file in the form of resolv.conf; empty for none. */
  readonly file: string;
  readonly maxConcurrent: number | undefined;
  readonly isSequential: boolean;
}

/** What was read from the blocks of a Corefile so far. */
export interface PluginContext {
  readonly draft: SetupDraft;
  readonly notes: Notes;
  /** By the forwarded zone. */
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
export function lose({ notes }: PluginContext, each: Directive, zone: string, why: string): void {
  notes.lose(named(each, zone), why);
}

/** Notes that a directive, or an option of one, has another meaning in the pod. */
export function change({ notes }: PluginContext, each: Directive, zone: string, why: string): void {
  notes.change(named(each, zone), why);
}

function named(each: Directive, zone: string): string {
  return `${placeOf(each)}: ${directiveText(each)} (in ${zone})`;
}

/** A number of a directive; undefined for any other word. */
export function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
