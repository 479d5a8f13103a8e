import { builtProgram, RunningProgram } from '@kube-dns/testkit';

/** The sidecar as a user would start it; `endPrograms` ends it. */
export function startSidecar(...args: readonly string[]): RunningProgram {
  return new RunningProgram('sidecar', process.execPath, [builtProgram('sidecar'), ...args]);
}

/** The URL of a sidecar, once it serves HTTP. */
export async function urlOf(sidecar: RunningProgram): Promise<string> {
  const [, port = ''] = await sidecar.waitForLine(/serving HTTP on .* port (\d+)/);
  return `http://127.0.0.1:${port}`;
}
