import { Session } from 'node:inspector';
import { afterAll } from '@jest/globals';

/** Of our sources, as jest loads them. */
const OURS = /\/packages\/[\w-]+\/src\//;

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
  }[];
}

const session = new Session();
session.connect();

function post(method: string, params: object = {}): Coverage {
  let found: Coverage | undefined;
  session.post(method, params, (error, result) => {
    if (error !== null) throw error;
    found = result as Coverage;
  });
  return found!;
}

post('Profiler.enable');
post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
afterAll(() => {
  post('Profiler.stopPreciseCoverage');
  session.disconnect();
});

/**
 * How many steps of our sources some work takes: V8 counts how often each function, branch and body of a loop runs. The
 * same work has the same number on any machine. Import this module before what is counted.
 */
export function stepsOf(work: () => void): number {
  post('Profiler.takePreciseCoverage');
  work();
  let steps = 0;
  for (const { url, functions } of post('Profiler.takePreciseCoverage').result) {
    if (!OURS.test(url)) continue;
    for (const { ranges } of functions) for (const { count } of ranges) steps += count;
  }
  return steps;
}
