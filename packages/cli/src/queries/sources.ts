import { shownUrl } from '@kube-dns/base';
import type { V1Pod } from '@kubernetes/client-node';
import { ApiReader, defaultKubeconfig, LOCAL_API } from '../api-reader.js';
import { refusal } from '../errors.js';
import {
  EXPLAINERS,
  type ExplainerName,
  fetchText,
  firstPage,
  forwardPorts,
  HANG_MS,
  HANGS,
  noReply,
  perProgram,
} from '../explain/programs.js';
import type { QueriesOptions } from './options.js';

/** Each pod needs three processes of kubectl. */
const MAX_PODS = 8;
const DNS_PODS: ReadonlySet<string> = new Set(['kube-dns', 'node-local-dns']);
const NAMES = Object.keys(EXPLAINERS) as ExplainerName[];

/** A program that has the pages `/top` and `/querylog`. */
export interface QuerySource {
  /** As `dnsmasq`, or `kube-dns-5c8f7/dnsmasq` of a pod. */
  readonly label: string;
  readonly program: ExplainerName;
  /** On this machine. */
  readonly port: number;
}

/** The programs that are asked, and what ends the way to them. */
export interface QuerySources {
  readonly sources: readonly QuerySource[];
  /** Pods that are left out, as there are too many. */
  readonly more: number;
  /** A line for each program that hangs: why, and what to do. */
  readonly hanging: readonly string[];
  /** Ends the forwarding; may be called twice. */
  close(): void;
}

interface PodName {
  readonly namespace: string;
  readonly name: string;
}

interface WantedSources {
  /** Those of this machine where there are none. */
  readonly pods: readonly PodName[];
  readonly kubeconfig: string | undefined;
  readonly ports: Readonly<Record<ExplainerName, readonly number[]>>;
  /** The program whose clients count; undefined for the first that there is. */
  readonly program: ExplainerName | undefined;
}

/**
 * Finds the programs: of each pod that next to the clients, and of one kind alone, so that no question counts twice on its
 * way. Throws a refusal when there is none.
 */
async function findSources(wanted: WantedSources): Promise<QuerySources> {
  const { pods, ports, kubeconfig } = wanted;
  const opened: { close(): void }[] = [];
  const close = () => {
    for (const one of opened) one.close();
  };
  try {
    const looks: Look[] = [];
    if (pods.length === 0) looks.push(...(await sourcesAt(ports, '')));
    const forwarded = pods.slice(0, MAX_PODS).map(async ({ namespace, name }) => {
      const way = await forwardPorts({ namespace, name, kubeconfig, ports });
      opened.push(way);
      looks.push(...(await sourcesAt(way.ports, `${name}/`)));
    });
    await Promise.all(forwarded);
    const all = looks.flatMap((one) => ('port' in one ? [one] : []));
    const hanging = looks
      .flatMap((one) => ('hang' in one ? [one] : []))
      .filter((one) => wanted.program === undefined || one.program === wanted.program)
      .map(({ label, hang }) => `${label} does not answer: ${hang}; ${HANGS}`)
      .sort();
    const program = wanted.program ?? NAMES.find((name) => all.some((one) => one.program === name));
    const sources = all
      .filter((one) => one.program === program)
      .sort((a, b) => (a.label < b.label ? -1 : 1));
    if (sources.length === 0) throw refusal(hanging.length > 0 ? hanging.join('; ') : nothingFound(wanted)); // prettier-ignore
    return { sources, more: Math.max(0, pods.length - MAX_PODS), hanging, close };
  } catch (error) {
    close();
    throw error;
  }
}

function nothingFound({ pods, ports, program }: WantedSources): string {
  const what = program ?? 'program';
  if (pods.length > 0) {
    const names = pods.map(({ namespace, name }) => `${namespace}/${name}`).join(', ');
    return `no ${what} of ${names} has the page /top: it is older, or another DNS`;
  }
  const tried = NAMES.filter((name) => program === undefined || name === program)
    .flatMap((name) => ports[name])
    .map((port) => `127.0.0.1:${port}`);
  return `no ${what} has the page /top at ${tried.join(', ')}; start kube-dns up, give --pod or --all-pods, or run this in the DNS pod`;
}

/** A program that has the pages, or one that hangs. */
type Look = QuerySource | (Pick<QuerySource, 'label' | 'program'> & { readonly hang: string });

async function sourcesAt(
  ports: Readonly<Record<ExplainerName, readonly number[]>>,
  prefix: string,
): Promise<Look[]> {
  const found = await Promise.all(
    NAMES.map(async (program): Promise<Look[]> => {
      const label = `${prefix}${program}`;
      const first = await firstPage(ports[program], HANG_MS, readLists);
      if (first === undefined) return [];
      if ('port' in first) return [{ label, program, port: first.port }];
      return [{ label, program, hang: `127.0.0.1:${first.silent}: ${noReply(HANG_MS)}` }];
    }),
  );
  return found.flat();
}

/** Rejects where a port has no lists. */
async function readLists(port: number): Promise<object> {
  const lists = await readPage(port, '/top', HANG_MS);
  if (!('clients' in lists)) throw new Error('it is another page');
  return lists;
}

/** The object that a page has. Rejects with an Error whose message says why there is none. */
export async function readPage(port: number, path: string, limitMs: number): Promise<object> {
  const { status, body } = await fetchText(port, path, limitMs);
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new Error(`HTTP status ${status}`); // of another program
  }
  if (typeof value !== 'object' || value === null) throw new Error('its answer is no object');
  const { error } = value as { error?: unknown };
  if (status !== 200) throw new Error(typeof error === 'string' ? error : `HTTP status ${status}`);
  return value;
}

/** Of the cluster's DNS those that run, by their label `k8s-app`. Throws a refusal when there is none. */
async function dnsPods(
  namespace: string,
  access: { readonly kubeconfig: string | undefined; readonly api: string | undefined },
): Promise<PodName[]> {
  const reader = new ApiReader(access);
  const pods: PodName[] = [];
  await reader.list(`/api/v1/namespaces/${namespace}/pods`, (item) => {
    const { metadata, status } = item as V1Pod;
    const isOfDns = DNS_PODS.has(metadata?.labels?.['k8s-app'] ?? '');
    if (isOfDns && status?.phase === 'Running') pods.push({ namespace, name: metadata!.name! });
  });
  if (pods.length > 0) return pods;
  const labels = [...DNS_PODS].map((name) => `k8s-app=${name}`).join(' or ');
  throw refusal(`no pod of ${namespace} at ${shownUrl(reader.server)} runs with ${labels}`);
}

/** Those that the flags of a command name. Throws a refusal when there is none. */
export async function sourcesOf(options: QueriesOptions): Promise<QuerySources> {
  const { pod: named, program } = options;
  const pods: PodName[] = [...named];
  const kubeconfig = options.kubeconfig ?? (options['all-pods'] ? defaultKubeconfig() : undefined);
  if (options['all-pods']) {
    const access = { kubeconfig, api: kubeconfig === undefined ? LOCAL_API : undefined };
    pods.push(...(await dnsPods('kube-system', access)));
  }
  const ports = perProgram((name) => options[name]);
  return findSources({ pods, kubeconfig, ports, program });
}

/** A text of a page for a terminal: programs escape what a name has beyond ASCII. */
export function printable(text: string): string {
  return text.replace(/[^ -~]/g, '?');
}
