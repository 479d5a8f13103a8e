import { errorText, quote, systemReason } from '@kube-dns/base';
import { readTextFile } from './text-file.js';

/** The part of client-node's KubeConfig that is needed here. */
export interface ClusterChoice {
  clusters: ChosenCluster[];
  getCurrentCluster(): ChosenCluster | null;
}

interface ChosenCluster {
  readonly name: string;
  readonly server: string;
  readonly skipTLSVerify: boolean;
  readonly caFile?: string;
}

/**
 * Sets the URL of the current cluster's API server where one is given, and checks it. Throws when the
 * current context names no cluster, or when the URL is neither http nor https.
 */
export function useApiServer(config: ClusterChoice, url: string | undefined): void {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error('the current context names no cluster');
  const server = url ?? cluster.server;
  const protocol = URL.canParse(server) ? new URL(server).protocol : '';
  if (!/^https?:$/.test(protocol)) {
    throw new Error(`server ${quote(server)} is not an http or https URL`);
  }
  // client-node refuses plain HTTP unless the cluster skips the verification of TLS.
  const skipTLSVerify = cluster.skipTLSVerify || protocol === 'http:';
  config.clusters = config.clusters.map((each) =>
    each.name === cluster.name ? { ...each, server, skipTLSVerify } : each,
  );
}

/** The part of client-node's KubeConfig that reads a file. */
export interface KubeconfigReader extends ClusterChoice {
  loadFromFile(file: string): void;
  getCurrentContext(): string | undefined;
  setCurrentContext(name: string): void;
  getContextObject(name: string): { readonly cluster: string } | null;
  getCurrentUser(): { readonly certFile?: string; readonly keyFile?: string } | null;
}

/**
 * Reads a kubeconfig and checks what client-node does not: that it names a cluster, and that the certificates
 * are there. `wanted` is a context of the file, in place of its current one. Throws an Error of one line that names
 * the file, the reason and what to do.
 */
export function loadKubeconfig(config: KubeconfigReader, path: string, wanted?: string): void {
  const fail = (reason: string, cause?: unknown): never => {
    throw new Error(`cannot read the kubeconfig ${path}: ${reason}`, { cause });
  };
  try {
    readTextFile(path);
  } catch (error) {
    fail(systemReason(error), error);
  }
  try {
    config.loadFromFile(path);
  } catch (error) {
    // client-node does not check that the YAML is a map of the right lists. By its name, not instanceof, as in `errorText`.
    if ((error as Error).name === 'TypeError') fail('it is not a kubeconfig', error);
    // js-yaml adds an excerpt of the file below its first line.
    fail(`not valid: ${errorText(error).replace(/\n[^]*$/, '')}`, error);
  }
  if (wanted !== undefined) config.setCurrentContext(wanted);
  const name = config.getCurrentContext() ?? '';
  if (name === '') {
    fail('it has no current-context; kubectl config use-context NAME sets it');
  }
  const context = config.getContextObject(name);
  if (context === null) {
    fail(
      `it has no context ${name}${wanted === undefined ? ', which is its current-context' : ''}; kubectl config get-contexts lists them`,
    );
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null)
    fail(`it has no cluster ${context?.cluster}, which the context ${name} names`);
  const user = config.getCurrentUser();
  for (const file of [cluster?.caFile, user?.certFile, user?.keyFile]) {
    if (file === undefined) continue;
    try {
      readTextFile(file);
    } catch (error) {
      fail(`it names ${file}: ${systemReason(error)}`, error);
    }
  }
}

/** The codes of Node and OpenSSL for a handshake that failed, also because of the certificate; EPROTO where a request waited. */
const OF_HANDSHAKE =
  /^(?:EPROTO|ERR_SSL_|ERR_TLS_|CERT_|CRL_|INVALID_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|PATH_LENGTH_|HOSTNAME_)/;

/** Whether a request failed in the handshake of TLS: the server is there, and must not be used. */
export function isHandshakeFailure(error: unknown): boolean {
  const { code } = Object(error) as Partial<NodeJS.ErrnoException>;
  return typeof code === 'string' && OF_HANDSHAKE.test(code);
}

/** What OpenSSL says, by its version, where there is no common version or cipher. */
const NO_COMMON_CIPHER =
  /(?:sslv3|ssl\/tls) alert handshake failure|alert protocol version|unsupported protocol/i;
/** What OpenSSL says, by its version, of an answer that is no TLS. */
const NO_TLS = /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)$/;

/**
 * Why a request to an API server failed, where Node's text does not say it: the server does not speak TLS, or only with
 * ciphers that are not used, or the program that a kubeconfig names for credentials cannot be started. Otherwise
 * `otherwise` says it.
 */
export function connectionReason(error: unknown, server: string, otherwise = errorText): string {
  const { code = '', syscall = '', path = '' } = Object(error) as Partial<NodeJS.ErrnoException>;
  if (
    NO_TLS.test(code) ||
    (code === 'EPROTO' && errorText(error).includes('wrong version number'))
  ) {
    return 'the server does not speak TLS: use http://';
  }
  if (OF_HANDSHAKE.test(code) && NO_COMMON_CIPHER.test(errorText(error))) {
    return `the API server ${server} accepts neither TLS 1.3 nor TLS 1.2 with ECDHE and AES-GCM or ChaCha20: enable one of them there, see its --tls-min-version and --tls-cipher-suites`;
  }
  if (!syscall.startsWith('spawn')) return otherwise(error);
  return `cannot run ${path}, which the kubeconfig names for credentials: ${systemReason(error)}`;
}

const UNAUTHORIZED = 401;
const FORBIDDEN = 403;

/** Who asks an API server, as client-node's KubeConfig knows it. */
interface Asker {
  getCurrentContext(): string | undefined;
  getCurrentUser(): { readonly authProvider?: unknown; readonly name: string } | null;
}

/**
 * What to do where the API server refuses a request for these credentials (401) or for their rights (403), as
 * the end of the line that reports it; empty for another status. `verbs` are those that the program needs.
 */
export function denialAdvice(status: number, path: string, asker: Asker, verbs: string): string {
  if (status === UNAUTHORIZED) return `; ${credentialsOf(asker)}`;
  if (status !== FORBIDDEN) return '';
  const resource = path.replace(/^.*\//, '');
  const folder = FOLDERS.find(([group]) => path.includes(`/${group}/`))?.[1] ?? 'kube-dns';
  return `; it needs ${verbs} on ${resource}: see the ClusterRole in manifests/${folder}/rbac.yaml`;
}

/** Where the ClusterRole of a group of the API is, if it is not with the others. */
const FOLDERS = [
  ['multicluster.x-k8s.io', 'components/clusterset'],
  ['networking.k8s.io', 'components/names-from-outside'],
  ['gateway.networking.k8s.io', 'components/names-from-outside'],
] as const;

function credentialsOf(asker: Asker): string {
  const user = asker.getCurrentUser();
  // As kubedns and compare name the user of a server that is given by its URL alone.
  if (user === null || user.name === 'nobody') return 'it wants credentials: give a kubeconfig';
  const provider = user.authProvider as { name?: unknown } | undefined;
  const isInCluster = provider?.name === 'tokenFile';
  const owner = isInCluster ? 'service account' : `context ${asker.getCurrentContext() ?? ''}`;
  return `the credentials of the ${owner} are not accepted`;
}
