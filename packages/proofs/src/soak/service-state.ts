/** What a service of the proof is; each kind takes another way through kubedns. */
export const SERVICE_KINDS = ['address', 'headless', 'alias'] as const;
export type ServiceKind = (typeof SERVICE_KINDS)[number];

/** An endpoint of a headless service. */
export interface EndpointState {
  readonly hostname: string;
  readonly address: string;
}

/** All DNS data of a service at one of its versions. */
export interface ServiceState {
  readonly kind: ServiceKind;
  readonly name: string;
  readonly namespace: string;
  /** False between its deletion and its return. */
  readonly isThere: boolean;
  /** Of an `address`. */
  readonly clusterIP: string;
  /** A second address, of IPv6. */
  readonly ipv6?: string | undefined;
  readonly portName: string;
  readonly port: number;
  /** Of a `headless`, only those that are ready. */
  readonly ready: readonly EndpointState[];
  readonly unready: readonly EndpointState[];
  /** Of an `alias`, without final dot. */
  readonly target: string;
}

export const NAMESPACES = 10;
/** A service is made, changed twice and deleted; then it begins anew. */
const PHASES = 4;
const DELETED = 3;
const ENDPOINTS = 3;
/** An address is used again after this many lives of a service. */
const GENERATIONS = 4;
const VERSIONS_OF_ADDRESS = 16;
const TARGETS = 50;

/** The namespace of the n-th service. */
export function namespaceOf(index: number): string {
  return `team-${index % NAMESPACES}`;
}

/** The kind of the n-th service. */
export function kindOf(index: number): ServiceKind {
  return SERVICE_KINDS[index % SERVICE_KINDS.length]!;
}

/** An address below 10 that belongs to one service and one of its numbers alone. */
function addressOf(second: number, index: number, number: number): string {
  return `10.${second + number}.${index >> 8}.${index & 0xff}`;
}

/** A service as it is at a version: version 3, 7, … is none. What has no version stays at 0. */
export function serviceState(index: number, version: number): ServiceState {
  const phase = version % PHASES;
  const life = Math.floor(version / PHASES);
  const endpoints = Array.from({ length: ENDPOINTS }, (_, i) => ({
    hostname: `h${i}`,
    // The first endpoint moves with each version, the others stay.
    address: addressOf(128, index, i === 0 ? ENDPOINTS + (version % VERSIONS_OF_ADDRESS) : i),
  }));
  const isOneUnready = phase === 2;
  return {
    kind: kindOf(index),
    name: `s${index}`,
    namespace: namespaceOf(index),
    isThere: phase !== DELETED,
    clusterIP: addressOf(100, index, life % GENERATIONS),
    portName: phase === 1 ? 'admin' : 'web',
    port: phase === 2 ? 8080 : 80,
    ready: isOneUnready ? endpoints.slice(0, -1) : endpoints,
    unready: isOneUnready ? endpoints.slice(-1) : [],
    target: `w${(index + version) % TARGETS}.t300.world.test`,
  };
}
