import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isIP } from 'node:net';
import { errorText, shownUrl } from '@kube-dns/base';
import { parseDnsConfig } from '@kube-dns/daemon';
import { parse } from 'yaml';
import { ApiReader, LOCAL_API } from '../api-reader.js';
import { CliError, refusal } from '../errors.js';
import {
  askPage,
  type ExplainerName,
  fetchText,
  firstPage,
  forward,
  isSilence,
  noReply,
  perProgram,
} from '../explain/programs.js';
import {
  asMapping,
  imageName,
  InputError,
  mappingsOf,
  readKubeObjects,
  textOf,
  unreadable,
  valueAt,
  type Mapping,
} from '../manifests/objects.js';
import { factsOfAnswers, planLocal, planProbe } from './ask-facts.js';
import { askAll, type AskPlan, type AskResult } from './ask-program.js';
import { ClusterObjects, newer, selects, type ServiceObject } from './cluster-objects.js';
import type { ComparedAnswer, FactName, Facts, FactValues } from './facts.js';
import { factsOfObjects, kubeletOf } from './object-facts.js';
import { configsInUse, factsOfPages, settingOf, type ProgramPages } from './page-facts.js';
import { probe } from './probe.js';
import { counted, listed } from './rule.js';

/** Where the facts of a cluster are from. */
export interface ClusterSource {
  /** Undefined: the API server of `--api`, or that of `kube-dns up`. */
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly api: string | undefined;
  /** Of the DNS. */
  readonly namespace: string;
  /** Undefined: nothing is started. */
  readonly probe: ProbeWish | undefined;
  /** Looks also for what an installation needs. */
  readonly isPre: boolean;
  /** Of the pages of `kube-dns up`, on this machine. */
  readonly ports: Readonly<Record<ExplainerName, readonly number[]>>;
  /** The folder with `manifests`. */
  readonly repository: string;
}

export interface ProbeWish {
  readonly namespace: string;
  /** Undefined: that of the DNS pods. */
  readonly image: string | undefined;
  /** A name that is not in the cluster. */
  readonly outside: string;
  readonly signal: AbortSignal;
}

export interface Gathered {
  /** What was looked at, for the first line of a report. */
  readonly source: string;
  readonly facts: Facts;
  /** Pages that could not be read, and why. */
  readonly notRead: readonly string[];
}

type Reasons = Partial<Record<FactName, string>>;

/** Facts that only pages of programs have. */
const OF_PAGES: readonly FactName[] = ['programs', 'apiServer', 'notReady', 'upstreams', 'certificates', 'traffic', 'questionTypes', 'nodeRules', 'subscriptions', 'watches', 'configsInUse', 'compared', 'clocks']; // prettier-ignore
const OF_QUESTIONS: readonly FactName[] = ['asked', 'askedOutside', 'flow', 'pairs', 'resolvConf'];
const OF_PRE: readonly FactName[] = ['missingRights', 'version', 'wantedAddress'];

function namesOf(values: Partial<FactValues>): FactName[] {
  return Object.keys(values) as FactName[];
}

function reasonsFor(names: readonly FactName[], reason: string): Reasons {
  return Object.fromEntries(names.map((name) => [name, reason]));
}

/** Of YAML: they take a second. */
const MANY_CHARACTERS = 2 ** 20;

/**
 * The facts of manifests and dumps; `-` is the standard input. Throws an InputError for a file that cannot be read. `note`
 * gets a sentence about what takes long.
 */
export async function gatherFiles(
  files: readonly string[],
  namespace: string,
  stdin: AsyncIterable<Buffer>,
  note: (text: string) => void,
): Promise<Gathered> {
  const objects = new ClusterObjects(namespace);
  let count = 0;
  for (const file of files) {
    const text = await readText(file, stdin);
    if (text.length > MANY_CHARACTERS && !text.trimStart().startsWith('{')) {
      const mib = Math.round(text.length / 2 ** 20);
      note(
        `${file} has ${mib} MiB of YAML: this takes a while; kubectl get -o json is read faster`,
      );
    }
    for (const { kind, value } of readKubeObjects(text, file)) {
      objects.add(kind, value);
      count++;
    }
  }
  if (count === 0) throw new InputError(`no object is in ${files.join(', ')}`);
  return {
    source: `${counted(count, 'object')} of ${listed(files)}`,
    facts: factsOfFiles(objects),
    notRead: [],
  };
}

