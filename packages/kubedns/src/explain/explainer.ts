import { isDnsLabel } from '@kube-dns/daemon';
import {
  askAnswerer,
  askRecorded,
  type ExplainedQuestion,
  type ExplainedStep,
  type Explanation,
} from '@kube-dns/telemetry';
import type { Answerer, ExchangeObservers } from '@kube-dns/transport';
import { encodeKey, lowerCaseByte, suffixOffset, TYPE } from '@kube-dns/wire';
import { type CompositionOptions, namingOf } from '../answer/kubedns-answerer.js';
import { ZoneQuestion } from '../answer/zone-question.js';
import type { ApiReader } from '../watch/api-client.js';
import type { ClusterWatch } from '../watch/cluster-watch.js';
import type { Upstreams } from '../config/upstreams.js';
import { absenceOf, absenceSteps } from './absence.js';
import { ApiObjectsReader } from './api-objects.js';
import { leftOutSteps, partLabels } from './left-out.js';
import { readReverse, reverseStep } from './reverse-steps.js';
import { missingTargetSteps } from './missing-target.js';
import { forwardStep, nearZoneSteps, zoneStep } from './route-steps.js';
import { heldService, serviceSteps } from './service-steps.js';
import { listed, nameText } from './words.js';
import { labelsOf, readingStep, type ServiceKey, serviceKeyOf } from './zone-reading.js';

export interface ExplainerOptions extends Pick<
  CompositionOptions,
  'flags' | 'zone' | 'federations'
> {
  readonly answerer: Answerer;
  readonly upstreams: Pick<Upstreams, 'ruleFor'>;
  readonly exchanges: ExchangeObservers;
  readonly client: ApiReader;
  readonly watch: Pick<ClusterWatch, 'isSynced' | 'pending' | 'noContactMs'>;
  readonly apiLimitMs?: number;
}

const REVERSE_APEXES = [encodeKey('in-addr.arpa'), encodeKey('ip6.arpa')];
/** CNAMEs that are followed within the zone, as for an answer. */
const MAX_LINKS = 8;
/** A shorter time without contact is no reason to distrust what is known. */
const NO_CONTACT_MS = 10_000;

/** Explains the answers of kubedns. */
export class Explainer {
  readonly #options: ExplainerOptions;
  readonly #question: ZoneQuestion;
  readonly #objects: ApiObjectsReader;

  constructor(options: ExplainerOptions) {
    this.#options = options;
    this.#question = new ZoneQuestion({ ...namingOf(options), random: Math.random });
    const { client, apiLimitMs } = options;
    this.#objects = new ApiObjectsReader({ client, ...(apiLimitMs && { limitMs: apiLimitMs }) });
  }

  /** The answer to a question, as a client gets it, and what led to it. */
  async explain(question: ExplainedQuestion): Promise<Explanation> {
    const { zone } = this.#options;
    const { key, text } = question;
    // What is known is read in the same turn of the event loop in which the question is answered.
    const isInZone = suffixOffset(key, key.length, zone.apex) >= 0;
    const { steps, verdict } = isInZone
      ? await this.#explainZone(question)
      : await this.#explainOther(question);
    return { program: 'kubedns', question: text, steps, verdict };
  }

