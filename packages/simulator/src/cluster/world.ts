import type * as http from 'node:http';
import { SimulatedProcess } from '../machine/process.js';
import { History } from '../model/history.js';
import { DEFAULT_ROUTING, type Routing } from '../model/outside-model.js';
import type { Endpoint, ObjectState, ServiceState } from '../model/service-model.js';
import type { Random } from '../random.js';
import { DOMAIN, type SimulatedCluster } from './cluster.js';

/** What etcd has. */
interface Stored {
  /** By their path. */
  readonly objects: Map<string, object>;
  /** Services as `web.shop`, namespaces as `shop`. */
  readonly states: Map<string, ObjectState>;
}

/** One request that changes what etcd has. */
interface Step {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: object | undefined;
  /** What the services or namespaces that it changes are after it; asked when it is sent. */
  readonly after: () => readonly (readonly [name: string, state: ObjectState | undefined])[];
  readonly store: (stored: Stored) => void;
  /** It replaces everything: no change of an object is made before it is done. */
  readonly isWhole?: boolean;
  /** Nothing is changed for so long after it. */
  readonly restMs?: number;
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: object | undefined;
}

type Family = 4 | 6;

/** With services; the first one is always there. */
export const NAMESPACES = ['default', 'shop', 'media'] as const;
/** An application of some hundred services: they come and go at once, more than are announced one by one. */
const BULK_NAMESPACE = 'bulk';
/** Without services: they come and go. */
export const BARE_NAMESPACES = ['bare-0', 'bare-1', 'bare-2'] as const;
const OTHER_NAMESPACES = [...NAMESPACES.slice(1), BULK_NAMESPACE];
const NAMESPACE: ObjectState = { kind: 'Namespace' };
const BULK_SERVICES = 300;
/** Changes of other services in that moment, so long after each other. */
const BULK_CHANGES = 6;
const BULK_STEP_US = 2_000;
export const STUB_DOMAIN = 'corp.example';
const STUB_DOMAINS = `{"${STUB_DOMAIN}": ["10.0.0.55"]}`;
const UPSTREAMS = '["10.0.0.55"]';
/** ConfigMaps `kube-dns`, and what follows from them; a mistake leaves everything as it is. */
const CONFIGS: Readonly<Record<string, { data: Record<string, string>; routing?: Routing }>> = {
  'stub domain': {
    data: { stubDomains: STUB_DOMAINS },
    routing: { stubDomains: [STUB_DOMAIN], upstream: 'public' },
  },
  'other upstream': {
    data: { upstreamNameservers: UPSTREAMS },
    routing: { stubDomains: [], upstream: 'corp' },
  },
  both: {
    data: { stubDomains: STUB_DOMAINS, upstreamNameservers: UPSTREAMS },
    routing: { stubDomains: [STUB_DOMAIN], upstream: 'corp' },
  },
  'bad JSON': { data: { stubDomains: STUB_DOMAINS.slice(0, -3) } },
  'half right': { data: { stubDomains: STUB_DOMAINS, upstreamNameservers: '["not an address"]' } },
};
export const CONFIG_NAMES = Object.keys(CONFIGS);

/** Whether the programs refuse a ConfigMap, and say so on their pages. */
export function isRefusedConfig(name: string): boolean {
  return CONFIGS[name]!.routing === undefined;
}

/** Of a service, by its number. */
const FAMILIES: readonly (readonly Family[])[] = [[4], [4, 6], [4], [6, 4], [6]];
const PORTS = [
  { name: 'http', protocol: 'TCP', port: 80 },
  { name: 'dns', protocol: 'UDP', port: 53 },
] as const;
export const CONFIG_MAP = 'kube-dns';
const OTHER_PORTS = [{ name: 'admin', protocol: 'TCP', port: 8080 }, PORTS[1]] as const;
const RETRY_US = 500_000;
/** A cluster that overtakes its last version before kubedns has seen a lower one is not noticed (README of kubedns). */
const REST_MS = 3_000;
/** The controller that makes the slices of a new service takes up to so long. */
const CONTROLLER_US = 1_000_000;
const BACKUP_US = 100_000_000;
/** Answers older than this are wrong at any time. */
const KEPT_US = 3_600_000_000;
/** So many endpoints fit into no answer over UDP. */
const MANY_ENDPOINTS = 60;

