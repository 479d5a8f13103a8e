import type * as http from 'node:http';
import { SimulatedProcess } from '../machine/process.js';
import { ServiceHistory } from '../model/history.js';
import type { Endpoint, ServiceState } from '../model/service-model.js';
import type { Random } from '../random.js';
import type { SimulatedCluster } from './cluster.js';

/** One request that changes an object, and what the service is after it. */
interface Step {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: object;
  readonly service: string;
  readonly after: ServiceState | undefined;
}

const NAMESPACES = ['default', 'shop', 'media'];
const PORTS = [
  { name: 'http', protocol: 'TCP', port: 80 },
  { name: 'dns', protocol: 'UDP', port: 53 },
] as const;
const RETRY_US = 500_000;
/** Answers older than this are wrong at any time. */
const KEPT_US = 3_600_000_000;

/**
 * The objects of the cluster and the changes that people and controllers make to them, by requests to the API server;
 * the history of what it has had. What the API server had is given to it again when it is started again.
 */
export class World {
  readonly history = new ServiceHistory(KEPT_US);
  readonly services: readonly string[];
  readonly #cluster: SimulatedCluster;
  readonly #random: Random;
  /** Objects by their path, as etcd has them. */
  readonly #objects = new Map<string, object>();
  readonly #steps: Step[] = [];
  #isAsking = false;
  #nextAddress = 1;
  #request: ((step: Step, done: (status: number) => void) => void) | undefined;
  changes = 0;

  constructor(cluster: SimulatedCluster, services: number) {
    this.#cluster = cluster;
    this.#random = cluster.random.fork('world');
    this.services = Array.from(
      { length: services },
      (_, at) => `svc-${at}.${NAMESPACES[at % NAMESPACES.length]!}`,
    );
  }

  start(): void {
    new SimulatedProcess(this.#cluster.api.machine, {
      name: 'controllers',
      program: (load) => {
        const { request } = load('http') as typeof http;
        this.#request = (step, done) => {
          const { method, path, body } = step;
          const headers = { 'content-type': 'application/json' };
          const outgoing = request({ host: '127.0.0.1', port: 8080, method, path, headers, agent: false }, (response) => { response.resume(); response.on('end', () => done(response.statusCode ?? 0)); }); // prettier-ignore
          outgoing.on('error', () => done(0));
          outgoing.end(body === undefined ? undefined : JSON.stringify(body));
        };
      },
    }).start();
    for (const namespace of NAMESPACES.slice(1)) {
      this.#steps.push({ method: 'POST', path: '/api/v1/namespaces', body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }, service: '', after: undefined }); // prettier-ignore
    }
  }

  /** All objects, as a file of manifests. */
  get manifests(): string {
    return JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [...this.#objects.values()] });
  }

  /** The requests that were not answered yet. */
  get pending(): number {
    return this.#steps.length;
  }

  /** Makes a change that the seed draws: a service is created, deleted, scaled, or leads elsewhere. */
  change(): void {
    const service = this.#random.pick(this.services);
    const before = this.history.current(service);
    if (this.#steps.some((step) => step.service === service)) return;
    if (before === undefined) this.#create(service);
    else if (this.#random.chance(0.2)) this.#delete(service, before);
    else if (before.kind === 'ExternalName') this.#leadElsewhere(service, before);
    else if (before.kind === 'headless') this.#scale(service, before);
    else this.#delete(service, before);
    this.#next();
  }

  #create(service: string): void {
    const kind = this.#random.pick(['ClusterIP', 'headless', 'headless', 'ExternalName'] as const);
    const empty: ServiceState = {
      kind,
      clusterIps: kind === 'ClusterIP' ? [`10.96.${this.#random.between(1, 250)}.${this.#nextAddress++ % 250}`] : [], // prettier-ignore
      externalName: kind === 'ExternalName' ? this.#outsideName() : '',
      ports: kind === 'ExternalName' ? [] : PORTS,
      endpoints: [],
    };
    this.#steps.push(objectStep('POST', service, empty));
    if (kind === 'headless') this.#steps.push(sliceStep('POST', service, this.#scaled(empty)));
  }

  #delete(service: string, before: ServiceState): void {
    this.#steps.push(objectStep('DELETE', service, undefined));
    if (before.kind === 'headless') this.#steps.push(sliceStep('DELETE', service, undefined));
  }

  #leadElsewhere(service: string, before: ServiceState): void {
    this.#steps.push(objectStep('PUT', service, { ...before, externalName: this.#outsideName() }));
  }

  #scale(service: string, before: ServiceState): void {
    this.#steps.push(sliceStep('PUT', service, this.#scaled(before)));
  }

  #scaled(before: ServiceState): ServiceState {
    const endpoints: Endpoint[] = Array.from({ length: this.#random.below(5) }, (_, at) => ({
      address: `10.245.${this.#random.below(200)}.${this.#random.between(1, 250)}`,
      isReady: this.#random.chance(0.8),
      ...(this.#random.chance(0.7) && { hostname: `host-${at}` }),
    }));
    return { ...before, endpoints };
  }

  #outsideName(): string {
    return `target-${this.#random.below(1_000)}.example.org`;
  }

  #next(): void {
    const [step] = this.#steps;
    if (step === undefined || this.#isAsking) return;
    this.#isAsking = true;
    const { scheduler, network } = this.#cluster;
    const settle =
      step.service === ''
        ? undefined
        : this.history.begin(step.service, step.after, scheduler.nowUs);
    this.#request!(step, (status) => {
      this.#isAsking = false;
      if (status === 0 || status >= 500) {
        // The API server is away: the same again later.
        scheduler.after(RETRY_US, () => this.#next());
        return;
      }
      this.#steps.shift();
      this.changes++;
      scheduler.note(`${step.method} ${step.path} ${status}`);
      settle?.(scheduler.nowUs);
      if (step.service !== '')
        network.trace?.onChange(
          step.service,
          `${step.method} ${step.path}: ${stateText(step.after)}`,
        );
      const name = step.method === 'POST' ? `${step.path}/${nameOf(step.body!)}` : step.path;
      if (step.body === undefined) this.#objects.delete(name);
      else this.#objects.set(name, step.body);
      this.#next();
    });
  }
}

