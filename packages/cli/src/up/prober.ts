import { spawn } from 'node:child_process';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect } from 'node:net';
import type { Clock } from '@kube-dns/base';
import { reasonOf } from '../errors.js';
import type { ProbeAction, ProbeSpec } from './manifest.js';

/** Runs the probe once: undefined on success, else the reason of the failure. */
type ProbeRun = (signal: AbortSignal) => Promise<string | undefined>;

/** How a prober reports, and how often it probes. */
interface ProberOptions {
  readonly clock: Clock;
  /** Called when a threshold is reached and the verdict differs from the last one. */
  readonly onVerdict: (isHealthy: boolean) => void;
  /**
   * A shorter period until the first success. For readiness only: an early failure there has no effect,
   * and a ready pod is noticed sooner.
   */
  readonly eagerPeriodMs?: number;
}

/**
 * Repeats one probe with the kubelet's thresholds. There is no verdict until the first threshold is
 * reached. Owns its timers and the probe in progress until close().
 */
export class Prober {
  readonly #spec: ProbeSpec;
  readonly #run: ProbeRun;
  readonly #options: ProberOptions;
  readonly #closing = new AbortController();
  #cancelTimer: () => void = () => undefined;
  #verdict: boolean | undefined;
  #streak = 0;
  #lastWasSuccess: boolean | undefined;
  #hasSucceeded = false;
  #lastFailure = '';

  constructor(spec: ProbeSpec, run: ProbeRun, options: ProberOptions) {
    this.#spec = spec;
    this.#run = run;
    this.#options = options;
    this.#cancelTimer = options.clock.after(spec.initialDelayMs, this.#probe);
  }

  /** The reason of the last failure; empty before the first. */
  get lastFailure(): string {
    return this.#lastFailure;
  }

  close(): void {
    this.#cancelTimer();
    this.#closing.abort(new Error('the probe was ended'));
  }

  readonly #probe = (): void => {
    void this.#probeOnce();
  };

  async #probeOnce(): Promise<void> {
    const { clock, eagerPeriodMs } = this.#options;
    const { periodMs, timeoutMs } = this.#spec;
    const startedAt = clock.now();
    const timeout = new AbortController();
    const cancelTimeout = clock.after(timeoutMs, () =>
      timeout.abort(new Error(`no answer within ${timeoutMs / 1000} s`)),
    );
    const failure = await this.#run(AbortSignal.any([timeout.signal, this.#closing.signal]));
    cancelTimeout();
    if (this.#closing.signal.aborted) return;
    this.#hasSucceeded ||= failure === undefined;
    const period = this.#hasSucceeded ? periodMs : Math.min(periodMs, eagerPeriodMs ?? periodMs);
    this.#cancelTimer = clock.after(Math.max(0, period - (clock.now() - startedAt)), this.#probe);
    this.#count(failure);
  }

  #count(failure: string | undefined): void {
    const isSuccess = failure === undefined;
    if (failure !== undefined) this.#lastFailure = failure;
    this.#streak = isSuccess === this.#lastWasSuccess ? this.#streak + 1 : 1;
    this.#lastWasSuccess = isSuccess;
    const { successThreshold, failureThreshold } = this.#spec;
    if (this.#streak < (isSuccess ? successThreshold : failureThreshold)) return;
    if (this.#verdict === isSuccess) return;
    this.#verdict = isSuccess;
    this.#options.onVerdict(isSuccess);
  }
}

/** Where an exec probe runs. */
interface ProbeEnvironment {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

const MAX_BODY_LENGTH = 200;

/**
 * Runs a probe once. Resolves with undefined on success and with the reason of a failure; never
 * rejects. Aborting `signal` ends the probe and everything it opened; its reason is the failure.
 */
export function runProbe(
  action: ProbeAction,
  environment: ProbeEnvironment,
  signal: AbortSignal,
): Promise<string | undefined> {
  switch (action.kind) {
    case 'http':
      return probeHttp(action, signal);
    case 'tcp':
      return probeTcp(action, signal);
    case 'exec':
      return probeExec(action, environment, signal);
  }
}

function probeHttp(
  action: ProbeAction & { kind: 'http' },
  signal: AbortSignal,
): Promise<string | undefined> {
  const { scheme, host, port, path, headers } = action;
  const fail = (reason: string) => `GET ${scheme}://${bracket(host)}:${port}${path}: ${reason}`;
  return new Promise((resolve) => {
    const request = (scheme === 'https' ? requestHttps : requestHttp)({
      host,
      port,
      path,
      headers: { 'user-agent': 'kube-probe', accept: '*/*', ...headers },
      agent: false,
      // The kubelet does not verify a probe's certificate either: it probes a pod by its address.
      rejectUnauthorized: false,
    });
    const finish = (failure: string | undefined) => {
      signal.removeEventListener('abort', abort);
      request.destroy();
      resolve(failure);
    };
    const abort = () => finish(fail(reasonOf(signal.reason)));
    signal.addEventListener('abort', abort);
    request.on('error', (error) => finish(fail(reasonOf(error))));
    request.on('response', (response) => {
      const status = response.statusCode ?? 0;
      if (status >= 200 && status < 400) {
        finish(undefined);
        return;
      }
      let body = '';
      const answer = () => finish(fail(`status ${status} ${firstLine(body)}`.trimEnd()));
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
        body += text;
        if (body.length >= MAX_BODY_LENGTH) answer();
      });
      response.on('end', answer);
      response.on('error', answer);
    });
    if (signal.aborted) abort();
    else request.end();
  });
}

function probeTcp(
  { host, port }: ProbeAction & { kind: 'tcp' },
  signal: AbortSignal,
): Promise<string | undefined> {
  const fail = (reason: string) => `connect to ${bracket(host)}:${port}: ${reason}`;
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const finish = (failure: string | undefined) => {
      signal.removeEventListener('abort', abort);
      socket.destroy();
      resolve(failure);
    };
    const abort = () => finish(fail(reasonOf(signal.reason)));
    signal.addEventListener('abort', abort);
    socket.on('error', (error) => finish(fail(reasonOf(error))));
    socket.on('connect', () => finish(undefined));
    if (signal.aborted) abort();
  });
}

function probeExec(
  { command }: ProbeAction & { kind: 'exec' },
  { cwd, env }: ProbeEnvironment,
  signal: AbortSignal,
): Promise<string | undefined> {
  const [file = '', ...args] = command;
  const fail = (reason: string) => `exec ${command.join(' ')}: ${reason}`;
  return new Promise((resolve) => {
    const child = spawn(file, args, { cwd, env, stdio: 'ignore' });
    const finish = (failure: string | undefined) => {
      signal.removeEventListener('abort', abort);
      resolve(failure);
    };
    const abort = () => {
      child.kill('SIGKILL');
      finish(fail(reasonOf(signal.reason)));
    };
    signal.addEventListener('abort', abort);
    child.on('error', (error) => finish(fail(reasonOf(error))));
    child.on('exit', (code, killer) => {
      finish(code === 0 ? undefined : fail(killer ? `ended by ${killer}` : `status ${code}`));
    });
    if (signal.aborted) abort();
  });
}

function bracket(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function firstLine(text: string): string {
  return (text.trim().split('\n', 1)[0] ?? '').slice(0, MAX_BODY_LENGTH);
}
