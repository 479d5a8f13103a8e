import type { ContainerSpec } from './container-spec.js';
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
  return [...body, 'Stop it with Ctrl-C.'];
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

/** The pod's DNS port: the UDP port named `dns`, as in the stock manifest. */
export function findDnsPort(
  containers: readonly Pick<ContainerSpec, 'ports'>[],
): number | undefined {
  return containers
    .flatMap((container) => container.ports)
    .find((port) => port.name === 'dns' && port.protocol === 'UDP')?.containerPort;
}

function zoneOf(containers: readonly ContainerPlan[]): string {
  const kubedns = containers.filter((container) => container.program === 'kubedns');
  return (flagOf(kubedns, 'domain') ?? 'cluster.local').replace(/\.$/, '');
}

function flagOf(containers: readonly ContainerPlan[], name: string): string | undefined {
  const pattern = new RegExp(`^--?${name}=(.*)$`);
  for (const { args } of containers) {
    for (const arg of args) {
      const value = pattern.exec(arg)?.[1];
      if (value !== undefined) return value;
    }
  }
  return undefined;
}