/** The facts of the objects of files: what only a cluster shows is unseen. */
export function factsOfFiles(objects: ClusterObjects): Facts {
  // Without a DaemonSet there is no cache on the nodes: nearly no file has one.
  const isThere = (kind: string) =>
    kind === 'DaemonSet' ||
    (kind === 'pod template' ? TEMPLATES : [kind]).some((each) => objects.counts.has(each));
  const { values, unseen } = factsOfObjects(objects, (kind) =>
    isThere(kind) ? undefined : `the files have no ${kind}`,
  );
  const ofClusters = reasonsFor([...OF_PAGES, ...OF_QUESTIONS, ...OF_PRE], 'files do not show it');
  return { values, unseen: Object.assign(ofClusters, unseen) };
}

/** What has a resolver: a pod, or a template of pods. */
const TEMPLATES = ['Pod', 'Deployment', 'DaemonSet', 'StatefulSet', 'ReplicaSet', 'Job'];

async function readText(file: string, stdin: AsyncIterable<Buffer>): Promise<string> {
  try {
    if (file !== '-') return readFileSync(file, 'utf8');
    const chunks: Buffer[] = [];
    for await (const chunk of stdin) chunks.push(chunk);
    return Buffer.concat(chunks).toString('utf8');
  } catch (error) {
    throw unreadable(file === '-' ? 'the standard input' : file, error);
  }
}

/** Each kind with the path of its list. */
function listsOf(namespace: string): readonly (readonly [kind: string, path: string])[] {
  return [
    ['Service', '/api/v1/services'],
    ['EndpointSlice', '/apis/discovery.k8s.io/v1/endpointslices'],
    ['Namespace', '/api/v1/namespaces'],
    ['Node', '/api/v1/nodes'],
    ['Pod', `/api/v1/namespaces/${namespace}/pods`],
    ['ConfigMap', `/api/v1/namespaces/${namespace}/configmaps`],
    ['Deployment', '/apis/apps/v1/deployments'],
    ['DaemonSet', '/apis/apps/v1/daemonsets'],
    ['StatefulSet', '/apis/apps/v1/statefulsets'],
    ['PodDisruptionBudget', `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`],
    ['NetworkPolicy', '/apis/networking.k8s.io/v1/networkpolicies'],
  ];
}

/**
 * The facts of a cluster, or of the pod of `kube-dns up`. Throws a refusal when the API server does not answer, unless the
 * programs of that pod do, or hang.
 */