/**
 * The objects of the cluster and the changes that people and controllers make to them, by requests to the API server;
 * the history of what it has had. What the API server had is given to it again when it is started again.
 */
export class World {
  readonly history = new History<ObjectState>(KEPT_US);
  /** Of the one ConfigMap that there is. */
  readonly routing = new History<Routing>(KEPT_US);
  readonly services: readonly string[];
  readonly #cluster: SimulatedCluster;
  readonly #random: Random;
  readonly #stored: Stored = { objects: new Map(), states: new Map() };
  readonly #steps: Step[] = [];
  #backup: Stored | undefined;
  #isAsking = false;
  #restUntilUs = 0;
  #nextAddress = 1;
  #request: ((request: Request, done: (status: number) => void) => void) | undefined;
  changes = 0;
  /** Called with a service or a namespace when a request that changes it is sent. */
  onChange: (name: string) => void = () => undefined;
  /** Services whose slices are not made yet. */
  readonly #incomplete = new Set<string>();
  #isBulkThere = false;
  #isOvertaken = false;
  #bulkRequests = 0;

  constructor(cluster: SimulatedCluster, services: number) {
    this.#cluster = cluster;
    this.#random = cluster.random.fork('world');
    this.services = Array.from(
      { length: services },
      // The same names in each namespace.
      (_, at) => `svc-${Math.floor(at / NAMESPACES.length)}.${NAMESPACES[at % NAMESPACES.length]!}`,
    );
    const { nowUs } = this.#cluster.scheduler;
    this.history.begin(NAMESPACES[0], NAMESPACE, nowUs)(nowUs);
  }

