import { findDnsPort } from './manifest.js';
import type { ContainerPlan } from './plan.js';

/** The facts in the message. */
export interface ReadyFacts {
  readonly podName: string;
  readonly seconds: number;
  readonly containers: readonly ContainerPlan[];
  /** The kubeconfig of the real cluster, when there is one. */
  readonly kubeconfig: string | undefined;
}

/** The lines that show a user what to do with a pod that has just become ready. */
export function readyMessage(facts: ReadyFacts): string[] {
  const ready = `The pod ${facts.podName} is ready after ${facts.seconds.toFixed(1)} s.`;
  const commands = [...digLines(facts), ...applyLines(facts)].map((line) => `  ${line}`);
  const body =
    commands.length === 0 ? [ready] : [`${ready} In another shell:`, '', ...commands, ''];
  const pages = statusLines(facts).map((line) => `  ${line}`);
  const status = pages.length === 0 ? [] : ['How each container is:', '', ...pages, ''];
  return [...body, ...status, 'Stop it with Ctrl-C.'];
}

/** The status page of each container that serves it at an address of this machine. */
function statusLines({ containers }: ReadyFacts): string[] {
  const pages = containers.flatMap((container) => {
    const port = statusPort(container);
    return port === undefined ? [] : [[container.name, `http://127.0.0.1:${port}/`] as const];
  });
  const width = Math.max(...pages.map(([name]) => name.length));
  return pages.map(([name, url]) => `${name.padEnd(width)}  ${url}`);
}

/** The port of a container's metrics, by its program's rules; undefined where they are off, or not on loopback. */
function statusPort(container: ContainerPlan): string | undefined {
  const flag = (name: string) => flagOf([container], name);
  switch (container.program) {
    case 'kubedns':
      return isReached(flag('http-bind-address')) ? container.env.PROMETHEUS_PORT : undefined;
    case 'dnsmasq':
      return portOf(flag('metrics-addr'));
    case 'sidecar':
      return isReached(flag('prometheus-addr')) ? (flag('prometheus-port') ?? '10054') : undefined;
    case 'node-cache':
      return portOf(flag('metrics-listen-address') ?? ':9353');
    default:
      return undefined;
  }
}

function portOf(address: string | undefined): string | undefined {
  const [, host, port] = /^(.*):(\d+)$/.exec(address ?? '') ?? [];
  return isReached(host) ? port : undefined;
}

/** Whether 127.0.0.1 leads to what listens on this address. */
function isReached(address = ''): boolean {
  return ['', '0.0.0.0', '[::]', '::', '127.0.0.1'].includes(address);
}

function digLines({ containers, kubeconfig }: ReadyFacts): string[] {
  const dns = findDnsPort(containers);
  if (dns === undefined) return [];
  const dig = `dig @127.0.0.1${dns === 53 ? '' : ` -p ${dns}`} +short`;
  const name = `kubernetes.default.svc.${zoneOf(containers)}`;
  // The service network of a real cluster is not known.
  const address = kubeconfig === undefined ? '10.96.0.1' : `"$(${dig} ${name})"`;
  return [`${dig} ${name}`, `${dig} _https._tcp.${name} SRV`, `${dig} -x ${address}`];
}

function applyLines({ containers, kubeconfig }: ReadyFacts): string[] {
  if (kubeconfig !== undefined) return [`kubectl --kubeconfig=${kubeconfig} apply -f FILE`];
  const url = localApiUrl(containers);
  return url === undefined ? [] : [`kubectl --server=${url} apply -f FILE`];
}

/** The URL of the pod's own API server; undefined without one. */
export function localApiUrl(containers: readonly ContainerPlan[]): string | undefined {
  const servers = containers.filter((container) => container.program === 'apiserver');
  const port = flagOf(servers, 'port');
  return port === undefined ? undefined : `http://127.0.0.1:${port}`;
}

function zoneOf(containers: readonly ContainerPlan[]): string {
  const kubedns = containers.filter((container) => container.program === 'kubedns');
  return (flagOf(kubedns, 'domain') ?? 'cluster.local').replace(/\.$/, '');
}

/** The last value counts, as in the programs. */
function flagOf(containers: readonly ContainerPlan[], name: string): string | undefined {
  const pattern = new RegExp(`^--?${name}=(.*)$`);
  const values = containers.flatMap(({ args }) => args.map((arg) => pattern.exec(arg)?.[1]));
  return values.findLast((value) => value !== undefined);
}