export async function gatherCluster(source: ClusterSource): Promise<Gathered> {
  const { kubeconfig, context, namespace } = source;
  const isLocal = kubeconfig === undefined;
  const api = new ApiReader({
    kubeconfig,
    context,
    api: source.api ?? (isLocal ? LOCAL_API : undefined),
  });
  const objects = new ClusterObjects(namespace);
  const version = await versionOf(api);
  const isAway = version instanceof Error;
  if (isAway && !isLocal) {
    const advice = `kube-dns check --api=${shownUrl(api.server)} in a DNS pod looks at its programs without the API server`;
    throw refusal(`${version.message}; ${advice}`, { cause: version });
  }
  if (isAway && source.isPre) throw version;
  const missing = isAway ? allMissing(namespace) : await listAll(api, objects, isLocal);
  const ofObjects = factsOfObjects(objects, (kind) => missing.get(kind));
  const pages = isLocal
    ? await localPages(source.ports)
    : await clusterPages(objects, source, missing);
  try {
    if (isAway && pages.found.length + pages.hanging.length === 0) throw version;
    const values: Partial<FactValues> = { apiServer: { failure: isAway ? version.message : '' } };
    const ofPages: Partial<FactValues> = factsOfPages(pages.found.map(({ pages: each }) => each));
    Object.assign(values, ofObjects.values, ofPages, programsOf(pages));
    const compared = await comparedFacts(objects, pages, values);
    Object.assign(ofPages, compared);
    Object.assign(values, compared);
    const noConfigMaps = missing.get('ConfigMap');
    const wanted = noConfigMaps === undefined ? wantedServers(objects) : undefined;
    if (pages.found.length > 0 && wanted !== undefined) {
      const all = pages.found.map(({ pages: each }) => each);
      const inUse = { configsInUse: configsInUse(all, wanted) };
      Object.assign(ofPages, inUse);
      Object.assign(values, inUse);
    }
    const partly: Reasons = pages.partly === '' ? {} : reasonsFor(namesOf(ofPages), pages.partly);
    if (!isAway)
      Object.assign(values, { clocks: [...(values.clocks ?? []), ...apiClock(version)] });
    if ('nodeCache' in values && values.nodeCache === undefined)
      Object.assign(values, { nodeRules: [] });
    if (values.kubelets === undefined && !isLocal) {
      const asked = await kubeletFacts(api, values);
      Object.assign(values, asked);
      const [of, all] = [asked.kubelets?.length ?? 0, values.nodes?.length ?? 0];
      if (of < all) partly.kubelets = `${of} of ${counted(all, 'node')}`;
    }
    if (!isAway) Object.assign(values, await clientNames(api, values));
    const asked = isLocal
      ? await localAnswers(pages, values)
      : await probeAnswers(api, objects, source, values);
    Object.assign(values, asked.values);
    if (source.isPre) Object.assign(values, await preFacts(api, objects, source));
    return {
      source: isLocal
        ? `kube-dns up at ${shownUrl(api.server)}`
        : `the cluster at ${shownUrl(api.server)}`,
      facts: {
        values,
        partly,
        hangs: hangsOf(pages, values),
        unseen: unseenOf(ofObjects.unseen, pages, asked.reason, {
          isLocal,
          isAway,
          noWanted:
            wanted === undefined ? (noConfigMaps ?? 'the ConfigMap kube-dns is refused') : '',
        }),
      },
      notRead: pages.found.length === 0 ? [] : pages.failed,
    };
  } finally {
    pages.close();
  }
}

/** Which programs answer, and which hang; nothing where there are none. */
function programsOf({ found, hanging }: FoundPages): Partial<FactValues> {
  const answering = found.map(({ pages: { by } }) => ({ of: by, hang: '' }));
  const programs = [...answering, ...hanging.map(({ of, hang }) => ({ of, hang }))];
  return programs.length === 0 ? {} : { programs };
}

/** What each program says, beside what all say. */
const SAID_BY: Readonly<Record<PageProgram, readonly FactName[]>> = {
  kubedns: ['watches', 'zones', 'hiddenNamespaces'],
  dnsmasq: ['traffic', 'subscriptions', 'asked'],
  'node-cache': ['traffic', 'subscriptions', 'nodeRules'],
  CoreDNS: [],
};
const SAID_BY_ALL: readonly FactName[] = ['notReady', 'upstreams', 'certificates', 'configsInUse', 'compared', 'clocks', 'questionTypes']; // prettier-ignore
/** Objects and other programs of a kind say the same. */
const SAID_ELSEWHERE: readonly FactName[] = ['zones', 'hiddenNamespaces', 'asked'];

/** Of each fact that lacks what a program that hangs would say, how that hangs. */
export function hangsOf(
  { hanging }: Pick<FoundPages, 'hanging'>,
  values: Partial<FactValues>,
): Reasons {
  const rows = hanging.map(({ of, program, hang }) => {
    const said = [...SAID_BY[program], ...SAID_BY_ALL];
    const names = said.filter((name) => !(SAID_ELSEWHERE.includes(name) && name in values));
    return reasonsFor(names, `${of} hangs (${hang})`);
  });
  return Object.assign({}, ...rows) as Reasons;
}

