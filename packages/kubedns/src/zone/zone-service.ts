import {
  addressNumbers,
  countOf,
  type EndpointGroup,
  type EndpointSlice,
  equalPorts,
  type PackedAddresses,
  type Service,
} from '../watch/projections.js';
import { EndpointView, findLabel, labelHashes } from './endpoint-view.js';

/** Maximum endpoints of a view: it is made within a millisecond. */
const MAX_VIEW_ENDPOINTS = 1_024;

/** Up to this number of slices a service has an array of that length: one that grew has memory for 16 more. */
const MAX_EXACT_SLICES = 16;
const NO_SLICES: EndpointSlice[] = [];

/** Maximum endpoints of one hostname: more do not fit into any message. */
const MAX_FOUND = 4_096;

/** An endpoint, by its group and its number there. */
export interface EndpointPlace {
  readonly group: EndpointGroup;
  readonly index: number;
}

/** A service of the zone with its endpoints; the endpoints may arrive before the Service object. */
export class ZoneService {
  /** `namespace/name`. */
  readonly key: string;
  /** Its number in the indexes of names and of addresses. */
  readonly number: number;
  service: Service | undefined;
  #slices: EndpointSlice[] = NO_SLICES;
  #view: EndpointView | undefined;
  #endpointCount = 0;

  constructor(key: string, number: number) {
    this.key = key;
    this.number = number;
  }

  get slices(): readonly EndpointSlice[] {
    return this.#slices;
  }

  get namespaceName(): string {
    return this.key.slice(0, this.key.indexOf('/'));
  }

  get isExternalName(): boolean {
    return this.service?.kind === 'external-name';
  }

  /** Whether its records come from its endpoints. */
  get isHeadless(): boolean {
    return this.service?.kind === 'headless';
  }

  /** The endpoints of all slices; one that is in two of them counts twice. */
  get endpointCount(): number {
    return this.#endpointCount;
  }

  /**
   * Whether it has more endpoints than a view can be made of for a question. It is answered from its slices:
   * records are picked from them by number, and a host is found by the hash of its label or the number of its address.
   */
  get isLarge(): boolean {
    return this.#endpointCount > MAX_VIEW_ENDPOINTS && this.isHeadless;
  }

  /** Whether it has neither a Service object nor slices. */
  get isEmpty(): boolean {
    return this.service === undefined && this.#slices.length === 0;
  }

  /** Its addresses of one family: its cluster addresses, or those of its endpoints when it is headless. */
  get ipv4(): PackedAddresses {
    return this.isHeadless ? this.view.ipv4 : this.service!.ipv4;
  }

  get ipv6(): PackedAddresses {
    return this.isHeadless ? this.view.ipv6 : this.service!.ipv6;
  }

  /**
   * Its hosts: the endpoints of a headless service, else its cluster addresses with generated labels.
   * Made at the first use after a change.
   */
  get view(): EndpointView {
    return (this.#view ??= this.makeView());
  }

  /** Makes a view for one use without storing it. */
  makeView(): EndpointView {
    return new EndpointView(this.#groups());
  }

  /** Whether one of its hosts may have the label at `at`, lower-cased in wire form; makes no view. */
  mayHaveHost(name: Uint8Array, at: number): boolean {
    return (
      this.#view !== undefined || this.#groups().some((group) => findLabel(group, name, at) >= 0)
    );
  }

  /** The endpoints of a large service whose label is the one at `at`, lower-cased in wire form. */
  endpointsOf(name: Uint8Array, at: number): readonly EndpointPlace[] {
    const found: EndpointPlace[] = [];
    for (const { groups } of this.#slices) {
      for (const group of groups) {
        const { hashes } = group;
        let index = findLabel(group, name, at, 0, hashes);
        for (; index >= 0; index = findLabel(group, name, at, index + 1, hashes)) {
          found.push({ group, index });
          if (found.length === MAX_FOUND) return found;
        }
      }
    }
    return found;
  }

  /** Sets the Service object; undefined when it was deleted. */
  put(service: Service | undefined): void {
    this.service = service;
    this.#view = undefined;
    if (this.isLarge) this.#indexEndpoints(this.#slices);
  }

  addSlice(slice: EndpointSlice): void {
    this.#share(slice);
    const wasLarge = this.isLarge;
    if (this.#slices.length >= MAX_EXACT_SLICES) this.#slices.push(slice);
    else this.#slices = [...this.#slices, slice];
    this.#endpointCount += endpointsIn(slice);
    this.#view = undefined;
    if (this.isLarge) this.#indexEndpoints(wasLarge ? [slice] : this.#slices);
  }

  dropSlice(slice: EndpointSlice): void {
    const at = this.#slices.indexOf(slice);
    if (at < 0) return;
    this.#slices.splice(at, 1);
    this.#endpointCount -= endpointsIn(slice);
    this.#view = undefined;
  }

  /** Whether any endpoint is ready. */
  hasEndpoints(): boolean {
    return this.#slices.some(({ groups }) => groups.length > 0);
  }

  #groups(): readonly EndpointGroup[] {
    const { service } = this;
    if (service === undefined || this.isHeadless) {
      return this.#slices.flatMap((slice) => slice.groups);
    }
    const { ipv4, ipv6, ports, ipv4Labels, ipv6Labels } = service;
    return [
      { ...ipv4, labels: ipv4Labels, ports },
      { ...ipv6, labels: ipv6Labels, ports },
    ];
  }

  /** A host of a large service is found by these, by its name or its address; a small one has a view for that. */
  #indexEndpoints(slices: readonly EndpointSlice[]): void {
    for (const { groups } of slices) {
      for (const group of groups) {
        group.hashes ??= labelHashes(group);
        group.numbers ??= addressNumbers(group);
      }
    }
  }

  /** Stores the service's key and equal ports once for all its slices. */
  #share(slice: EndpointSlice): void {
    slice.service = this.key;
    const ports = this.#slices[0]?.groups[0]?.ports;
    if (ports === undefined) return;
    for (const group of slice.groups) {
      if (equalPorts(group.ports, ports)) group.ports = ports;
    }
  }
}

function endpointsIn({ groups }: EndpointSlice): number {
  return groups.reduce((sum, group) => sum + countOf(group), 0);
}
