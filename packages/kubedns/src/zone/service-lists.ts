import type { ZoneService } from './zone-service.js';

/** The services of a namespace in any order, and the ExternalName services among them. */
export interface NamespaceLists {
  readonly all: ZoneService[];
  readonly externalNames: ZoneService[];
}

/** The services of a zone in lists, so that a wildcard can begin at any of them. Their order has no meaning. */
export class ServiceLists implements NamespaceLists {
  readonly all: ZoneService[] = [];
  readonly externalNames: ZoneService[] = [];
  /** Most names are those of one service: an array for each would take more memory than that. */
  readonly #byName = new Map<string, ZoneService | ZoneService[]>();

  /** The services of this name in all namespaces. */
  named(name: string): readonly ZoneService[] {
    const named = this.#byName.get(name) ?? [];
    return Array.isArray(named) ? named : [named];
  }

  add(namespace: NamespaceLists, name: string, service: ZoneService): void {
    const named = this.#byName.get(name);
    if (named === undefined) this.#byName.set(name, service);
    else if (Array.isArray(named)) named.push(service);
    else this.#byName.set(name, [named, service]);
    namespace.all.push(service);
    this.all.push(service);
  }

  remove(namespace: NamespaceLists, name: string, service: ZoneService): void {
    const named = this.#byName.get(name);
    if (Array.isArray(named)) remove(named, service);
    if (named === service || (named as readonly ZoneService[]).length === 0) {
      this.#byName.delete(name);
    }
    remove(namespace.all, service);
    remove(this.all, service);
  }

  addExternalName(namespace: NamespaceLists, service: ZoneService): void {
    namespace.externalNames.push(service);
    this.externalNames.push(service);
  }

  removeExternalName(namespace: NamespaceLists, service: ZoneService): void {
    remove(namespace.externalNames, service);
    remove(this.externalNames, service);
  }
}

function remove(list: ZoneService[], service: ZoneService): void {
  const at = list.indexOf(service);
  const last = list.pop();
  if (last !== service && last !== undefined) list[at] = last;
}
