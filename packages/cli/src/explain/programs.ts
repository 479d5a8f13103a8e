import { spawn, type ChildProcess } from 'node:child_process';
import { get } from 'node:http';
import { errorText, systemReason } from '@kube-dns/base';
import type { Explanation } from '@kube-dns/telemetry';
import { codeOf, refusal } from '../errors.js';

/** The programs that explain, those next to the client first, and the ports of their page. */
export const EXPLAINERS = {
  'node-cache': {
    ports: [9353, 9253],
    advice: 'it is optional; with it, run this on the node, or give --pod',
  },
  dnsmasq: {
    ports: [10056],
    advice:
      'a stock manifest does not open its port: add -metrics-addr=127.0.0.1:10056 to the arguments of the nanny',
  },
  kubedns: { ports: [8081, 10055], advice: 'give its pod with --pod, or run this in the pod' },
} as const satisfies Record<string, { ports: readonly number[]; advice: string }>;

export type ExplainerName = keyof typeof EXPLAINERS;

const EXPLAINER_NAMES = Object.keys(EXPLAINERS) as ExplainerName[];

/** A value for each program. */
export function perProgram<T>(valueOf: (program: ExplainerName) => T): Record<ExplainerName, T> {
  return {
    'node-cache': valueOf('node-cache'),
    dnsmasq: valueOf('dnsmasq'),
    kubedns: valueOf('kubedns'),
  };
}

/** A program that explains, and its port on this machine. */
export interface Reached {
  readonly program: ExplainerName;
  readonly port: number;
}

/** A program that cannot be asked: why, and what to do. */
export interface Missed {
  readonly program: ExplainerName;
  readonly reason: string;
  readonly advice: string;
  /** It has the port, and does not answer. */
  readonly hangs: boolean;
}

/** The programs that can be asked, those next to the client first, and those that cannot. */
export async function findPrograms(
  ports: Readonly<Record<ExplainerName, readonly number[]>>,
): Promise<{ reached: readonly Reached[]; missed: readonly Missed[] }> {
  const found = await Promise.all(EXPLAINER_NAMES.map((program) => find(program, ports[program])));
  return {
    reached: found.filter((one): one is Reached => 'port' in one),
    missed: found.filter((one): one is Missed => 'reason' in one && one.reason !== ''),
  };
}

async function find(program: ExplainerName, ports: readonly number[]): Promise<Reached | Missed> {
  const checked = await Promise.all(ports.map((port) => checkPage(port)));
  const at = checked.indexOf(undefined);
  if (at >= 0) return { program, port: ports[at]! };
  const reason = checked.map((why, i) => `127.0.0.1:${ports[i]!}: ${why}`).join('; ');
  const hangs = checked.includes(NO_REPLY);
  return { program, reason, advice: hangs ? HANGS : EXPLAINERS[program].advice, hangs };
}

/** What else may be where a program hangs, and what to do. */
export const OR_OVERLOADED = 'or its machine is overloaded; see its log, and restart it';
/** What to do with a program that hangs. */
export const HANGS = `it hangs, ${OR_OVERLOADED}`;
/** A program that has not said within this time whether it has the page hangs. */
export const HANG_MS = 2_000;
const NO_REPLY = noReply(HANG_MS);

/**
 * What `read` gives of the first of a program's ports where it gives something; else the first port that took a connection and
 * was silent for `limitMs`; undefined where the program is at none.
 */
export async function firstPage<Page>(
  ports: readonly number[],
  limitMs: number,
  read: (port: number) => Promise<Page>,
): Promise<
  { readonly port: number; readonly page: Page } | { readonly silent: number } | undefined
> {
  const results = await Promise.allSettled(ports.map(read));
  for (const [at, each] of results.entries()) {
    if (each.status === 'fulfilled') return { port: ports[at]!, page: each.value };
  }
  const at = results.findIndex((each) => each.status === 'rejected' && isSilence(each.reason, limitMs)); // prettier-ignore
  return at < 0 ? undefined : { silent: ports[at]! };
}

/** Whether a page could not be had as its program did not answer: any other failure says that it is not there. */
export function isSilence(error: unknown, limitMs: number): boolean {
  return errorText(error) === noReply(limitMs);
}

