import type { ExplainedStep } from '@kube-dns/telemetry';
import { nameText } from './words.js';
import type { ServiceKey } from './zone-reading.js';

/** A CNAME of the zone whose last target does not exist: the name itself is no mistake. */
export function missingTargetSteps(
  key: ServiceKey | undefined,
  names: readonly Uint8Array[],
): ExplainedStep[] {
  const targets = names.map((name) => nameText(name));
  const chain = targets.join(', which leads to ');
  const facts = { missing: 'target', targets };
  if (key === undefined) {
    const text = `Its name exists and leads to ${chain}, but that target does not exist.`;
    return [{ step: 'absent', text, ...facts }];
  }
  const service = `${key.namespace}/${key.name}`;
  const text = `The service ${service} exists and is an ExternalName to ${chain}, but that target does not exist.`;
  const advice = `Correct externalName of the service ${service}, or give its target a record where it is asked for.`;
  return [
    { step: 'absent', text, ...facts, service },
    { step: 'advice', text: advice },
  ];
}