  async #explainZone(question: ExplainedQuestion): Promise<Pick<Explanation, 'steps' | 'verdict'>> {
    const { answerer, zone, flags, exchanges, watch } = this.#options;
    const read = this.#question;
    const { key, type } = question;
    if (!watch.isSynced) {
      const verdict = await askAnswerer(answerer, question);
      return { steps: [zoneStep(question.text.name, this.#options), this.#notReady()], verdict };
    }
    read.read(key, key.length);
    const labels = labelsOf(read.name);
    const steps = [zoneStep(question.text.name, this.#options), readingStep(read, flags.pods)];
    const serviceKey = serviceKeyOf(read);
    const held = heldService(this.#entryOf(serviceKey));
    const exists = read.kind !== 'absent';
    const absence = exists ? undefined : absenceOf(read, zone, flags.pods);
    const targets = read.kind === 'cname' ? this.#targets(read, type) : undefined;
    const names = targets?.names ?? [];
    const { verdict, asked } = await askRecorded(answerer, question, { exchanges, names });
    if (serviceKey !== undefined && areLabels(serviceKey)) {
      const objects = await this.#objects.read(serviceKey.namespace, serviceKey.name);
      const seen = { key: serviceKey, held, objects, names: flags['endpoint-names'] };
      const isThere = held?.service !== undefined || typeof objects !== 'string';
      if (absence === undefined || isThere) steps.push(...serviceSteps(seen));
      const isAnswered = verdict.answers.length > 0;
      const part = { labels: partLabels(labels), type, exists, isAnswered };
      steps.push(...leftOutSteps(seen, part));
    }
    if (absence !== undefined) steps.push(...absenceSteps(absence));
    steps.push(...(targets?.steps ?? []), ...asked);
    if (targets !== undefined && verdict.rcode === 'NXDOMAIN') {
      steps.push(...missingTargetSteps(serviceKey, targets.names));
    }
    steps.push(...this.#contactSteps());
    return { steps, verdict };
  }

  async #explainOther(
    question: ExplainedQuestion,
  ): Promise<Pick<Explanation, 'steps' | 'verdict'>> {
    const { answerer, zone, flags, exchanges, upstreams, watch } = this.#options;
    const { key, text } = question;
    const isReverse = REVERSE_APEXES.some((apex) => suffixOffset(key, key.length, apex) >= 0);
    const steps: ExplainedStep[] = [];
    const rule = upstreams.ruleFor(key, key.length);
    if (isReverse && !watch.isSynced) {
      const verdict = await askAnswerer(answerer, question);
      return { steps: [this.#notReady()], verdict };
    }
    const reading = isReverse ? readReverse(key, zone) : undefined;
    if (reading !== undefined) steps.push(reverseStep(reading, flags.ptr));
    if (reading === undefined || reading.owners.length === 0) {
      const apex = nameText(zone.apex);
      const subject = isReverse ? 'So it is asked elsewhere' : `${text.name} is not in ${apex}`;
      steps.push(forwardStep(subject, rule, this.#options));
    }
    const { verdict, asked } = await askRecorded(answerer, question, { exchanges });
    steps.push(...asked);
    if (verdict.answers.length === 0) steps.push(...nearZoneSteps(key, this.#options));
    if (isReverse) steps.push(...this.#contactSteps());
    return { steps, verdict };
  }

  /** The names that a CNAME of the zone leads to, and where the last of them is asked. */
  #targets(read: ZoneQuestion, type: number): { names: Uint8Array[]; steps: ExplainedStep[] } {
    const { zone, upstreams } = this.#options;
    const names: Uint8Array[] = [];
    const texts: string[] = [];
    if (type === TYPE.CNAME || type === TYPE.ANY) return { names, steps: [] };
    while (read.kind === 'cname' && names.length < MAX_LINKS) {
      const target = read.cname.map(lowerCaseByte);
      names.push(target);
      texts.push(nameText(target));
      if (suffixOffset(target, target.length, zone.apex) < 0) {
        const rule = upstreams.ruleFor(target, target.length);
        const subject = `The target ${nameText(target)} is not in ${nameText(zone.apex)}`;
        return { names, steps: [forwardStep(subject, rule, this.#options)] };
      }
      read.read(target, target.length);
    }
    const text = `The target ${listed(texts)} is in the zone itself.`;
    return { names, steps: [{ step: 'target', text, targets: texts }] };
  }

  #entryOf(key: ServiceKey | undefined) {
    if (key === undefined) return undefined;
    return this.#options.zone.namespaces.get(key.namespace)?.services.get(key.name);
  }

  #notReady(): ExplainedStep {
    const { pending } = this.#options.watch;
    return {
      step: 'not-ready',
      text: `kubedns has no complete list of ${listed(pending)} from the API server yet. Until then it answers SERVFAIL: a client would cache a negative answer.`,
      pending,
    };
  }

  #contactSteps(): ExplainedStep[] {
    const { noContactMs } = this.#options.watch;
    if (noContactMs < NO_CONTACT_MS) return [];
    const seconds = Math.round(noContactMs / 1000);
    return [
      {
        step: 'no-contact',
        text: `kubedns has had no contact with the API server for ${seconds} s: it answers from what it knew before.`,
        seconds,
      },
    ];
  }
}

/** Only such names can be objects, and only such are put into a path. */
function areLabels({ namespace, name }: ServiceKey): boolean {
  return isDnsLabel(namespace) && isDnsLabel(name);
}
