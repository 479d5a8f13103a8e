import { spawn, type ChildProcess } from 'node:child_process';
import { codeOf, refusal } from '../errors.js';
import { perProgram, type ExplainerName } from './programs.js';

/** Ports of a pod that lead to it from free ports of this machine. */
export interface ForwardedPorts {
  readonly ports: Readonly<Record<ExplainerName, readonly number[]>>;
  /** Ends the forwarding; may be called twice. */
  close(): void;
}

export interface ForwardedPod {
  readonly namespace: string;
  readonly name: string;
  readonly kubeconfig: string | undefined;
  /** In the pod. */
  readonly ports: Readonly<Record<ExplainerName, readonly number[]>>;
}

const LIMIT_MS = 15_000;
const FORWARDING = /^Forwarding from 127\.0\.0\.1:(\d+) -> /m;
const MAX_ERROR_CHARACTERS = 500;

/**
 * Runs `kubectl port-forward` for the first port of each program; throws a refusal when kubectl is missing or cannot
 * reach the pod. A process for each: kubectl ends all when nothing listens on one.
 */
export async function forwardPorts(pod: ForwardedPod): Promise<ForwardedPorts> {
  const children: ChildProcess[] = [];
  const close = () => {
    for (const child of children) child.kill();
  };
  try {
    const found = perProgram((program) => {
      const [port] = pod.ports[program];
      return port === undefined ? Promise.resolve([]) : forward(pod, port, children);
    });
    await Promise.all(Object.values(found));
    const ports = {
      'node-cache': await found['node-cache'],
      dnsmasq: await found.dnsmasq,
      kubedns: await found.kubedns,
    };
    return { ports, close };
  } catch (error) {
    close();
    throw error;
  }
}

function forward(pod: ForwardedPod, port: number, children: ChildProcess[]): Promise<number[]> {
  const { namespace, name, kubeconfig } = pod;
  const config = kubeconfig === undefined ? [] : [`--kubeconfig=${kubeconfig}`];
  const where = ['-n', namespace, 'port-forward', '--address=127.0.0.1', `pod/${name}`];
  const child = spawn('kubectl', [...config, ...where, `:${port}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  return new Promise((resolve, reject) => {
    let output = '';
    let errors = '';
    const fail = (reason: string) => {
      clearTimeout(timer);
      reject(refusal(`cannot forward ports of the pod ${namespace}/${name}: ${reason}`));
    };
    const timer = setTimeout(
      () => fail(`kubectl has no connection after ${LIMIT_MS / 1000} s`),
      LIMIT_MS,
    );
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const local = FORWARDING.exec(output)?.[1];
      if (local === undefined) return;
      clearTimeout(timer);
      resolve([Number(local)]);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      if (errors.length < MAX_ERROR_CHARACTERS) errors += chunk.toString();
    });
    child.on('error', (error) => {
      fail(codeOf(error) === 'ENOENT' ? 'kubectl is not on PATH' : error.message);
    });
    child.on('exit', () => fail(errors.trim().split('\n')[0] ?? 'kubectl ended'));
  });
}