function stateText(state: ServiceState | undefined): string {
  if (state === undefined) return 'gone';
  const { kind, clusterIps, externalName, endpoints } = state;
  const ready = endpoints.filter(({ isReady }) => isReady).map(({ address }) => address);
  return [kind, ...clusterIps, externalName, ...ready].filter((part) => part !== '').join(' ');
}

function nameOf(body: object): string {
  return (body as { metadata: { name: string } }).metadata.name;
}

function objectStep(
  method: Step['method'],
  service: string,
  after: ServiceState | undefined,
): Step {
  const [name = '', namespace = ''] = service.split('.');
  const folder = `/api/v1/namespaces/${namespace}/services`;
  const path = method === 'POST' ? folder : `${folder}/${name}`;
  if (after === undefined) return { method, path, service, after };
  const { kind, clusterIps, externalName, ports } = after;
  const spec = {
    ExternalName: { type: 'ExternalName', externalName },
    headless: { clusterIP: 'None', ports, selector: { app: name } },
    ClusterIP: { clusterIP: clusterIps[0], ports },
  }[kind];
  const body = { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec };
  return { method, path, body, service, after };
}

function sliceStep(method: Step['method'], service: string, after: ServiceState | undefined): Step {
  const [name = '', namespace = ''] = service.split('.');
  const folder = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
  const path = method === 'POST' ? folder : `${folder}/${name}-1`;
  if (after === undefined) return { method, path, service, after };
  const endpoints = after.endpoints.map(({ address, hostname, isReady }) => ({
    addresses: [address],
    conditions: { ready: isReady },
    hostname,
  }));
  const labels = { 'kubernetes.io/service-name': name };
  const metadata = { name: `${name}-1`, namespace, labels };
  const body = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata, addressType: 'IPv4', endpoints, ports: after.ports }; // prettier-ignore
  return { method, path, body, service, after };
}
