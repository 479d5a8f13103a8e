import type { EndpointGroup, EndpointSlice } from '../cluster/endpoint-slice.js';
import type { PackedAddresses } from '../cluster/packed-addresses.js';
import { equalPorts } from '../cluster/ports.js';
import type { Service } from '../cluster/service.js';
import { EndpointView, hasLabel } from './endpoint-view.js';

/** A service of the zone with its endpoints; the endpoints may arrive before the Service object. */
export class ZoneService {
  /** Its name in wire form. */
  readonly name: Uint8Array;
  /** `namespace/name`. */
  readonly key: string;
  /** Its number in the index of addresses. */
  readonly number: number;
  service: Service | undefined;
  readonly #slices: EndpointSlice[] = [];
  #view: EndpointView | undefined;

  constructor(key: string, name: Uint8Array, number: number) {
    this.key = key;
    this.name = name;
    this.number = number;
  }

  get slices(): readonly EndpointSlice[] {
    return this.#slices;
  }

  /** Whether its records come from its endpoints. */
  get isHeadless(): boolean {
    return this.service?.kind === 'headless';
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
    return this.#view !== undefined || this.#groups().some((group) => hasLabel(group, name, at));
  }

  /** Sets the Service object; undefined when it was deleted. */
  put(service: Service | undefined): void {
    this.service = service;
    this.#view = undefined;
  }

  addSlice(slice: EndpointSlice): void {
    this.#share(slice);
    this.#slices.push(slice);
    this.#view = undefined;
  }

  dropSlice(slice: EndpointSlice): void {
    const at = this.#slices.indexOf(slice);
    if (at < 0) return;
    this.#slices.splice(at, 1);
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
