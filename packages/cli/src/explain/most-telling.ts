import type { ExplainedStep } from '@kube-dns/telemetry';
import type { LookedUp } from './lookup.js';

/**
 * Of names that do not exist, the one that says most about why: one of a service that exists, else one that lacks a
 * service in a namespace that was asked for, else one that is near to another name, else the last.
 */
export function mostTelling(asked: readonly LookedUp[]): LookedUp {
  const last = asked.at(-1)!;
  return (
    asked.find((each) => stepOf(each, 'service') !== undefined) ??
    withoutService(asked) ??
    asked.find((each) => stepOf(each, 'near') !== undefined) ??
    last
  );
}

/** The step of a kind that the program that answers has. */
export function stepOf({ behind }: LookedUp, kind: string): ExplainedStep | undefined {
  return behind.steps.find(({ step }) => step === kind);
}

/** The one with the fewest labels before the service: others have a search domain after what was asked for. */
function withoutService(asked: readonly LookedUp[]): LookedUp | undefined {
  const typed = asked.at(-1)!.name.toLowerCase().split('.');
  const found = asked.flatMap((each) => {
    const absent = stepOf(each, 'absent');
    if (absent?.missing !== 'service') return [];
    const { namespace, labelsBelow } = absent;
    const isAskedFor = typeof namespace === 'string' && typed.includes(namespace);
    return labelsBelow === 0 || isAskedFor ? [{ each, below: Number(labelsBelow) }] : [];
  });
  return found.toSorted((one, other) => one.below - other.below)[0]?.each;
}
