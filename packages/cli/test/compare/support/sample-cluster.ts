import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ApiServer, createApiServer, type Manifest } from '@kube-dns/apiserver';
import { findRealDnsmasq, Kubedns, RealDnsmasq, RunningProgram } from '@kube-dns/testkit';
import { parseAllDocuments } from 'yaml';

const OBJECTS = fileURLToPath(new URL('../../../../../manifests/local/objects', import.meta.url));

const READY_LIMIT_MS = 60_000;

/** A running name server, with the address as `kube-dns compare` takes it. */
export interface RunningServer {
  readonly address: string;
  close(): Promise<void>;
}

/** The API with the objects of manifests/local. */
export async function startSampleApi(): Promise<ApiServer> {
  const objects = readdirSync(OBJECTS).flatMap((file) =>
    parseAllDocuments(readFileSync(join(OBJECTS, file), 'utf8')).map(
      (each) => each.toJS() as Manifest,
    ),
  );
  // What is in a namespace needs it to be there.
  const isNamespace = ({ kind }: Manifest) => kind === 'Namespace';
  const api = await createApiServer();
  await api.apply(objects.filter(isNamespace));
  await api.apply(objects.filter((each) => !isNamespace(each)));
  return api;
}

/** The built kubedns; names outside the cluster go to `upstream`. */
export async function startKubedns(
  api: ApiServer,
  upstream: string,
  args: readonly string[] = [],
): Promise<RunningServer> {
  const flags = [`--kube-master-url=${api.url}`, `--nameservers=${upstream}`, ...args];
  const server = await Kubedns.start({ flags, hasNoMetrics: true });
  return serving(server, server.ports.dns, () => server.ready(READY_LIMIT_MS));
}

/** `dnsmasq` on the PATH of an npm script is ours. */
export const REAL_DNSMASQ = findRealDnsmasq();

/** The real dnsmasq with these records and no upstream server. */
export async function startDnsmasq(args: readonly string[]): Promise<RunningServer> {
  const server = await RealDnsmasq.start(REAL_DNSMASQ!, { args });
  return serving(server, server.port, () => server.ready());
}

/** CoreDNS with a Corefile. */
export async function startCoreDns(program: string, corefile: string): Promise<RunningServer> {
  const server = new RunningProgram('CoreDNS', program, ['-conf', corefile]);
  const [, port = ''] = await server.waitForLine(/^\S*:(\d+)(?: on \S+)?$/m);
  return serving(server, Number(port), () => Promise.resolve());
}

/** Waits until the server is ready; ends it when it does not become so. */
async function serving(
  server: { close(): Promise<void> },
  port: number,
  ready: () => Promise<unknown>,
): Promise<RunningServer> {
  try {
    await ready();
  } catch (error) {
    await server.close();
    throw error;
  }
  return { address: `127.0.0.1:${port}`, close: () => server.close() };
}