  start(): void {
    new SimulatedProcess(this.#cluster.api.machine, {
      name: 'controllers',
      program: (load) => {
        const { request } = load('http') as typeof http;
        this.#request = ({ method, path, body }, done) => {
          const headers = { 'content-type': 'application/json' };
          const outgoing = request({ host: '127.0.0.1', port: 8080, method, path, headers, agent: false }, (response) => { response.resume(); response.on('end', () => done(response.statusCode ?? 0)); }); // prettier-ignore
          outgoing.on('error', () => done(0));
          outgoing.end(body === undefined ? undefined : JSON.stringify(body));
        };
      },
    }).start();
    this.#steps.push(...OTHER_NAMESPACES.map((name) => namespaceStep('POST', name)));
    this.#cluster.scheduler.after(BACKUP_US, () => this.#backUp());
  }

  /** All objects, as a file of manifests. */
  get manifests(): string {
    const items = [...this.#stored.objects.values()];
    return JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  }

  /**
   * Makes a change that the seed draws: a namespace comes or goes; a service is created, deleted, scaled, leads elsewhere, has
   * other ports, or becomes one of another kind over the endpoints that it has.
   */
  change(): void {
    const isNamespace = this.#random.chance(0.05);
    const name = this.#random.pick(isNamespace ? BARE_NAMESPACES : this.services);
    if (this.#isReplacing || this.#incomplete.has(name)) return;
    if (this.#isAsked(name)) return;
    const before = this.#stored.states.get(name);
    if (isNamespace) {
      this.#steps.push(namespaceStep(before === undefined ? 'POST' : 'DELETE', name));
    } else if (before === undefined || before.kind === 'Namespace') this.#create(name);
    else if (this.#random.chance(0.2)) this.#delete(name);
    else if (before.kind === 'ExternalName') this.#leadElsewhere(name, before);
    else if (this.#random.chance(0.25)) this.#turn(name, before);
    else if (before.kind === 'headless') this.#scale(name, before);
    else this.#renamePort(name, before);
    this.#next();
  }

  /** An application of some hundred services is installed, or removed; other services change in that moment. */
  changeMany(): void {
    const isResting = this.#cluster.scheduler.nowUs < this.#restUntilUs;
    if (this.#isReplacing || isResting || this.#bulkRequests > 0) return;
    this.#isBulkThere = !this.#isBulkThere;
    for (let at = 0; at < BULK_SERVICES; at++) {
      const service = `bulk-${at}.${BULK_NAMESPACE}`;
      const state: ServiceState = { kind: 'ClusterIP', clusterIps: [`10.96.${251 + (at >> 8)}.${at & 255}`], externalName: '', ports: PORTS, endpoints: [] }; // prettier-ignore
      this.#changeBeside(this.#isBulkThere ? serviceStep('POST', service, state) : serviceStep('DELETE', service, undefined)); // prettier-ignore
    }
    for (let at = 0; at < BULK_CHANGES; at++) {
      this.#cluster.scheduler.after(at * BULK_STEP_US, () => this.change());
    }
  }

  /** One of many at once, which are not asked for. */
  #changeBeside(step: Step): void {
    this.#bulkRequests++;
    this.#request!(step, (status) => {
      this.#bulkRequests--;
      const { scheduler } = this.#cluster;
      const againUs = Math.max(scheduler.nowUs + RETRY_US, this.#restUntilUs);
      if (isRefused(status)) scheduler.at(againUs, () => this.#changeBeside(step));
      else if (isDone(step, status)) step.store(this.#stored);
    });
  }

  get #isReplacing(): boolean {
    return this.#isOvertaken || this.#steps.some(({ isWhole }) => isWhole);
  }

  /** Notes all objects, from time to time. */
  #backUp(): void {
    this.#steps.push(this.#backupStep());
    this.#next();
    this.#cluster.scheduler.after(BACKUP_US, () => this.#backUp());
  }

  #backupStep(restMs?: number): Step {
    return {
      method: 'POST',
      path: '/_test/backup',
      after: () => [],
      store: ({ objects, states }) => {
        this.#backup = { objects: new Map(objects), states: new Map(states) };
      },
      isWhole: true,
      ...(restMs !== undefined && { restMs }),
    };
  }

  /**
   * All headless services get other endpoints. The result restores what there was before, and gives them others again: each slice
   * has another state under the version that it had. Then nothing changes for a time.
   */
  overtake(): (downMs: number, restMs: number) => void {
    const { states } = this.#stored;
    const headless = this.services.flatMap((service) => {
      const state = states.get(service);
      return state?.kind === 'headless' && !this.#incomplete.has(service) && !this.#isAsked(service) ? [[service, state] as const] : []; // prettier-ignore
    });
    const scaleAll = () => headless.forEach(([service, state]) => this.#scale(service, state));
    this.#steps.push(this.#backupStep());
    scaleAll();
    this.#next();
    // Its slices have to be those that there were.
    this.#isOvertaken = true;
    return (downMs, restMs) => {
      this.#isOvertaken = false;
      this.restore(downMs);
      scaleAll();
      this.#steps.push(this.#backupStep(restMs));
    };
  }

  /** What there was at the last backup is there again, as when an administrator restores etcd. */
  restore(downMs: number): void {
    this.#replace('backup', downMs, () => this.#backup ?? this.#stored);
  }

  /** All objects are gone, as in a new etcd. */
  empty(downMs: number): void {
    this.#replace('empty', downMs, () => ({ objects: new Map(), states: new Map() }));
    this.#steps.push(...OTHER_NAMESPACES.map((name) => namespaceStep('POST', name)));
  }

  #replace(data: string, downMs: number, by: () => Stored): void {
    this.#steps.push({
      method: 'POST',
      path: '/_test/restart',
      body: { data, downMs },
      after: () =>
        [...this.services, ...OTHER_NAMESPACES, ...BARE_NAMESPACES].map((name) => [
          name,
          by().states.get(name),
        ]),
      store: (stored) => {
        const { objects, states } = by();
        replaceMap(stored.objects, objects);
        replaceMap(stored.states, states);
      },
      isWhole: true,
      restMs: downMs + REST_MS,
    });
    this.#next();
  }

  /** Writes the ConfigMap `kube-dns`; the result empties it. */
  configure(name: string): () => void {
    const { data, routing } = CONFIGS[name]!;
    const current = this.routing.current(CONFIG_MAP) ?? DEFAULT_ROUTING;
    // A program that starts has no last good state: so that is the default whenever there is a mistake.
    if (routing === undefined && current !== DEFAULT_ROUTING) return () => undefined;
    this.#mount(data, routing ?? DEFAULT_ROUTING);
    return () => this.#mount({}, DEFAULT_ROUTING);
  }

  #mount(data: Readonly<Record<string, string>>, routing: Routing): void {
    const { nowUs } = this.#cluster.scheduler;
    this.routing.begin(CONFIG_MAP, routing, nowUs)(nowUs);
    this.#cluster.mountConfig(data);
  }

  /** Operates a switch of the API server, as soon as it runs; the result stops trying. */
  switchApi(name: string, body: object = {}): () => void {
    let isWanted = true;
    const send = () => {
      if (!isWanted) return;
      this.#request!({ method: 'POST', path: `/_test/${name}`, body }, (status) => {
        if (status === 0) this.#cluster.scheduler.after(RETRY_US, send);
      });
    };
    send();
    return () => (isWanted = false);
  }

  #create(service: string): void {
    const kinds = ['ClusterIP', 'headless', 'headless', 'ExternalName'] as const;
    const kind = this.#random.pick(isPlain(service) ? kinds.slice(0, -1) : kinds);
    const empty: ServiceState = {
      kind,
      clusterIps: kind === 'ClusterIP' ? this.#clusterIps(service) : [],
      externalName: kind === 'ExternalName' ? this.#target() : '',
      ports: kind === 'ExternalName' ? [] : PORTS,
      endpoints: [],
    };
    this.#steps.push(serviceStep('POST', service, empty));
    if (kind !== 'headless') return;
    this.#incomplete.add(service);
    this.#makeSlices(service, empty, this.#familiesOf(service));
  }

  /** Makes the slices of a service that is new, each at a time of its own. */
  #makeSlices(service: string, state: ServiceState, families: readonly Family[]): void {
    this.#cluster.scheduler.after(this.#random.below(CONTROLLER_US), () => {
      const isPending = this.#isReplacing || this.#isAsked(service);
      if (isPending) this.#makeSlices(service, state, families);
      else if (families.length === 0 || this.#stored.states.get(service) !== state)
        this.#incomplete.delete(service); // prettier-ignore
      else {
        this.#makeSlices(service, this.#scale(service, state, families.slice(0, 1)), families.slice(1)); // prettier-ignore
        this.#next();
      }
    });
  }

  /** Whether a change of it has not had its answer yet. */
  #isAsked(service: string): boolean {
    return this.#steps.some((step) => step.after().some(([name]) => name === service));
  }

  #delete(service: string): void {
    this.#steps.push(serviceStep('DELETE', service, undefined));
    for (const family of this.#familiesOf(service)) {
      if (this.#hasSlice(service, family)) {
        this.#steps.push(sliceStep('DELETE', service, family, undefined));
      }
    }
  }

  #leadElsewhere(service: string, before: ServiceState): void {
    const after = { ...before, externalName: this.#target() };
    this.#steps.push(serviceStep('PUT', service, after));
  }

  #renamePort(service: string, before: ServiceState): void {
    const ports = before.ports === PORTS ? OTHER_PORTS : PORTS;
    this.#steps.push(serviceStep('PUT', service, { ...before, ports }));
  }

  /** Its address cannot be changed: it is deleted, and created again while its slices stay, with their ports. */
  #turn(service: string, before: ServiceState): void {
    const kind = before.kind === 'headless' ? 'ClusterIP' : 'headless';
    const clusterIps = kind === 'headless' ? [] : this.#clusterIps(service);
    this.#steps.push(serviceStep('DELETE', service, undefined));
    const after: ServiceState = { ...before, kind, clusterIps, ports: PORTS };
    this.#steps.push(serviceStep('POST', service, after));
  }

  /** A slice of each family, one after the other. */
  #scale(
    service: string,
    before: ServiceState,
    families = this.#familiesOf(service),
  ): ServiceState {
    let state = before;
    for (const family of families) {
      const others = state.endpoints.filter(({ address }) => familyOf(address) !== family);
      state = { ...state, endpoints: [...others, ...this.#endpoints(family)] };
      const method = this.#hasSlice(service, family) ? 'PUT' : 'POST';
      this.#steps.push(sliceStep(method, service, family, state));
    }
    return state;
  }

  #hasSlice(service: string, family: Family): boolean {
    const { folder, slice } = slicePath(service, family);
    return this.#stored.objects.has(`${folder}/${slice}`);
  }

  #endpoints(family: Family): Endpoint[] {
    const length = this.#random.chance(0.1) ? MANY_ENDPOINTS : this.#random.below(5);
    return Array.from({ length }, (_, at) => ({
      address: this.#endpointAddress(family),
      isReady: this.#random.chance(0.8),
      ...(this.#random.chance(0.7) && { hostname: `host-${at}` }),
    }));
  }

  #endpointAddress(family: Family): string {
    const [c, d] = [this.#random.below(200), this.#random.between(1, 250)];
    return family === 4
      ? `10.245.${c}.${d}`
      : `fd00:245::${(256 + c).toString(16)}:${d.toString(16)}`;
  }

  #clusterIps(service: string): string[] {
    return this.#familiesOf(service).map((family) => {
      const [c, d] = [this.#random.between(1, 250), (this.#nextAddress++ % 250) + 1];
      return family === 4 ? `10.96.${c}.${d}` : `fd00:10:96::${(c * 256 + d).toString(16)}`;
    });
  }

  #familiesOf(service: string): readonly Family[] {
    return FAMILIES[this.services.indexOf(service) % FAMILIES.length]!;
  }

  /** What an ExternalName leads to: a name outside, or a service with an even number, which is no ExternalName itself. */
  #target(): string {
    const domain = this.#random.chance(0.3) ? STUB_DOMAIN : 'example.org';
    if (this.#random.chance(0.5)) return `target-${this.#random.below(1_000)}.${domain}`;
    return `${this.#random.pick(this.services.filter(isPlain))}.svc.${DOMAIN}`;
  }

  #next(): void {
    const [step] = this.#steps;
    const { scheduler } = this.#cluster;
    if (step === undefined || this.#isAsking) return;
    if (scheduler.nowUs < this.#restUntilUs) {
      scheduler.at(this.#restUntilUs, () => this.#next());
      return;
    }
    this.#isAsking = true;
    const settlements = step.after().map(([service, state]) => this.history.begin(service, state, scheduler.nowUs)); // prettier-ignore
    if (step.isWhole !== true) for (const [name] of step.after()) this.onChange(name);
    this.#request!(step, (status) => {
      this.#isAsking = false;
      if (isRefused(status)) {
        // The API server is away, or may have done it: the same again later.
        scheduler.after(RETRY_US, () => this.#next());
        return;
      }
      this.#steps.shift();
      scheduler.note(`${step.method} ${step.path} ${status}`);
      if (isDone(step, status)) this.#onDone(step, settlements);
      else this.#onUndone(step);
      this.#next();
    });
  }

  #onDone(step: Step, settlements: readonly ((nowUs: number) => void)[]): void {
    const { scheduler, network } = this.#cluster;
    this.changes++;
    for (const settle of settlements) settle(scheduler.nowUs);
    for (const [service, state] of step.after()) {
      network.trace?.onChange(service, `${step.method} ${step.path}: ${stateText(state)}`);
    }
    step.store(this.#stored);
    if (step.restMs !== undefined) this.#restUntilUs = scheduler.nowUs + step.restMs * 1_000;
  }

  /** What there was is still there: the API server that had noted a backup is no more. */
  #onUndone(step: Step): void {
    const { nowUs } = this.#cluster.scheduler;
    for (const [service] of step.after()) {
      this.history.begin(service, this.#stored.states.get(service), nowUs)(nowUs);
    }
  }
}