interface Sight {
  readonly isLocal: boolean;
  /** The API server does not answer. */
  readonly isAway: boolean;
  /** Why it is not known which servers the ConfigMap names; empty where it is. */
  readonly noWanted: string;
}

/** Why each fact is not there, the most exact reason last. */
function unseenOf(
  ofObjects: Reasons,
  { found, reason }: FoundPages,
  notAsked: string,
  { isLocal, isAway, noWanted }: Sight,
): Reasons {
  const reasons = reasonsFor(OF_PAGES, reason);
  Object.assign(reasons, reasonsFor(OF_QUESTIONS, notAsked));
  Object.assign(reasons, reasonsFor(OF_PRE, 'the API server or the manifests do not say it'));
  if (found.length > 0) {
    reasons.questionTypes = 'no program counts questions by type: --coredns-metrics does';
    reasons.nodeRules = 'no page of a node cache was read';
    reasons.certificates = 'the metrics of a program were not read';
  }
  if (noWanted !== '') reasons.configsInUse = noWanted;
  if (isAway) reasons.compared = API_AWAY;
  Object.assign(reasons, ofObjects);
  if (isLocal) reasons.kubelets = 'kube-dns up has no kubelet';
  return reasons;
}

const API_AWAY = 'the API server does not answer';

/** Why each kind could not be listed, without an API server. */
function allMissing(namespace: string): ReadonlyMap<string, string> {
  const kinds = listsOf(namespace).map(([kind]) => kind);
  return new Map([...kinds, 'pod template'].map((kind) => [kind, API_AWAY]));
}

/** Lists all kinds side by side; returns for those that could not be listed why. */
async function listAll(
  api: ApiReader,
  objects: ClusterObjects,
  isLocal: boolean,
): Promise<ReadonlyMap<string, string>> {
  const rows = await Promise.all(
    listsOf(objects.namespace).map(async ([kind, path]) => {
      const reason = await api.listOrReason(path, (item) => {
        const value = asMapping(item);
        if (value !== undefined) objects.add(kind, value);
      });
      return [kind, reason] as const;
    }),
  );
  const missing = new Map(rows.filter(([, reason]) => reason !== ''));
  // The pod of `kube-dns up` is no object of its API server, and this machine no node.
  const isUnknown = (kind: string) => isLocal && !objects.counts.has(kind);
  for (const kind of ['Deployment', 'Pod', 'Node'])
    if (isUnknown(kind)) missing.set(kind, `kube-dns up has no ${kind}`);
  const template = ['Deployment', 'DaemonSet', 'StatefulSet']
    .map((kind) => missing.get(kind))
    .find((reason) => reason !== undefined);
  if (template !== undefined) missing.set('pod template', template);
  return missing;
}

type PageProgram = ExplainerName | 'CoreDNS';

/** A program that has its port, and does not answer. */
interface Hanging {
  readonly program: PageProgram;
  /** As `dnsmasq` or `dnsmasq of pod kube-dns-5c8f7`. */
  readonly of: string;
  /** As `port 10056: no answer within 2 s`. */
  readonly hang: string;
}

/** Pages, and the ports on this machine where a program explains. */
interface FoundPages {
  readonly hanging: readonly Hanging[];
  readonly found: readonly { readonly port: number; readonly pages: ProgramPages }[];
  /** Why there are none. */
  readonly reason: string;
  /** A sentence for each that could not be read. */
  readonly failed: readonly string[];
  /** Of how many pods all pages were read, where that is not all of them: `2 of 3 pods`; else empty. */
  readonly partly: string;
  close(): void;
}

const PAGE_MS = 2_000;
/** The way through kubectl and the API server may be long. */
const FORWARDED_PAGE_MS = 5_000;

