import { fileURLToPath } from 'node:url';
import type { ContainerPlan } from '../../src/up/plan.js';
import type { ProbeAction, ProbeSpec } from '../../src/up/manifest.js';

/** The path of a program in test/fixtures. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
}

/** A plan that runs a fixture, without ports and probes unless given. */
export function planOf(
  name: string,
  args: readonly string[],
  rest: Partial<ContainerPlan> = {},
): ContainerPlan {
  const [program = '', ...others] = args;
  return {
    name,
    program: name,
    file: process.execPath,
    args: [fixture(program), ...others],
    env: { PATH: process.env.PATH ?? '' },
    cwd: fileURLToPath(new URL('../fixtures', import.meta.url)),
    ports: [],
    probes: { startup: undefined, readiness: undefined, liveness: undefined },
    terminationGraceMs: 5_000,
    ...rest,
  };
}

/** A probe with short periods, and time for a slow machine. */
export function probeOf(action: ProbeAction, rest: Partial<ProbeSpec> = {}): ProbeSpec {
  return {
    action,
    initialDelayMs: 0,
    periodMs: 20,
    timeoutMs: 60_000,
    successThreshold: 1,
    failureThreshold: 2,
    ...rest,
  };
}

/** GET of a path on this machine. */
export function getAction(port: number, path: string): ProbeAction {
  return { kind: 'http', scheme: 'http', host: '127.0.0.1', port, path, headers: {} };
}
