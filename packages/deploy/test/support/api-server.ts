import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ROOT } from './dockerfile.js';
import { waitFor } from '../../../cli/test/support/wait-for.js';

/** An API server with the objects of manifests/local, in a process of its own. */
export interface RunningApiServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts one on a free port. */
export async function startApiServer(): Promise<RunningApiServer> {
  const program = `${ROOT}packages/apiserver/dist/apiserver.cjs`;
  const args = ['--port=0', `--manifests=${ROOT}manifests/local/objects`];
  const env = { ...process.env, NODE_OPTIONS: '' };
  const child = spawn(process.execPath, [program, ...args], { env });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const url = await waitFor(
    () => `the API server:\n${output}`,
    () => /serving .* on (http:\S+)/.exec(output)?.[1],
  );
  return {
    url,
    close: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}
