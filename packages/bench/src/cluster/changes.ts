import type { KubeObject } from '@kube-dns/apiserver';
import type { Expectation } from '../dns/expectation.js';
import { changedPodAddress, type ClusterPlan, serviceAddress } from './cluster-plan.js';
import { namespaceObject, serviceObject, sliceObject, withAddress } from './objects.js';

/** The kinds of changes. */
export const CHANGE_KINDS = ['endpoint', 'port', 'new service'] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

/** A change to be written, and the answer of DNS once it is served. */
export interface Change {
  readonly kind: ChangeKind;
  readonly objects: readonly KubeObject[];
  readonly expectation: Expectation;
}

/** The last tenth of the services is for changes that are timed; the noise does not change it. */
const NOISE_PART = 0.9;
/** Of a hundred events of the noise: slices of headless services, slices of others, services. */
const HEADLESS_SLICES = 50;
const OTHER_SLICES = 75;
/** After this many new services the first one is reused, so that the size of the cluster is bounded. */
const MAX_NEW_SERVICES = 1_000;

/** A sequence of numbers below `limit` that looks random and is the same in each run. */
class Sequence {
  #state = 0x2545f491;

  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * limit);
  }
}

/** Makes the events of a cluster in use: changes that can be timed, and noise around them. */
export class ChangeSource {
  readonly #plan: ClusterPlan;
  readonly #noiseLimit: number;
  readonly #sequence = new Sequence();
  /** Counts all changes, so that each change has a new value. */
  #count = 0;
  #newServices = 0;

  constructor(plan: ClusterPlan) {
    this.#plan = plan;
    this.#noiseLimit = Math.max(1, Math.floor(plan.size.services * NOISE_PART));
  }

  /** The kinds of changes that a cluster of this plan can have. */
  get kinds(): readonly ChangeKind[] {
    const { headless, slices } = this.#plan.size;
    const possible = {
      endpoint: headless > 0 && slices > 0,
      port: headless < 1,
      'new service': true,
    };
    return CHANGE_KINDS.filter((kind) => possible[kind]);
  }

  /** A change of this kind whose effect DNS can be asked for. */
  timed(kind: ChangeKind): Change {
    this.#count++;
    switch (kind) {
      case 'endpoint':
        return this.#changeEndpoint();
      case 'port':
        return this.#renamePort();
      case 'new service':
        return this.#addService();
    }
  }

  /** Any other event. */
  noise(): KubeObject {
    this.#count++;
    const { services, slices, headless } = this.#plan.size;
    const dice = this.#sequence.below(100);
    const any = this.#sequence.below(this.#noiseLimit);
    if (slices === 0 || dice >= OTHER_SLICES) {
      return serviceObject(this.#plan, any, { portName: `http-${this.#count}` });
    }
    const isHeadless = dice < HEADLESS_SLICES ? headless > 0 : headless === 1;
    const service = this.#find(any, 0, this.#noiseLimit, isHeadless);
    const ranks = Math.max(1, Math.floor((slices - service - 1) / services) + 1);
    const slice = Math.min(service + services * this.#sequence.below(ranks), slices - 1);
    return sliceObject(this.#plan, slice, { firstAddress: changedPodAddress(this.#count) });
  }

  #changeEndpoint(): Change {
    const { services, slices } = this.#plan.size;
    const end = Math.min(services, slices);
    const service = this.#find(this.#timedService(end), 0, end, true);
    const address = changedPodAddress(this.#count);
    const name = this.#plan.dnsName(service);
    const host = this.#plan.hasHostnames(service) ? `${this.#plan.hostname(service, 0)}.` : '';
    return {
      kind: 'endpoint',
      objects: [sliceObject(this.#plan, service, { firstAddress: address })],
      expectation: { name: host + name, type: 'A', address },
    };
  }

  #renamePort(): Change {
    const { services } = this.#plan.size;
    const service = this.#find(this.#timedService(services), 0, services, false);
    const portName = `port-${this.#count}`;
    return {
      kind: 'port',
      objects: [serviceObject(this.#plan, service, { portName })],
      expectation: { name: `_${portName}._tcp.${this.#plan.dnsName(service)}`, type: 'SRV' },
    };
  }

  #addService(): Change {
    // An existing service gets a new port instead.
    const service = this.#plan.size.services + (this.#newServices++ % MAX_NEW_SERVICES);
    const portName = `port-${this.#count}`;
    const made = serviceObject(this.#plan, service, { portName });
    const address = serviceAddress(service);
    const isFirst = this.#newServices <= MAX_NEW_SERVICES;
    const name = this.#plan.dnsName(service);
    return {
      kind: 'new service',
      objects: [
        ...(isFirst ? [namespaceObject(this.#plan.namespaceOf(service))] : []),
        withAddress(made, address),
      ],
      expectation: isFirst
        ? { name, type: 'A', address }
        : { name: `_${portName}._tcp.${name}`, type: 'SRV' },
    };
  }

  #timedService(end: number): number {
    const start = Math.min(this.#noiseLimit, end - 1);
    return start + this.#sequence.below(end - start);
  }

  /** The first service of the wanted sort from `from` on, going round. */
  #find(from: number, start: number, end: number, isHeadless: boolean): number {
    for (let i = 0; i < end - start; i++) {
      const service = start + ((from - start + i) % (end - start));
      if (this.#plan.isHeadless(service) === isHeadless) return service;
    }
    return from;
  }
}
