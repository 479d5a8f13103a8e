import { createReadStream } from 'node:fs';
import { isIP, isIPv4 } from 'node:net';
import type { Readable } from 'node:stream';
import { addressBytes, reverseName } from '@kube-dns/wire';
import { ApiReader } from '../api-reader.js';
import { reasonOf, refusal } from '../errors.js';
import { asMapping, mappingsOf, textOf, valueAt, type Mapping } from '../manifests/objects.js';
import { readQuestion, type Question, dashedLabel, hashLabel, isName } from '../question.js';
import { LineSplitter } from '../up/log.js';
import { importQuestions, readImports } from './import-questions.js';
import type { CompareOptions } from './options.js';

/** At the default rate and over three ways these take almost an hour. */
const MAX_QUESTIONS = 500_000;

/** Questions without repetition, in order of arrival, at most `max`. */
class QuestionSet implements Iterable<Question> {
  readonly #byKey = new Map<string, Question>();
  readonly #max: number;
  #leftOut = 0;

  constructor(max = MAX_QUESTIONS) {
    this.#max = max;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** How many exceeded the limit. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** Of an object there may be a name that cannot be asked for: a port of 63 characters has no label for its underscore. */
  add(question: Question): void {
    if (!isName(question.name)) return;
    const key = `${question.name} ${question.type}`;
    if (this.#byKey.has(key)) return;
    if (this.#byKey.size >= this.#max) this.#leftOut++;
    else this.#byKey.set(key, question);
  }

  [Symbol.iterator](): Iterator<Question> {
    return this.#byKey.values();
  }
}

/** All questions of a run, and notes about their sources. */
export interface Gathered {
  readonly questions: QuestionSet;
  /** The API server that the objects of the cluster are from. */
  readonly api: string | undefined;
  readonly logs: readonly LogLines[];
  readonly notes: readonly string[];
}

const POD_NAMESPACE = 'default';

/** Reads every source of the options; throws a refusal for one that cannot be read. */
export async function gatherQuestions(options: CompareOptions, stdin: Readable): Promise<Gathered> {
  const { kubeconfig, api, domain, external } = options;
  const questions = new QuestionSet();
  const notes: string[] = [];
  const reader =
    kubeconfig === undefined && api === undefined ? undefined : new ApiReader({ kubeconfig, api });
  if (reader !== undefined) {
    const objects = await readCluster(reader);
    if (objects.services.length === 0) notes.push('the cluster has no services');
    for (const question of clusterQuestions(objects, domain)) questions.add(question);
    const { 'clusterset-domain': clusterset } = options;
    if (clusterset !== undefined) {
      const imported = await readImports(reader);
      if (imported === undefined)
        notes.push('the cluster has no ServiceImports, or they may not be read');
      const found = imported ?? { imports: [], endpoints: [] };
      for (const question of importQuestions(found, clusterset)) questions.add(question);
    }
  }
  for (const question of externalQuestions(external, POD_NAMESPACE, domain))
    questions.add(question);
  for (const file of options.questions) {
    for await (const question of readQuestionFile(file, stdin)) questions.add(question);
  }
  const logs: LogLines[] = [];
  for (const file of options['from-log']) {
    logs.push(await readQueryLog(file, stdin, (question) => questions.add(question)));
  }
  for (const log of logs) notes.push(logNote(log));
  if (questions.leftOut > 0)
    notes.push(`${questions.leftOut} questions exceed the limit and are left out`);
  return { questions, api: reader?.server, logs, notes };
}

function logNote({ file, lines, questions, others, strangers }: LogLines): string {
  return (
    `${file}: ${lines} lines: ${questions} with a question, ` +
    `${others} without one, ${strangers} are not of a query log`
  );
}

const TYPES = ['A', 'AAAA'] as const;

/**
 * The questions of a pod for an external name: with `ndots:5` first those with the search suffixes that the
 * kubelet writes into its resolv.conf, then the name itself.
 */
function* externalQuestions(
  names: readonly string[],
  namespace: string,
  zone: string,
): Generator<Question> {
  const suffixes = [`.${namespace}.svc.${zone}`, `.svc.${zone}`, `.${zone}`, ''];
  for (const name of names) {
    for (const suffix of suffixes) {
      for (const type of TYPES) yield { name: name + suffix, type, kind: 'external' };
    }
  }
}

/**
 * The questions of a file in the format of dnsperf: a name and a type per line, names absolute, comments
 * after `;` or `#`. Throws a refusal that names a malformed line.
 */
async function* readQuestionFile(file: string, stdin: Readable): AsyncGenerator<Question> {
  let number = 0;
  for await (const line of textLines('question file', file, stdin)) {
    number++;
    const text = line.replace(/(^|\s)[;#].*$/, '').trim();
    if (text === '') continue;
    const [name = '', type = '', ...rest] = text.split(/\s+/);
    const question = rest.length === 0 ? readQuestion(name, type, 'given') : undefined;
    if (question === undefined) {
      const shown = JSON.stringify(text.slice(0, 80));
      throw refusal(`${file}: line ${number}: ${shown} is not a name and a record type`);
    }
    yield question;
  }
}

/** Counts of the lines of a log. */
export interface LogLines {
  readonly file: string;
  lines: number;
  /** Lines with a question, repeated ones included. */
  questions: number;
  /** Lines of a query log without a question to ask: replies, errors, other classes, invalid names. */
  others: number;
  /** Lines that are not of a query log. */
  strangers: number;
}

/** The log plugin of CoreDNS, "common" and "combined": `… "A IN abc. udp 21 false 512" NOERROR …`. */
const COREDNS_QUERY = /"(\S+) (\S+) (\S+) (?:udp|tcp|tls|https?|https3|quic|grpc) \d+ \S+ \d+"/;
/** Any other line of CoreDNS begins with its level. */
const COREDNS_OTHER = /(?:^|\s)\[(?:INFO|WARNING|ERROR|DEBUG|FATAL)\] /;
/** dnsmasq with `--log-queries`: `query[A] abc from 10.0.0.1`. */
const DNSMASQ_QUERY = /(?:^|\s)query\[(\S+?)\] (\S+) from \S+/;
/** Any other line of dnsmasq about a query. */
const DNSMASQ_OTHER =
  /(?:^|\s)(?:query\[|(?:forwarded|reply|cached|cached-stale|config|special|validation|rate-limited|\S*\/hosts\S*) \S.* (?:to|is) \S|dnsmasq(?:\[\d+\])?: )/;

/** The question of one line, or whether it is a line of a query log. */
export function readLogLine(line: string): Question | 'other' | 'stranger' {
  const coredns = COREDNS_QUERY.exec(line);
  if (coredns !== null) {
    const [, type = '', dnsClass = '', name = ''] = coredns;
    const question = dnsClass === 'IN' ? readQuestion(name, type, 'given') : undefined;
    return question ?? 'other';
  }
  const dnsmasq = DNSMASQ_QUERY.exec(line);
  if (dnsmasq !== null) {
    const [, type = '', name = ''] = dnsmasq;
    return readQuestion(name, type, 'given') ?? 'other';
  }
  return COREDNS_OTHER.test(line) || DNSMASQ_OTHER.test(line) ? 'other' : 'stranger';
}

/** Passes each question of a log to `onQuestion`; each line may be of CoreDNS or of dnsmasq. */
async function readQueryLog(
  file: string,
  stdin: Readable,
  onQuestion: (question: Question) => void,
): Promise<LogLines> {
  const counts: LogLines = { file, lines: 0, questions: 0, others: 0, strangers: 0 };
  for await (const line of textLines('query log', file, stdin)) {
    if (line.trim() === '') continue;
    counts.lines++;
    const read = readLogLine(line);
    if (read === 'other') counts.others++;
    else if (read === 'stranger') counts.strangers++;
    else {
      counts.questions++;
      onQuestion(read);
    }
  }
  return counts;
}

/** The lines of a file (`-` is stdin), read piece by piece; throws a refusal that names it. */
async function* textLines(what: string, file: string, stdin: Readable): AsyncGenerator<string> {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  const input = file === '-' ? stdin : createReadStream(file);
  try {
    for await (const chunk of input) {
      splitter.push(chunk as Buffer);
      yield* lines.splice(0);
    }
  } catch (cause) {
    throw refusal(`cannot read the ${what} ${file}: ${reasonOf(cause)}`, { cause });
  }
  splitter.end();
  yield* lines;
}

interface NamedPort {
  /** Empty when it has none; then it has no SRV record. */
  readonly name: string;
  readonly protocol: string;
}

/** A Service, reduced to what its names depend on. */
interface ClusterService {
  readonly namespace: string;
  readonly name: string;
  /** Empty for a headless service and for an ExternalName. */
  readonly addresses: readonly string[];
  readonly isHeadless: boolean;
  readonly ports: readonly NamedPort[];
}

interface ClusterEndpoint {
  readonly addresses: readonly string[];
  /** Empty when it has none. */
  readonly hostname: string;
}

/** An EndpointSlice or a subset of Endpoints. */
interface EndpointGroup {
  readonly namespace: string;
  readonly service: string;
  readonly endpoints: readonly ClusterEndpoint[];
  readonly ports: readonly NamedPort[];
}

interface ClusterPod {
  readonly namespace: string;
  readonly addresses: readonly string[];
}

interface ClusterObjects {
  readonly namespaces: readonly string[];
  readonly services: readonly ClusterService[];
  readonly endpoints: readonly EndpointGroup[];
  readonly pods: readonly ClusterPod[];
}

const SERVICE_LABEL = 'kubernetes.io/service-name';

/** The name of a Namespace; undefined for any other value. */
function readNamespace(item: unknown): string | undefined {
  return nameOf(item);
}

/** A Service of the API; undefined for any other value. */
function readService(item: unknown): ClusterService | undefined {
  const name = nameOf(item);
  const spec = fieldsOf(fieldsOf(item).spec);
  if (name === undefined) return undefined;
  const ips = stringsOf(spec.clusterIPs);
  const all = ips.length > 0 ? ips : stringsOf([spec.clusterIP]);
  return {
    namespace: namespaceOf(item),
    name,
    addresses: all.filter((address) => isIP(address) !== 0),
    isHeadless: all.includes('None') && spec.type !== 'ExternalName',
    ports: portsOf(spec.ports),
  };
}

/** An EndpointSlice of the API; empty for one that belongs to no service. */
function readSlice(item: unknown): EndpointGroup[] {
  const fields = fieldsOf(item);
  const service = textOf(valueAt(item, 'metadata', 'labels', SERVICE_LABEL));
  if (service === '') return [];
  const endpoints = mappingsOf(fields.endpoints)
    .filter((one) => fieldsOf(one.conditions).ready !== false)
    .map((one) => ({ addresses: ipsOf(one.addresses), hostname: textOf(one.hostname) }));
  return [{ namespace: namespaceOf(item), service, endpoints, ports: portsOf(fields.ports) }];
}

/** The subsets of an Endpoints object of the API. */
function readEndpoints(item: unknown): EndpointGroup[] {
  const service = nameOf(item);
  if (service === undefined) return [];
  return mappingsOf(fieldsOf(item).subsets).map((subset) => ({
    namespace: namespaceOf(item),
    service,
    endpoints: mappingsOf(subset.addresses).map((one) => ({
      addresses: ipsOf([one.ip]),
      hostname: textOf(one.hostname),
    })),
    ports: portsOf(subset.ports),
  }));
}

/** A Pod of the API with its own address; undefined for any other. */
function readPod(item: unknown): ClusterPod | undefined {
  const { spec, status } = fieldsOf(item);
  const { podIP, podIPs } = fieldsOf(status);
  const listed = mappingsOf(podIPs).map((one) => one.ip);
  const addresses = ipsOf(listed.length > 0 ? listed : [podIP]);
  if (addresses.length === 0 || fieldsOf(spec).hostNetwork === true) return undefined;
  return { namespace: namespaceOf(item), addresses };
}

function portsOf(value: unknown): NamedPort[] {
  return mappingsOf(value).map((port) => ({
    name: textOf(port.name),
    protocol: (textOf(port.protocol) || 'TCP').toLowerCase(),
  }));
}

function nameOf(item: unknown): string | undefined {
  return textOf(valueAt(item, 'metadata', 'name')) || undefined;
}

function namespaceOf(item: unknown): string {
  return textOf(valueAt(item, 'metadata', 'namespace'));
}

function fieldsOf(value: unknown): Mapping {
  return asMapping(value) ?? {};
}

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(textOf).filter((text) => text !== '') : [];
}

function ipsOf(value: unknown): string[] {
  return stringsOf(value).filter((address) => isIP(address) !== 0);
}

/**
 * Reads the objects for the questions. Services must be readable; without slices Endpoints are used, without
 * namespaces those of the services, and without pods the addresses of the endpoints.
 */
async function readCluster(reader: ApiReader): Promise<ClusterObjects> {
  const services: ClusterService[] = [];
  const endpoints: EndpointGroup[] = [];
  const namespaces = new Set<string>();
  const pods: ClusterPod[] = [];
  await reader.list('/api/v1/services', (item) => {
    const service = readService(item);
    if (service === undefined) return;
    services.push(service);
    namespaces.add(service.namespace);
  });
  await reader.listIfAllowed('/api/v1/namespaces', (item) => {
    const name = readNamespace(item);
    if (name !== undefined) namespaces.add(name);
  });
  const hasSlices = await reader.listIfAllowed('/apis/discovery.k8s.io/v1/endpointslices', (item) =>
    endpoints.push(...readSlice(item)),
  );
  if (!hasSlices) {
    await reader.listIfAllowed('/api/v1/endpoints', (item) =>
      endpoints.push(...readEndpoints(item)),
    );
  }
  await reader.listIfAllowed('/api/v1/pods', (item) => {
    const pod = readPod(item);
    if (pod !== undefined) pods.push(pod);
  });
  return { namespaces: [...namespaces].sort(), services, endpoints, pods };
}

const ADDRESS_TYPES = ['A', 'AAAA'] as const;

function typeOf(address: string): string {
  return isIPv4(address) ? 'A' : 'AAAA';
}

/**
 * The questions for all names of a cluster and for some that do not exist: services, ports, endpoints, pods,
 * reverse names, the names above them, and absent names of each kind. May repeat questions.
 */
function* clusterQuestions(objects: ClusterObjects, zone: string): Generator<Question> {
  yield* zoneQuestions(objects.namespaces, zone);
  const headless = new Set<string>();
  for (const service of objects.services) {
    if (service.isHeadless) headless.add(`${service.namespace}/${service.name}`);
    yield* serviceQuestions(service, zone);
  }
  for (const group of objects.endpoints) {
    const isHeadless = headless.has(`${group.namespace}/${group.service}`);
    if (isHeadless) yield* endpointQuestions(group, zone);
    const addresses = group.endpoints.flatMap((endpoint) => endpoint.addresses);
    yield* podQuestions(group.namespace, addresses, zone);
  }
  for (const pod of objects.pods) yield* podQuestions(pod.namespace, pod.addresses, zone);
  yield* absentQuestions(objects, zone);
}

function* zoneQuestions(namespaces: readonly string[], zone: string): Generator<Question> {
  for (const type of ['SOA', 'NS', 'A']) yield { name: zone, type, kind: 'zone' };
  yield { name: `dns-version.${zone}`, type: 'TXT', kind: 'zone' };
  for (const part of ['svc', 'pod']) {
    yield { name: `${part}.${zone}`, type: 'A', kind: 'zone' };
    for (const namespace of namespaces) {
      yield { name: `${namespace}.${part}.${zone}`, type: 'A', kind: 'zone' };
    }
  }
}

function* serviceQuestions(service: ClusterService, zone: string): Generator<Question> {
  const name = `${service.name}.${service.namespace}.svc.${zone}`;
  for (const type of ADDRESS_TYPES) yield { name, type, kind: 'service' };
  const isExternalName = service.addresses.length === 0 && !service.isHeadless;
  yield { name, type: isExternalName ? 'CNAME' : 'SRV', kind: 'service' };
  for (const port of service.ports) {
    if (port.name === '') continue;
    yield { name: `_${port.name}._${port.protocol}.${name}`, type: 'SRV', kind: 'port' };
  }
  for (const address of service.addresses) {
    yield { name: reverseName(addressBytes(address)), type: 'PTR', kind: 'reverse' };
  }
}

function* endpointQuestions(group: EndpointGroup, zone: string): Generator<Question> {
  const service = `${group.service}.${group.namespace}.svc.${zone}`;
  for (const { hostname, addresses } of group.endpoints) {
    for (const address of addresses) {
      yield { name: reverseName(addressBytes(address)), type: 'PTR', kind: 'reverse' };
      const type = typeOf(address);
      if (hostname !== '') yield { name: `${hostname}.${service}`, type, kind: 'endpoint' };
      else {
        const [hash, dashed] = [hashLabel(address), dashedLabel(address)].map(
          (label) => `${label}.${service}`,
        ) as [string, string];
        yield { name: hash, type, kind: 'endpoint', alternate: dashed };
        yield { name: dashed, type, kind: 'endpoint', alternate: hash };
      }
    }
  }
  for (const port of group.ports) {
    if (port.name === '') continue;
    yield { name: `_${port.name}._${port.protocol}.${service}`, type: 'SRV', kind: 'port' };
  }
}

function* podQuestions(
  namespace: string,
  addresses: readonly string[],
  zone: string,
): Generator<Question> {
  for (const address of addresses) {
    const name = `${dashedLabel(address)}.${namespace}.pod.${zone}`;
    yield { name, type: typeOf(address), kind: 'pod' };
  }
}

/** A label that no object has. */
const ABSENT = 'kube-dns-compare-absent';

/** Names of each kind that do not exist: negative answers are compared, too. */
function* absentQuestions(objects: ClusterObjects, zone: string): Generator<Question> {
  const absent = (name: string, type = 'A'): Question => ({ name, type, kind: 'absent' });
  yield absent(`${ABSENT}.${zone}`);
  yield absent(`${ABSENT}.${ABSENT}.${ABSENT}.${zone}`);
  yield absent(`${ABSENT}.svc.${zone}`);
  yield absent(`${ABSENT}.${ABSENT}.svc.${zone}`);
  yield absent(`192-0-2-1.${ABSENT}.pod.${zone}`);
  for (const namespace of objects.namespaces) {
    yield absent(`${ABSENT}.${namespace}.svc.${zone}`);
    yield absent(`${ABSENT}.${namespace}.svc.${zone}`, 'SRV');
    yield absent(`${ABSENT}.${namespace}.pod.${zone}`);
  }
  const seen = new Set<string>();
  for (const service of objects.services) {
    const isExternalName = service.addresses.length === 0 && !service.isHeadless;
    const kind = isExternalName ? 'external' : service.isHeadless ? 'headless' : 'cluster';
    // One of each kind in a namespace: doing this for each service would double the questions.
    const key = `${service.namespace} ${kind}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const name = `${service.name}.${service.namespace}.svc.${zone}`;
    yield absent(`${ABSENT}.${name}`);
    yield absent(`_${ABSENT}._tcp.${name}`, 'SRV');
    yield absent(name, 'TXT');
  }
  const free = unusedAddress(objects);
  if (free !== undefined) yield absent(reverseName(addressBytes(free)), 'PTR');
}

/** An address near that of a service, used by no service: most likely of the service network. */
function unusedAddress({ services }: ClusterObjects): string | undefined {
  const used = new Set(services.flatMap((service) => service.addresses));
  const first = [...used].find(isIPv4);
  if (first === undefined) return undefined;
  const network = first.replace(/[0-9]+$/, '');
  for (let host = 254; host > 0; host--) {
    if (!used.has(network + String(host))) return network + String(host);
  }
  return undefined;
}