function isRefused(status: number): boolean {
  return status === 0 || status === 429 || status >= 500;
}

/** A request that was sent again finds that it was done. */
function isDone({ method }: Step, status: number): boolean {
  return status < 300 || (method === 'POST' && status === 409) || (method === 'DELETE' && status === 404); // prettier-ignore
}

function replaceMap<T>(map: Map<string, T>, by: ReadonlyMap<string, T>): void {
  const entries = [...by];
  map.clear();
  for (const [name, value] of entries) map.set(name, value);
}

/** Whether a service, by its number, is never an ExternalName. */
function isPlain(service: string): boolean {
  return Number(/\d+/u.exec(service)![0]) % 2 === 0;
}

function stateText(state: ObjectState | undefined): string {
  if (state === undefined) return 'gone';
  if (state.kind === 'Namespace') return 'there';
  const { kind, clusterIps, externalName, endpoints } = state;
  const ready = endpoints.filter(({ isReady }) => isReady).map(({ address }) => address);
  return [kind, ...clusterIps, externalName, ...ready].filter((part) => part !== '').join(' ');
}

function namespaceStep(method: 'POST' | 'DELETE', name: string): Step {
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  const isThere = method === 'POST';
  const states = [[name, isThere ? NAMESPACE : undefined]] as const;
  return objectStep(method, '/api/v1/namespaces', name, isThere ? object : undefined, () => states);
}

