/** How large a cluster is. */
export interface ClusterSize {
  readonly services: number;
  /** Endpoint slices, spread evenly over the services. */
  readonly slices: number;
  readonly endpointsPerSlice: number;
  /** Part of the services that is headless, 0 to 1, spread evenly. */
  readonly headless: number;
}

export const ZONE = 'cluster.local';

const SERVICES_PER_NAMESPACE = 100;
/** 10.96.0.0 is the range of services that kubeadm and the API server here have. */
const SERVICE_BASE = ipNumber(10, 96, 2, 0);
/** Pods have 10.128.0.0/9; what changes get later is taken from the upper half of it. */
const POD_BASE = ipNumber(10, 128, 0, 0);
const CHANGED_POD_BASE = ipNumber(10, 192, 0, 0);

function ipNumber(a: number, b: number, c: number, d: number): number {
  return ((a * 256 + b) * 256 + c) * 256 + d;
}

function ipText(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff).join('.');
}

/** The cluster address of the service with this number. */
export function serviceAddress(index: number): string {
  return ipText(SERVICE_BASE + index);
}

/** The address of the n-th endpoint of the whole cluster. */
export function podAddress(index: number): string {
  return ipText(POD_BASE + index);
}

/** The n-th address that no endpoint has from the start. */
export function changedPodAddress(index: number): string {
  return ipText(CHANGED_POD_BASE + index);
}

/**
 * The names and addresses of the objects of a generated cluster: pure functions of numbers, so that every
 * process of the bench can compute them.
 */
export class ClusterPlan {
  readonly size: ClusterSize;

  constructor(size: ClusterSize) {
    this.size = size;
  }

  get namespaces(): number {
    return Math.ceil(this.size.services / SERVICES_PER_NAMESPACE);
  }

  namespaceName(index: number): string {
    return `team-${String(index).padStart(3, '0')}`;
  }

  namespaceOf(service: number): string {
    return this.namespaceName(Math.floor(service / SERVICES_PER_NAMESPACE));
  }

  serviceName(service: number): string {
    return `web-${String(service).padStart(5, '0')}`;
  }

  isHeadless(service: number): boolean {
    const { headless } = this.size;
    return Math.floor((service + 1) * headless) > Math.floor(service * headless);
  }

  /** Every second headless service has pods with hostnames, as a StatefulSet gives them. */
  hasHostnames(service: number): boolean {
    return this.isHeadless(service) && Math.floor(service * this.size.headless) % 2 === 0;
  }

  /** The service that a slice belongs to; the slices of one service are not neighbours. */
  serviceOfSlice(slice: number): number {
    return slice % this.size.services;
  }

  /** The number of the first endpoint of a slice within the whole cluster. */
  firstEndpoint(slice: number): number {
    return slice * this.size.endpointsPerSlice;
  }

  /** Number of slices of the same service before this one. */
  rankOfSlice(slice: number): number {
    return Math.floor(slice / this.size.services);
  }

  hostname(slice: number, endpoint: number): string {
    const ordinal = this.rankOfSlice(slice) * this.size.endpointsPerSlice + endpoint;
    return `${this.serviceName(this.serviceOfSlice(slice))}-${ordinal}`;
  }

  /** The DNS name of a service, without final dot. */
  dnsName(service: number): string {
    return `${this.serviceName(service)}.${this.namespaceOf(service)}.svc.${ZONE}`;
  }
}