const NO_PAGE = 'it has no page /explain: it is older, or another program';
const LOOPBACK = '127.0.0.1';
/** Longer than any program waits for its servers. */
const LIMIT_MS = 20_000;
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Asks one page. The program waits for its servers for `limitMs` at most, and as long as it does unless that is given;
 * then it explains what it knows. Rejects with an Error whose message says why there is no explanation.
 */
export async function askPage(
  port: number,
  name: string,
  type: string,
  client: string | undefined,
  limitMs?: number,
): Promise<Explanation> {
  const query = new URLSearchParams({ name, type });
  if (client !== undefined) query.set('client', client);
  if (limitMs !== undefined) query.set('limit', String(limitMs));
  const { status, body } = await fetchText(port, `/explain?${query.toString()}`);
  if (status === 404) throw new Error(NO_PAGE);
  const value = parse(body);
  if (status !== 200) {
    const { error } = Object(value) as { error?: unknown };
    throw new Error(typeof error === 'string' ? error : `HTTP status ${status}`);
  }
  if (!isExplanation(value)) throw new Error('its answer is no explanation');
  return value;
}

/** Why a port has no page that explains; undefined when it has. */
async function checkPage(port: number): Promise<string | undefined> {
  try {
    // Without a name it is refused, and costs nothing.
    const { status, body } = await fetchText(port, '/explain', HANG_MS);
    const { error } = Object(parse(body)) as { error?: unknown };
    return status === 400 && typeof error === 'string' ? undefined : NO_PAGE;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined; // of another program
  }
}

/** What the texts of the command are made of; the facts beside them are shown as JSON only. */
function isExplanation(value: unknown): value is Explanation {
  const { program, question, steps, verdict } = Object(value) as Partial<Explanation>;
  return (
    typeof program === 'string' &&
    typeof question?.name === 'string' &&
    Array.isArray(steps) &&
    steps.every((one: unknown) => typeof (Object(one) as { text?: unknown }).text === 'string') &&
    verdict !== undefined &&
    [verdict.answers, verdict.authorities, verdict.ede, verdict.flags].every(Array.isArray)
  );
}

export function noReply(limitMs: number): string {
  return `no answer within ${limitMs / 1_000} s`;
}

/** A page of a program on this machine; rejects with an Error whose message says why it cannot be had. */
export function fetchText(
  port: number,
  path: string,
  limitMs = LIMIT_MS,
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(limitMs);
    const fail = (error: unknown) =>
      reject(new Error(signal.aborted ? noReply(limitMs) : systemReason(error)));
    const request = get({ host: LOOPBACK, port, path, signal, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        if ((size += chunk.length) > MAX_BYTES)
          response.destroy(new Error('its answer is too long'));
      });
      response.on('error', fail);
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') });
      });
    });
    request.on('error', fail);
  });
}

/** Ports of a pod that lead to it from free ports of this machine. */
interface ForwardedPorts {
  readonly ports: Readonly<Record<ExplainerName, readonly number[]>>;
  /** Ends the forwarding; may be called twice. */
  close(): void;
}

interface ForwardedPod {
  readonly namespace: string;
  readonly name: string;
  readonly kubeconfig: string | undefined;
  readonly context?: string | undefined;
  /** In the pod. */
  readonly ports: Readonly<Record<ExplainerName, readonly number[]>>;
}

const FORWARD_LIMIT_MS = 15_000;
const FORWARDING = /^Forwarding from 127\.0\.0\.1:(\d+) -> /m;
const MAX_ERROR_CHARACTERS = 8_000;

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

/** A line of the log of a Kubernetes program, which comes before its own words. */
const KLOG = /^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ /;

/** As {@link forwardPorts}, for one port of a pod: the local one. The child is added to `children` before it runs. */
export function forward(
  pod: Omit<ForwardedPod, 'ports'>,
  port: number,
  children: ChildProcess[],
): Promise<number[]> {
  const { namespace, name, kubeconfig, context } = pod;
  const config = [
    ...(kubeconfig === undefined ? [] : [`--kubeconfig=${kubeconfig}`]),
    ...(context === undefined ? [] : [`--context=${context}`]),
  ];
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
      () => fail(`kubectl has no connection after ${FORWARD_LIMIT_MS / 1000} s`),
      FORWARD_LIMIT_MS,
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
    child.on('exit', () => {
      const lines = errors.trim().split('\n');
      fail(lines.find((line) => line !== '' && !KLOG.test(line)) ?? 'kubectl ended');
    });
  });
}