async function pagesAt(
  port: number,
  limitMs: number,
  by: (program: string) => string,
): Promise<ProgramPages> {
  const startMs = Date.now();
  const [{ status, body }, metrics] = await Promise.all([
    fetchText(port, '/status', limitMs),
    fetchText(port, '/metrics', limitMs).then(
      (answer) => (answer.status === 200 ? answer.body : ''),
      () => '',
    ),
  ]);
  const report = status === 200 ? asMapping(JSON.parse(body)) : undefined;
  if (report === undefined && metrics === '') throw new Error(`HTTP status ${status}`);
  const at = Date.parse(textOf(report?.at));
  const aheadMs = Number.isNaN(at) ? 0 : at - (startMs + Date.now()) / 2;
  return { by: by(textOf(report?.program) || 'CoreDNS'), report, metrics, aheadMs };
}

/** The programs of `kube-dns up` on this machine. */
async function localPages(
  ports: Readonly<Record<ExplainerName, readonly number[]>>,
): Promise<FoundPages> {
  const tried = await Promise.all(
    Object.values(perProgram((program) => localProgram(program, ports[program]))),
  );
  const found = tried.flatMap((each) => (each !== undefined && 'pages' in each ? [each] : []));
  const hanging = tried.flatMap((each) => (each !== undefined && 'hang' in each ? [each] : []));
  const failed = hanging.map(({ of, hang }) => `${of}: ${hang}`);
  return {
    found,
    hanging,
    reason: failed[0] ?? 'no program has a status page on this machine',
    failed,
    partly: failed.length === 0 ? '' : `${found.length} of ${counted(found.length + failed.length, 'program')}`, // prettier-ignore
    close: () => undefined,
  };
}

/** The pages of a program at the first of its ports that has them. */
async function localProgram(
  program: ExplainerName,
  ports: readonly number[],
): Promise<FoundPages['found'][number] | Hanging | undefined> {
  const first = await firstPage(ports, PAGE_MS, (port) => pagesAt(port, PAGE_MS, (by) => by));
  if (first === undefined) return undefined;
  if ('port' in first) return { port: first.port, pages: first.page };
  return {
    program,
    of: program,
    hang: `port ${first.silent} of this machine: ${noReply(PAGE_MS)}`,
  };
}

/** The programs and the ports of their pages, by the name of an image. */
const PAGE_PORTS: readonly (readonly [image: RegExp, port: number, program: PageProgram])[] = [
  [/^(?:kubedns|k8s-dns-kube-dns)$/, 10_055, 'kubedns'],
  [/^(?:dnsmasq|k8s-dns-dnsmasq-nanny)$/, 10_056, 'dnsmasq'],
  [/^(?:node-cache|k8s-dns-node-cache)$/, 9_353, 'node-cache'],
  [/coredns/, 9_153, 'CoreDNS'],
];
/** The pages of more pods are not read. */
const MAX_PODS = 10;

async function clusterPages(
  objects: ClusterObjects,
  { kubeconfig, context, namespace }: ClusterSource,
  missing: ReadonlyMap<string, string>,
): Promise<FoundPages> {
  const children: ChildProcess[] = [];
  const close = () => {
    for (const child of children) child.kill();
  };
  const [service] = objects.dnsServices();
  const running = objects
    .of('Pod')
    .filter((pod) => valueAt(pod, 'status', 'phase') === 'Running' && isDnsPod(pod, service));
  const pods = running.slice(0, MAX_PODS);
  const wanted = pods.flatMap(
    (pod) =>
    portsOf(pod).map(([, port, program]) => ({ name: textOf(valueAt(pod, 'metadata', 'name')), port, program })), // prettier-ignore
  );
  if (wanted.length === 0) {
    const reason = missing.get('Pod') ?? 'no pod of the DNS runs';
    return { found: [], hanging: [], reason, failed: [], partly: '', close };
  }
  const results = await Promise.allSettled(
    wanted.map(async ({ name, port }) => {
      const [local = 0] = await forward({ namespace, name, kubeconfig, context }, port, children);
      const pages = await pagesAt(local, FORWARDED_PAGE_MS, (program) => `${program} of pod ${name}`); // prettier-ignore
      return { port: local, pages };
    }),
  );
  const found = results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const failed = results.flatMap((each, i) => {
    const { name = '', port = 0 } = wanted[i] ?? {};
    return each.status === 'fulfilled'
      ? []
      : [`port ${port} of pod ${name}: ${errorText(each.reason)}`];
  });
  const hanging = wanted.flatMap(({ name, port, program }, i): Hanging[] => {
    const result = results[i];
    if (result?.status !== 'rejected' || !isSilence(result.reason, FORWARDED_PAGE_MS)) return [];
    return [{ program, of: `${program} of pod ${name}`, hang: `port ${port}: ${errorText(result.reason)}` }]; // prettier-ignore
  });
  const more = running.length - pods.length;
  const unread = new Set(wanted.flatMap(({ name }, i) => (results[i]?.status === 'rejected' ? [name] : []))); // prettier-ignore
  const whole = pods.length - unread.size;
  const reason = failed[0] ?? 'no program of the DNS pods has a status page';
  return {
    found,
    hanging,
    reason,
    failed: more > 0 ? [...failed, `${more} more pods of the DNS`] : failed,
    partly: whole < running.length ? `${whole} of ${counted(running.length, 'pod')}` : '',
    close,
  };
}

