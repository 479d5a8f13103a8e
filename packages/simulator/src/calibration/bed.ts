import type { ProgramName } from '../cluster/cluster.js';
import type { ProberMethods } from './prober.js';
import type { WireConditions } from './tap-switch.js';

/** Hosts of a script, by their names, and their addresses. */
export const HOSTS = {
  client: '10.1.0.1',
  'pod-0': '10.244.0.53',
  'pod-1': '10.244.1.53',
  api: '10.0.0.1',
} as const;

export type HostName = keyof typeof HOSTS;

/** A virtual address whose port 53 leads to the pods that are its backends. */
export const SERVICE = '10.96.0.10';
/** No host has it. */
export const NO_HOST = '10.9.9.9';

/** A started program. */
export interface BedProgram {
  /** After SIGKILL it waits for the end. */
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void>;
  /** The first match of a pattern in its log from now on, and the clock at that time. */
  logged(pattern: RegExp): Promise<{ readonly match: string; readonly atMs: number }>;
}

/** Calls of a prober, which may be in another process. */
export type RemoteProber = {
  readonly [Name in keyof ProberMethods]: (
    ...args: Parameters<ProberMethods[Name]>
  ) => Promise<Awaited<ReturnType<ProberMethods[Name]>>>;
};

/** Passes each call of a method on. */
export function remoteProber(
  call: (method: keyof ProberMethods, args: never) => Promise<unknown>,
): RemoteProber {
  // Every method of a prober, as `RemoteProber` says.
  return new Proxy({} as RemoteProber, {
    get: (_, method) => (...args: never) => call(method as keyof ProberMethods, args), // prettier-ignore
  });
}

/**
 * Hosts, the network between them, and programs on them: simulated, or of this machine's kernel. A script runs on both. Times
 * are milliseconds of one clock.
 */
export interface Bed {
  clock(): number;
  sleepUntil(clockMs: number): Promise<void>;
  prober(host: HostName): RemoteProber;
  /** Starts a built bundle. */
  start(host: HostName, program: ProgramName, argv: readonly string[]): BedProgram;
  /** What happens to packets between two hosts from now on. */
  setWire(one: HostName, other: HostName, conditions: WireConditions): Promise<void>;
  /** The pods behind the Service, for `client`. */
  setBackends(pods: readonly HostName[]): Promise<void>;
}

/** What a script found out. The verdict is the same on both beds; a time or a share is within its bounds on both. */
export interface Finding {
  readonly what: string;
  readonly verdict: string;
  /** With the bounds that follow from the model's parameters. */
  readonly ms?: { readonly value: number; readonly from: number; readonly to: number };
  /** How many of how many: on both beds the same, but for chance. */
  readonly share?: { readonly count: number; readonly of: number };
}

export interface Script {
  readonly name: string;
  readonly hosts: readonly HostName[];
  run(bed: Bed): Promise<Finding[]>;
}
