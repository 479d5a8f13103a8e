/**
 * What the DNS of a cluster must answer, from the objects alone: the Kubernetes DNS specification 1.1.0, written down
 * apart from the product, which it does not import. What the specification leaves open (TTLs, priorities, names of
 * endpoints without a host name) is not compared.
 */

export interface Port {
  readonly name: string;
  readonly protocol: 'TCP' | 'UDP';
  readonly port: number;
}

export interface Endpoint {
  readonly address: string;
  readonly hostname?: string;
  readonly isReady: boolean;
}

/** What the API server has under a name: a service as `web.shop`, or a namespace as `shop`. */
export type ObjectState = ServiceState | { readonly kind: 'Namespace' };

/** A service and its endpoints. One with an address of its own may have endpoints, too: they have no names. */
export interface ServiceState {
  readonly kind: 'ClusterIP' | 'headless' | 'ExternalName';
  readonly clusterIps: readonly string[];
  readonly externalName: string;
  readonly ports: readonly Port[];
  readonly endpoints: readonly Endpoint[];
}

export type AddressType = 'A' | 'AAAA';

/** A name below a service: itself, a host of it, or a port of it. */
export interface ServiceQuestion {
  readonly type: AddressType | 'SRV';
  readonly host?: string;
  /** As `_http._tcp`. */
  readonly port?: string;
}

export interface Expected {
  readonly rcode: 'NOERROR' | 'NXDOMAIN';
  /** `A 10.0.0.1`, `CNAME name`, `SRV port target`: sorted. Targets are without the zone. */
  readonly records: readonly string[];
}

const ABSENT: Expected = { rcode: 'NXDOMAIN', records: [] };

/** What there may be for the name that an ExternalName leads to. */
export type TargetAnswers = (name: string, type: AddressType) => readonly Expected[];

/** The answers that a service in a state may have: several when it leads to a name that has several. */
export function expectedAnswers(
  service: string,
  state: ObjectState | undefined,
  question: ServiceQuestion,
  targetAnswers: TargetAnswers,
): readonly Expected[] {
  if (state?.kind !== 'ExternalName') return [ownAnswer(service, state, question)];
  // Section 2.5: a CNAME record; nothing below it.
  if (question.host !== undefined || question.port !== undefined) return [ABSENT];
  const { externalName } = state;
  const cname = `CNAME ${externalName}`;
  if (question.type === 'SRV') return [found([cname])];
  return targetAnswers(externalName, question.type).map(({ rcode, records }) => ({
    rcode,
    records: [cname, ...records].sort(),
  }));
}

function ownAnswer(
  service: string,
  state: ObjectState | undefined,
  question: ServiceQuestion,
): Expected {
  if (!isService(state)) return ABSENT;
  const ready = state.endpoints.filter(({ isReady }) => isReady);
  const isHeadless = state.kind === 'headless';
  if (question.port !== undefined) return portAnswer(service, state, question, ready);
  if (question.host !== undefined) {
    const ofHost = ready.filter(({ hostname }) => hostname === question.host);
    return isHeadless && ofHost.length > 0 ? addressAnswer(question, ofHost.map(addressOfEndpoint)) : ABSENT; // prettier-ignore
  }
  if (!isHeadless) return addressAnswer(question, state.clusterIps);
  // Section 2.4.1: no ready endpoint is NXDOMAIN.
  return ready.length === 0 ? ABSENT : addressAnswer(question, ready.map(addressOfEndpoint));
}

/**
 * How one may see an object whose watches of services and of slices do not know the same: any of these services, with any
 * of these sets of endpoints of each family. Without a service there is no answer, whatever its slices.
 */
export function seenApart(
  states: readonly (ObjectState | undefined)[],
): (ObjectState | undefined)[] {
  const services = states.filter(isService);
  const endpointsOf = (isIpv6: boolean) =>
    distinct(states, (state) => {
      const endpoints = isService(state) ? state.endpoints : [];
      return endpoints.filter(({ address }) => address.includes(':') === isIpv6);
    });
  const [ipv4, ipv6] = [endpointsOf(false), endpointsOf(true)];
  const parts = distinct(services, (state) => ({ ...state, endpoints: [] }));
  return [
    ...states.filter((state) => !isService(state)),
    ...parts.flatMap((service) =>
      ipv4.flatMap((some) =>
        ipv6.map((others) => ({ ...service, endpoints: [...some, ...others] })),
      ),
    ),
  ];
}

