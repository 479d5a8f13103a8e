import { startBundle } from '@kube-dns/testkit';
import { ROOT } from './root.js';

/** An API server with the objects of manifests/local, in its own process. */
export interface RunningApiServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts one on a free port. */
export async function startApiServer(): Promise<RunningApiServer> {
  const args = ['--port=0', `--manifests=${ROOT}manifests/local/objects`];
  const server = startBundle('apiserver', args);
  const [, url = ''] = await server.waitForLine(/serving .* on (http:\S+)/);
  return { url, close: () => server.close('SIGTERM') };
}