/** A request for one object, with its name below a folder. */
function objectStep(
  method: Step['method'],
  folder: string,
  name: string,
  body: object | undefined,
  after: Step['after'],
): Step {
  const path = `${folder}/${name}`;
  return {
    method,
    path: method === 'POST' ? folder : path,
    body,
    after,
    store: ({ objects, states }) => {
      if (body === undefined) objects.delete(path);
      else objects.set(path, body);
      for (const [owner, state] of after()) {
        if (state === undefined) states.delete(owner);
        else states.set(owner, state);
      }
    },
  };
}

function serviceStep(
  method: Step['method'],
  service: string,
  after: ServiceState | undefined,
): Step {
  const [name = '', namespace = ''] = service.split('.');
  const folder = `/api/v1/namespaces/${namespace}/services`;
  const states = [[service, after]] as const;
  if (after === undefined) return objectStep(method, folder, name, undefined, () => states);
  const { kind, clusterIps, externalName, ports } = after;
  const spec = {
    ExternalName: { type: 'ExternalName', externalName },
    headless: { clusterIP: 'None', ports, selector: { app: name } },
    ClusterIP: {
      clusterIP: clusterIps[0],
      clusterIPs: clusterIps,
      ipFamilies: clusterIps.map((address) => `IPv${familyOf(address)}`),
      ipFamilyPolicy: clusterIps.length > 1 ? 'RequireDualStack' : 'SingleStack',
      ports,
    },
  }[kind];
  const body = { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec };
  return objectStep(method, folder, name, body, () => states);
}

/** The slice of a family; it goes with its service. */
function sliceStep(
  method: Step['method'],
  service: string,
  family: Family,
  after: ServiceState | undefined,
): Step {
  const { name, namespace, folder, slice } = slicePath(service, family);
  const states = [[service, after]] as const;
  if (after === undefined) return objectStep(method, folder, slice, undefined, () => states);
  const endpoints = after.endpoints
    .filter(({ address }) => familyOf(address) === family)
    .map(({ address, hostname, isReady }) => ({
      addresses: [address],
      conditions: { ready: isReady },
      hostname,
    }));
  const labels = { 'kubernetes.io/service-name': name };
  const metadata = { name: slice, namespace, labels };
  const body = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata, addressType: `IPv${family}`, endpoints, ports: after.ports }; // prettier-ignore
  return objectStep(method, folder, slice, body, () => states);
}

function slicePath(service: string, family: Family) {
  const [name = '', namespace = ''] = service.split('.');
  const folder = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
  return { name, namespace, folder, slice: `${name}-${family}` };
}

function familyOf(address: string): Family {
  return address.includes(':') ? 6 : 4;
}