function isService(state: ObjectState | undefined): state is ServiceState {
  return state !== undefined && state.kind !== 'Namespace';
}

/** What a part of these states is, each once. */
function distinct<State, Part>(states: readonly State[], partOf: (state: State) => Part): Part[] {
  return [...new Map(states.map(partOf).map((part) => [JSON.stringify(part), part])).values()];
}

/** Stands for the label of an endpoint that has no host name, which the specification does not say. */
const ANY_LABEL = '*';

/** What the reverse name of an address leads to, in one service: sections 2.3.3 and 2.4.3. The names are without the zone. */
export function reverseTargets(
  service: string,
  state: ObjectState | undefined,
  address: string,
): readonly string[] {
  if (state?.kind === 'ClusterIP') return state.clusterIps.includes(address) ? [`${service}.svc`] : []; // prettier-ignore
  if (state?.kind !== 'headless') return [];
  return state.endpoints
    .filter((endpoint) => endpoint.isReady && endpoint.address === address)
    .map(({ hostname = ANY_LABEL }) => `${hostname}.${service}.svc`);
}

/** Whether a name is what a target says. */
export function isTarget(name: string, target: string): boolean {
  if (!target.startsWith(ANY_LABEL)) return name === target;
  const firstDot = name.indexOf('.');
  return firstDot > 0 && name.slice(firstDot) === target.slice(ANY_LABEL.length);
}

/** `4.3.2.1.in-addr.arpa`, or 32 digits and `ip6.arpa` (RFC 1035 section 3.5, RFC 3596 section 2.5). */
export function reverseNameOf(address: string): string {
  if (!address.includes(':')) return `${address.split('.').reverse().join('.')}.in-addr.arpa`;
  const [before = '', after = ''] = address.split('::');
  const [head, tail] = [before, after].map((part) =>
    part.split(':').filter((group) => group !== ''),
  );
  const zeros = Array.from({ length: 8 - head!.length - tail!.length }, () => '0');
  const groups = [...head!, ...zeros, ...tail!].map((group) => group.padStart(4, '0'));
  return `${Array.from(groups.join('')).reverse().join('.')}.ip6.arpa`;
}

function addressOfEndpoint({ address }: Endpoint): string {
  return address;
}

/** Sections 2.3.2 and 2.4.2. */
function portAnswer(
  service: string,
  state: ServiceState,
  { type, port: asked }: ServiceQuestion,
  ready: readonly Endpoint[],
): Expected {
  const port = state.ports.find(
    ({ name, protocol }) => `_${name}._${protocol.toLowerCase()}` === asked,
  );
  const targets = state.kind === 'headless' ? targetsOf(service, ready) : [`${service}.svc`];
  if (port === undefined || targets.length === 0) return ABSENT;
  if (type !== 'SRV') return found([]);
  return found(targets.map((target) => `SRV ${port.port} ${target}`));
}

/** A host name in both families is one target, an endpoint without one is one of its own. */
function targetsOf(service: string, ready: readonly Endpoint[]): string[] {
  const ofAddress = new Map(
    ready.map(({ hostname, address }) => [hostname ?? `address ${address}`, hostname ?? ANY_LABEL]),
  );
  return [...ofAddress.values()].map((label) => `${label}.${service}.svc`);
}

/** Names of pods are answered from their label alone, in a namespace that exists (README of kubedns). */
export function podAnswer(
  namespace: ObjectState | undefined,
  type: AddressType,
  address: string,
): Expected {
  return namespace === undefined ? ABSENT : addressAnswer({ type }, [address]);
}

function addressAnswer({ type }: ServiceQuestion, addresses: readonly string[]): Expected {
  if (type === 'SRV') return found([]);
  const isAsked = (address: string) => address.includes(':') === (type === 'AAAA');
  return found([...new Set(addresses)].filter(isAsked).map((address) => `${type} ${address}`));
}

/** An answer with these records, or with none. */
export function found(records: string[]): Expected {
  return { rcode: 'NOERROR', records: records.sort() };
}