function isDnsPod(pod: Mapping, service: ServiceObject | undefined): boolean {
  const labels = asMapping(valueAt(pod, 'metadata', 'labels')) ?? {};
  if (labels['k8s-app'] === 'node-local-dns') return true;
  return service !== undefined && selects({ matchLabels: service.selector }, labels);
}

function portsOf(pod: Mapping) {
  const images = mappingsOf(valueAt(pod, 'spec', 'containers')).map(({ image }) =>
    imageName(textOf(image)),
  );
  return PAGE_PORTS.filter(([pattern]) => images.some((image) => pattern.test(image)));
}

/** The servers of the ConfigMap as the page of dnsmasq shows them; undefined without it, or when it is refused. */
function wantedServers(objects: ClusterObjects): Readonly<Record<string, string>> | undefined {
  const files = objects.configMap('kube-dns');
  // `kube-dns up` has none, and so does a cluster before the first setting.
  if (files === undefined) return {};
  try {
    const { stubDomains, upstreamNameservers } = parseDnsConfig(files);
    const stubs = [...stubDomains].map(([domain, servers]) => [`stubDomains ${domain}`, servers.join(', ')]); // prettier-ignore
    const upstreams = upstreamNameservers.join(', ');
    return Object.fromEntries([...(upstreams === '' ? [] : [['upstreamNameservers', upstreams]]), ...stubs]) as Record<string, string>; // prettier-ignore
  } catch {
    return undefined; // the finding of the ConfigMap says it
  }
}

/** The service of the API, that of the DNS and those that changed last. */
const MAX_COMPARED = 7;

async function comparedFacts(
  objects: ClusterObjects,
  { found }: FoundPages,
  { zones, hiddenNamespaces = [] }: Partial<FactValues>,
): Promise<Partial<FactValues>> {
  const zone = zones?.[0]?.zone;
  const programs = found.filter(({ pages }) => pages.report !== undefined);
  if (zone === undefined || programs.length === 0) return {};
  const dns = objects.dnsServices()[0];
  const rank = (each: ServiceObject) => Number(each !== dns && each.name !== 'kubernetes');
  const services = objects.services
    .filter(
      ({ namespace, clusterIps }) =>
        isIP(clusterIps[0] ?? '') === 4 && !hiddenNamespaces.includes(namespace),
    ) // prettier-ignore
    .sort(
      (one, other) =>
        rank(one) - rank(other) || (newer(one.version, other.version) === one.version ? -1 : 1),
    ) // prettier-ignore
    .slice(0, MAX_COMPARED);
  const rows = await Promise.all(
    programs.flatMap(({ port, pages: { by } }) =>
      services.map(async ({ namespace, name, clusterIps }): Promise<ComparedAnswer[]> => {
        const asked = `${name}.${namespace}.svc.${zone}.`;
        try {
          const { verdict } = await askPage(port, asked, 'A', undefined, PAGE_MS);
          const answered = verdict.answers.flatMap((each) => / IN A (\S+)$/.exec(each)?.[1] ?? []);
          const wanted = clusterIps.filter((ip) => isIP(ip) === 4);
          return [{ by, name: asked, wanted, answered }];
        } catch {
          return []; // a program without this page: it is compared where there is one
        }
      }),
    ),
  );
  const compared = rows.flat();
  return compared.length === 0 ? {} : { compared };
}

