import type { EndpointSlice, Service } from '../watch/projections.js';
import type { ServiceIndex } from './service-index.js';
import type { ZoneService } from './zone-service.js';

/** A service as it was at one time. Its object and its slices are never changed, only replaced. */
export interface ServiceState {
  /** `<service>.<namespace>.svc.<zone>` in wire form. */
  readonly name: Uint8Array;
  readonly service: Service | undefined;
  readonly slices: readonly EndpointSlice[];
}

/**
 * All services of a zone as they are when the view is opened, which takes no time: they are read one after another, and what
 * changes before it is read is kept as it was. So it has memory for changes alone.
 */
export class ClusterView {
  readonly #index: ServiceIndex;
  readonly #onClose: (view: ClusterView) => void;
  /** The numbers from here on are still to be read; those from `#end` on came later. */
  #next = 0;
  readonly #end: number;
  /** By number: what was there, where it changed before it was read. */
  readonly #kept = new Map<number, ServiceState>();

  constructor(index: ServiceIndex, onClose: (view: ClusterView) => void) {
    this.#index = index;
    this.#onClose = onClose;
    this.#end = index.size;
  }

  /** To be called before a service changes in any way, also before it is dropped and when it has just been made. */
  keep(entry: ZoneService): void {
    const { number } = entry;
    if (number < this.#next || number >= this.#end || this.#kept.has(number)) return;
    this.#kept.set(number, stateOf(this.#index, entry));
  }

  /** Each service; may be read once. */
  *services(): Generator<ServiceState, void> {
    while (this.#next < this.#end) {
      const number = this.#next++;
      const kept = this.#kept.get(number);
      this.#kept.delete(number);
      const entry = this.#index.serviceIn(number);
      if (kept !== undefined) yield kept;
      else if (entry !== undefined) yield stateOf(this.#index, entry);
    }
  }

  close(): void {
    this.#next = this.#end;
    this.#kept.clear();
    this.#onClose(this);
  }
}

function stateOf(index: ServiceIndex, { number, service, slices }: ZoneService): ServiceState {
  return { name: index.nameOf(number), service, slices: [...slices] };
}
