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

/** A service and its endpoints, as the API server has them. */
export interface ServiceState {
  readonly kind: 'ClusterIP' | 'headless' | 'ExternalName';
  readonly clusterIps: readonly string[];
  readonly externalName: string;
  readonly ports: readonly Port[];
  readonly endpoints: readonly Endpoint[];
}

/** A name below a service: itself, a host of it, or a port of it. */
export interface ServiceQuestion {
  readonly type: 'A' | 'AAAA' | 'SRV';
  readonly host?: string;
  /** As `_http._tcp`. */
  readonly port?: string;
}

export interface Expected {
  readonly rcode: 'NOERROR' | 'NXDOMAIN';
  /** `A 10.0.0.1`, `CNAME name`, `SRV port`: sorted. An A record behind a CNAME is the target's. */
  readonly records: readonly string[];
}

const ABSENT: Expected = { rcode: 'NXDOMAIN', records: [] };

/** `undefined`: there is no such service. `addressOf` has the address of a name outside of the cluster. */
export function expectedAnswer(
  state: ServiceState | undefined,
  question: ServiceQuestion,
  addressOf: (name: string) => string,
): Expected {
  if (state === undefined) return ABSENT;
  if (state.kind === 'ExternalName') {
    // Section 2.5: a CNAME record; nothing below it.
    if (question.host !== undefined || question.port !== undefined) return ABSENT;
    const target = `CNAME ${state.externalName}`;
    const address = question.type === 'A' ? [`A ${addressOf(state.externalName)}`] : [];
    return found([target, ...address]);
  }
  const ready = state.endpoints.filter(({ isReady }) => isReady);
  const isHeadless = state.kind === 'headless';
  if (question.port !== undefined) return portAnswer(state, question, ready);
  if (question.host !== undefined) {
    const ofHost = ready.filter(({ hostname }) => hostname === question.host);
    return isHeadless && ofHost.length > 0 ? addressAnswer(question, ofHost.map(addressOfEndpoint)) : ABSENT; // prettier-ignore
  }
  if (!isHeadless) return addressAnswer(question, state.clusterIps);
  // Section 2.4.1: no ready endpoint is NXDOMAIN.
  return ready.length === 0 ? ABSENT : addressAnswer(question, ready.map(addressOfEndpoint));
}

function addressOfEndpoint({ address }: Endpoint): string {
  return address;
}

/** Sections 2.3.2 and 2.4.2. */
function portAnswer(
  state: ServiceState,
  { type, port: asked }: ServiceQuestion,
  ready: readonly Endpoint[],
): Expected {
  const port = state.ports.find(
    ({ name, protocol }) => `_${name}._${protocol.toLowerCase()}` === asked,
  );
  const count = state.kind === 'headless' ? ready.length : 1;
  if (port === undefined || count === 0) return ABSENT;
  if (type !== 'SRV') return found([]);
  return found(Array.from({ length: count }, () => `SRV ${port.port}`));
}

function addressAnswer({ type }: ServiceQuestion, addresses: readonly string[]): Expected {
  if (type === 'SRV') return found([]);
  const isAsked = (address: string) => address.includes(':') === (type === 'AAAA');
  return found([...new Set(addresses)].filter(isAsked).map((address) => `${type} ${address}`));
}

function found(records: string[]): Expected {
  return { rcode: 'NOERROR', records: records.sort() };
}