/** An API server is asked for its version, which takes it no time. */
const API_MS = 5_000;

interface ApiVersion {
  /** Of its header; NaN without. */
  readonly dateMs: number;
  /** Of this machine, halfway between question and answer. */
  readonly middleMs: number;
}

/** When the API server answered for its version, or the refusal of one that did not. */
async function versionOf(api: ApiReader): Promise<ApiVersion | Error> {
  const startMs = Date.now();
  try {
    const { date } = await api.get('/version', API_MS);
    return { dateMs: Date.parse(date), middleMs: (startMs + Date.now()) / 2 };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return error;
  }
}

/** The clock of the API server, to the half second; none without the header. */
function apiClock({ dateMs, middleMs }: ApiVersion) {
  if (Number.isNaN(dateMs)) return [];
  return [
    { of: 'the API server', aheadMs: dateMs + 500 - middleMs },
    { of: 'this machine', aheadMs: 0 },
  ];
}

/** As many kubelets are asked where no ConfigMap has their configuration. */
const MAX_KUBELETS = 3;

async function kubeletFacts(
  api: ApiReader,
  { nodes = [] }: Partial<FactValues>,
): Promise<Partial<FactValues>> {
  const asked = await Promise.allSettled(
    nodes.slice(0, MAX_KUBELETS).map(async ({ name }) => {
      const { text } = await api.get(`/api/v1/nodes/${name}/proxy/configz`);
      return kubeletOf(`the kubelet of ${name}`, valueAt(JSON.parse(text), 'kubeletconfig'));
    }),
  );
  const kubelets = asked.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  return kubelets.length === 0 ? {} : { kubelets };
}

const MAX_CLIENTS = 3;
/** Below it nothing is said of clients. */
const MIN_QUESTIONS = 1_000;

/** The names of the pods that ask most, in place of their addresses. */
async function clientNames(
  api: ApiReader,
  { traffic }: Partial<FactValues>,
): Promise<Partial<FactValues>> {
  if (traffic === undefined) return {};
  const named = traffic.map(async (each) => {
    if (each.questions < MIN_QUESTIONS) return each;
    const first = each.clients.slice(0, MAX_CLIENTS);
    return Object.assign({}, each, { clients: await Promise.all(first.map((ip) => podNameOf(api, ip))) }); // prettier-ignore
  });
  return { traffic: await Promise.all(named) };
}

async function podNameOf(api: ApiReader, address: string): Promise<string> {
  try {
    const { text } = await api.get(`/api/v1/pods?limit=1&fieldSelector=status.podIP=${encodeURIComponent(address)}`); // prettier-ignore
    const metadata = valueAt(mappingsOf(valueAt(JSON.parse(text), 'items'))[0], 'metadata');
    const name = textOf(valueAt(metadata, 'name'));
    return name === '' ? address : `${textOf(valueAt(metadata, 'namespace'))}/${name}`;
  } catch {
    return address; // no right to list pods
  }
}

interface Answers {
  readonly values: Partial<FactValues>;
  /** Why there are no others. */
  readonly reason: string;
}

/** Asks the dnsmasq of `kube-dns up`, whose page says where it listens. */
async function localAnswers(
  { found }: FoundPages,
  { zones }: Partial<FactValues>,
): Promise<Answers> {
  const report = found.find(({ pages }) => pages.report?.program === 'dnsmasq')?.pages.report;
  const reason = 'on this machine only the way to dnsmasq is asked, without --probe';
  if (report === undefined) return { values: {}, reason: 'the page of dnsmasq was not read' };
  const server = settingOf(report, '--listen-address') || '127.0.0.1';
  const plan = planLocal(server, Number(settingOf(report, '--port') || 53), zones?.[0]?.zone ?? 'cluster.local'); // prettier-ignore
  return { values: factsOfAnswers(plan, await askAll(plan)), reason };
}

