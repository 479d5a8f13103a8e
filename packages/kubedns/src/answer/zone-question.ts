import { suffixOffset } from '@kube-dns/wire';
import type { PodMode } from '../config/naming.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import { podAddress } from '../zone/pod-name.js';
import { matchWildcard } from '../zone/wildcard.js';
import { ZoneName } from '../zone/zone-name.js';
import type { ZoneService } from '../zone/zone-service.js';
import { SERVICE_LABELS, ServiceQuestion } from './service-question.js';

export interface ZoneQuestionOptions {
  readonly zone: ClusterZone;
  readonly pods: PodMode;
  readonly random: () => number;
  /**
   * Where a name leads that belongs to a federation, in wire form; `undefined` for any other name, and
   * `null` when that is not known now.
   */
  readonly federate?: ((name: ZoneName) => Uint8Array | null | undefined) | undefined;
}

/**
 * What a name of the zone is. `interior` names exist without records of their own (RFC 4592 section
 * 2.2.2); `absent` ones do not exist; what `unavailable` ones are cannot be told now.
 */
export type NameKind =
  | 'apex'
  | 'version'
  | 'name-server'
  | 'interior'
  | 'service'
  | 'alias'
  | 'pod'
  | 'wildcard'
  | 'unavailable'
  | 'absent';

/** The name of a question, or of an alias's target, understood. Used again and again. */
export class ZoneQuestion {
  kind: NameKind = 'absent';
  readonly name = new ZoneName();
  /** What is asked of a service, where the kind is `service`. */
  readonly service = new ServiceQuestion();
  /** The services of `wildcard`, which all have what the name asks for. */
  matches: readonly ZoneService[] = [];
  /** The name that `alias` stands for, in wire form. */
  alias: Uint8Array = new Uint8Array(0);
  /** The address of `pod`. */
  address: Uint8Array = new Uint8Array(0);
  readonly #options: ZoneQuestionOptions;
  readonly #zone: ClusterZone;

  constructor(options: ZoneQuestionOptions) {
    this.#options = options;
    this.#zone = options.zone;
  }

  /** Reads a lower-cased name that the zone contains. */
  read(bytes: Uint8Array, length: number): void {
    const { name } = this;
    name.read(bytes, length, suffixOffset(bytes, length, this.#zone.apex));
    this.kind = name.hasWildcard ? this.#wildcardKind() : this.#kindOf();
  }

  #kindOf(): NameKind {
    const { name } = this;
    if (name.count === 0) return 'apex';
    if (name.is(0, 'svc')) return this.#serviceKind();
    if (name.is(0, 'pod')) return this.#options.pods === 'disabled' ? 'absent' : this.#podKind();
    if (name.is(0, 'dns')) {
      if (name.count === 1) return 'interior';
      return name.count === 2 && name.is(1, 'ns') ? 'name-server' : 'absent';
    }
    return name.count === 1 && name.is(0, 'dns-version') ? 'version' : 'absent';
  }

  /** Addresses come before aliases: an answer can have one alias, and that alone. */
  #wildcardKind(): NameKind {
    const all = matchWildcard(this.#zone, this.name, (service) => {
      if (service.service!.alias !== undefined) return true;
      this.service.read(service, this.name);
      return this.service.part !== 'absent';
    });
    this.matches = all.filter(({ service }) => service!.alias === undefined);
    if (this.matches.length > 0) return 'wildcard';
    const aliases = all.filter(({ service }) => service!.alias !== undefined);
    if (aliases.length === 0) return 'absent';
    this.alias = aliases[Math.floor(this.#options.random() * aliases.length)]!.service!.alias!;
    return 'alias';
  }

  #serviceKind(): NameKind {
    const { name } = this;
    const { bytes, length, count } = name;
    if (count === 1) return 'interior';
    if (count === 2) {
      return this.#zone.hasNamespace(bytes, name.startOf(1)) ? 'interior' : 'absent';
    }
    const target = this.#options.federate?.(name);
    if (target === null) return 'unavailable';
    if (target !== undefined) {
      this.alias = target;
      return 'alias';
    }
    const service = this.#zone.findService(bytes, name.startOf(SERVICE_LABELS - 1), length);
    if (service === undefined) return 'absent';
    const { alias } = service.service!;
    if (alias !== undefined) {
      this.alias = alias;
      return count === SERVICE_LABELS ? 'alias' : 'absent';
    }
    // A headless service without a ready endpoint has no name (schema 1.1.0 section 2.4.1).
    if (service.isHeadless && !service.hasEndpoints()) return 'absent';
    this.service.read(service, name);
    return this.service.part === 'absent' ? 'absent' : 'service';
  }

  /** `<address>.<namespace>.pod.<zone>` is made up from the question. */
  #podKind(): NameKind {
    const { name } = this;
    const { knowsNamespaces } = this.#zone;
    if (name.count === 1) return 'interior';
    if (name.count > 3) return 'absent';
    const isThere = !knowsNamespaces || this.#zone.hasNamespace(name.bytes, name.startOf(1));
    if (!isThere) return 'absent';
    // Any namespace may exist where they are unknown; NXDOMAIN would deny its pods too (RFC 8020).
    if (name.count === 2) return 'interior';
    const address = podAddress(name.text(2));
    if (address === undefined) return 'absent';
    this.address = address;
    return 'pod';
  }
}
