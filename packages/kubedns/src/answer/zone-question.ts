import { suffixOffset } from '@kube-dns/wire';
import { IPV4_BYTES } from '../watch/projections.js';
import type { PodMode } from '../config/flags.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import { podAddress, readPodIpv4 } from '../zone/pod-name.js';
import { NO_SERVICE } from '../zone/service-index.js';
import { matchWildcard } from '../zone/wildcard.js';
import { ZoneName } from '../zone/zone-name.js';
import type { ZoneService } from '../zone/zone-service.js';
import { SERVICE_LABELS, ServiceQuestion } from './service-question.js';

export interface ZoneQuestionOptions {
  readonly zone: ClusterZone;
  readonly pods: PodMode;
  /** Whether `*` is a wildcard; else no name with it exists. */
  readonly wildcards: boolean;
  readonly random: () => number;
  /**
   * The CNAME target of a federated name, in wire form; `undefined` for any other name, `null` while the
   * target is unknown.
   */
  readonly federate?: ((name: ZoneName) => Uint8Array | null | undefined) | undefined;
}

/**
 * The kind of a name in the zone. `interior` names exist without records (empty non-terminals, RFC 4592
 * section 2.2.2); `absent` ones do not exist; `unavailable` ones cannot be answered now; of `unfinished`
 * ones nothing was found within the limits of a wildcard.
 */
export type NameKind =
  | 'apex'
  | 'version'
  | 'name-server'
  | 'interior'
  | 'service'
  | 'cname'
  | 'pod'
  | 'wildcard'
  | 'unfinished'
  | 'unavailable'
  | 'absent';

/** The name of a question, or of a CNAME target, and its kind. Reused for every question. */
export class ZoneQuestion {
  kind: NameKind = 'absent';
  readonly name = new ZoneName();
  /** The part of the service, for the kind `service`. */
  readonly service: ServiceQuestion;
  /** The matching services, for the kind `wildcard`. */
  matches: readonly ZoneService[] = [];
  /** Whether these are all, or as many as one question may find. */
  areAllMatched = true;
  /** The target in wire form, for the kind `cname`. */
  cname: Uint8Array = new Uint8Array(0);
  /** Whether the CNAME is that of a federated name. */
  isFederated = false;
  /** The address, for the kind `pod`. */
  address: Uint8Array = new Uint8Array(0);
  readonly #ipv4 = new Uint8Array(IPV4_BYTES);
  readonly #options: ZoneQuestionOptions;
  readonly #zone: ClusterZone;

  constructor(options: ZoneQuestionOptions) {
    this.#options = options;
    this.#zone = options.zone;
    this.service = new ServiceQuestion(options.zone.index);
  }

  /** Reads a lower-cased name that the zone contains; `apexAt`: where the zone's own name begins in it. */
  read(
    bytes: Uint8Array,
    length: number,
    apexAt = suffixOffset(bytes, length, this.#zone.apex),
  ): void {
    const { name } = this;
    this.isFederated = false;
    name.read(bytes, length, apexAt);
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

  /** Addresses win over CNAMEs: an answer can have only one CNAME, and nothing beside it. */
  #wildcardKind(): NameKind {
    if (!this.#options.wildcards) return 'absent';
    const hasPart = (service: ZoneService) => {
      if (service.service!.cname !== undefined) return true;
      this.service.read(service.number, this.name);
      return this.service.part !== 'absent';
    };
    const { random } = this.#options;
    const found = matchWildcard(this.#zone, this.name, hasPart, random);
    this.areAllMatched = found.isComplete;
    this.matches = found.services.filter(({ service }) => service!.cname === undefined);
    if (this.matches.length > 0) return 'wildcard';
    const cnames = found.services.filter(({ service }) => service!.cname !== undefined);
    if (cnames.length === 0) return this.areAllMatched ? 'absent' : 'unfinished';
    this.cname = cnames[Math.floor(random() * cnames.length)]!.service!.cname!;
    return 'cname';
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
      this.cname = target;
      this.isFederated = true;
      return 'cname';
    }
    const { index, services } = this.#zone;
    const number = index.find(bytes, name.startOf(SERVICE_LABELS - 1), length - services.length);
    if (number === NO_SERVICE) return 'absent';
    if (!index.isSingle(number)) {
      const kind = this.#kindOfService(index.serviceAt(number), count);
      if (kind !== 'service') return kind;
    }
    this.service.read(number, name);
    return this.service.part === 'absent' ? 'absent' : 'service';
  }

  #kindOfService(service: ZoneService, labels: number): NameKind {
    // Its endpoints arrived before its Service object.
    if (service.service === undefined) return 'absent';
    const { cname } = service.service;
    if (cname !== undefined) {
      this.cname = cname;
      return labels === SERVICE_LABELS ? 'cname' : 'absent';
    }
    // A headless service without a ready endpoint has no name (schema 1.1.0 section 2.4.1).
    return service.isHeadless && !service.hasEndpoints() ? 'absent' : 'service';
  }

  /** `<address>.<namespace>.pod.<zone>` is answered from the question alone. */
  #podKind(): NameKind {
    const { name } = this;
    const { hasAllNamespaces } = this.#zone;
    if (name.count === 1) return 'interior';
    if (name.count > 3) return 'absent';
    const isThere = !hasAllNamespaces || this.#zone.hasNamespace(name.bytes, name.startOf(1));
    if (!isThere) return 'absent';
    // Without a list any namespace may exist; NXDOMAIN would cover its pods, too (RFC 8020).
    if (name.count === 2) return 'interior';
    const at = name.startOf(2);
    const address = readPodIpv4(name.bytes, at, this.#ipv4) ? this.#ipv4 : podAddress(name.text(2));
    if (address === undefined) return 'absent';
    this.address = address;
    return 'pod';
  }
}
