import type { EndpointGroup, EndpointSlice } from '../cluster/endpoint-slice.js';
import type { PackedAddresses } from '../cluster/packed-addresses.js';
import { equalPorts } from '../cluster/ports.js';
import type { Service } from '../cluster/service.js';
import { EndpointView, hasLabel } from './endpoint-view.js';

/** A service of the zone: what is known of it, and of its endpoints even before it is known itself. */
export class ZoneService {
  /** Its name in wire form. */
  readonly name: Uint8Array;
  /** `namespace/name`. */
  readonly key: string;
  /** The number by which the index of addresses knows it. */
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

  /** Whether nothing is known of it any more. */
  get isForgotten(): boolean {
    return this.service === undefined && this.#slices.length === 0;
  }

  /** Its addresses of one family: those of the cluster, or those of its endpoints. */
  get ipv4(): PackedAddresses {
    return this.isHeadless ? this.view.ipv4 : this.service!.ipv4;
  }

  get ipv6(): PackedAddresses {
    return this.isHeadless ? this.view.ipv6 : this.service!.ipv6;
  }

  /**
   * Its hosts: the endpoints of a headless service, else its own addresses, which have generated labels.
   * They are put in order when they are asked for after a change.
   */
  get view(): EndpointView {
    return (this.#view ??= this.makeView());
  }

  /** The same for one use, without keeping it. */
  makeView(): EndpointView {
    return new EndpointView(this.#groups());
  }

  /** Whether one of its hosts may have the label at `at`, lower-cased in wire form; makes no view. */
  mayHaveHost(name: Uint8Array, at: number): boolean {
    return this.#view !== undefined || this.#groups().some((group) => hasLabel(group, name, at));
  }

  /** Takes over a new state of the service; undefined when it is gone. */
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

  /** What the slices of a service have in common is kept once: its name and, mostly, their ports. */
  #share(slice: EndpointSlice): void {
    slice.service = this.key;
    const known = this.#slices[0]?.groups[0]?.ports;
    if (known === undefined) return;
    for (const group of slice.groups) {
      if (equalPorts(group.ports, known)) group.ports = known;
    }
  }
}