/** Our own images have Node on their PATH. */
const WITH_NODE = /^(?:kubedns|dnsmasq|sidecar|node-cache)$/;

async function probeAnswers(
  api: ApiReader,
  objects: ClusterObjects,
  { probe: wish }: ClusterSource,
  values: Partial<FactValues>,
): Promise<Answers> {
  if (wish === undefined) return { values: {}, reason: 'no pod asks without --probe' };
  const [service] = values.dnsServices ?? [];
  if (service === undefined) return { values: {}, reason: 'there is no DNS Service to ask' };
  const image = wish.image ?? ownImage(objects);
  if (image === undefined) {
    return { values: {}, reason: 'no image of the DNS pods has Node: --probe-image names one' };
  }
  const zone = values.zones?.[0]?.zone ?? 'cluster.local';
  const plan: AskPlan = planProbe(service, values.endpoints ?? [], { zone, outside: wish.outside });
  const { namespace, signal } = wish;
  const result: AskResult = await probe(api, plan, { namespace, image, signal });
  return { values: factsOfAnswers(plan, result, wish.outside), reason: 'it was not asked' };
}

function ownImage(objects: ClusterObjects): string | undefined {
  return [...objects.of('Pod'), ...objects.of('Deployment')]
    .flatMap((each) =>
      mappingsOf(
        valueAt(each, 'spec', 'containers') ?? valueAt(each, 'spec', 'template', 'spec', 'containers'), // prettier-ignore
      ),
    )
    .map(({ image }) => textOf(image))
    .find((image) => WITH_NODE.test(imageName(image)));
}

/** What an installation creates. */
const CREATED = [
  ['', 'serviceaccounts', true],
  ['', 'configmaps', true],
  ['', 'services', true],
  ['apps', 'deployments', true],
  ['policy', 'poddisruptionbudgets', true],
  ['rbac.authorization.k8s.io', 'clusterroles', false],
  ['rbac.authorization.k8s.io', 'clusterrolebindings', false],
] as const;

async function preFacts(
  api: ApiReader,
  objects: ClusterObjects,
  { namespace, repository }: ClusterSource,
): Promise<Partial<FactValues>> {
  const { text } = await api.get('/version');
  const { major, minor } = asMapping(JSON.parse(text)) ?? {};
  const values: Partial<FactValues> = {
    version: {
      major: Number.parseInt(String(major), 10),
      minor: Number.parseInt(String(minor), 10),
    },
  };
  const address = wantedAddress(repository);
  if (address !== undefined && objects.counts.has('Service')) {
    // That of our own Service stays as it is.
    const holder = objects.services.find(
      (each) => each.clusterIps.includes(address) && !(each.namespace === namespace && each.name === 'kube-dns'), // prettier-ignore
    );
    const takenBy = holder === undefined ? '' : `${holder.namespace}/${holder.name}`;
    Object.assign(values, { wantedAddress: { address, takenBy } });
  }
  return Object.assign(values, await rightsFacts(api, namespace));
}

function wantedAddress(repository: string): string | undefined {
  try {
    const text = readFileSync(join(repository, 'manifests/kube-dns/cluster.yaml'), 'utf8');
    return textOf(valueAt(parse(text), 'data', 'clusterIP')) || undefined;
  } catch {
    return undefined; // a CLI without manifests
  }
}

async function rightsFacts(api: ApiReader, namespace: string): Promise<Partial<FactValues>> {
  try {
    const missing = await Promise.all(
      CREATED.map(async ([group, resource, isNamespaced]) => {
        const { text } = await api.send('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SelfSubjectAccessReview',
          spec: {
            resourceAttributes: {
              verb: 'create',
              group,
              resource,
              ...(isNamespaced && { namespace }),
            },
          },
        }); // prettier-ignore
        return valueAt(JSON.parse(text), 'status', 'allowed') === true
          ? []
          : [`create ${resource}`];
      }),
    );
    return { missingRights: missing.flat() };
  } catch {
    return {}; // an API server without this review
  }
}
