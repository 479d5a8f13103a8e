import { readFileSync } from 'node:fs';
import { errorText } from '@kube-dns/base';
import { loadKubeconfig, StartupError, useApiServer } from '@kube-dns/daemon';
import { KubeConfig } from '@kubernetes/client-node';

/** The API server as given by the flags. */
export interface ClusterFlags {
  /** `--kubecfg-file`, or empty. */
  readonly kubecfgFile: string;
  /** `--kube-master-url`, or empty; it overrides the file's server. */
  readonly masterUrl: string;
}

const EXIT_FATAL = 255;

/**
 * Finds the API server and the credentials for it: a kubeconfig file, a URL, or the service account
 * of the pod when both are empty. Throws a StartupError (exit 255, as the original) that names
 * the source and its fault.
 */
export function loadKubeConfig(flags: ClusterFlags): KubeConfig {
  const config = new KubeConfig();
  try {
    if (flags.kubecfgFile !== '') loadFile(config, flags.kubecfgFile);
    else if (flags.masterUrl !== '') loadAnonymous(config, flags.masterUrl);
    else loadServiceAccount(config);
    useApiServer(config, flags.masterUrl === '' ? undefined : flags.masterUrl);
  } catch (cause) {
    if (cause instanceof StartupError) throw cause;
    throw new StartupError(`${sourceOf(flags)}: ${errorText(cause)}`, EXIT_FATAL, { cause });
  }
  return config;
}

function sourceOf({ kubecfgFile, masterUrl }: ClusterFlags): string {
  if (kubecfgFile !== '') return `cannot read the kubeconfig ${kubecfgFile}`;
  return masterUrl === '' ? 'no API server' : 'kube-master-url';
}

function loadFile(config: KubeConfig, path: string): void {
  try {
    loadKubeconfig(config, path);
  } catch (cause) {
    throw new StartupError(errorText(cause), EXIT_FATAL, { cause });
  }
}

function loadAnonymous(config: KubeConfig, server: string): void {
  const cluster = { name: 'master', server, skipTLSVerify: false };
  config.loadFromClusterAndUser(cluster, { name: 'nobody' });
}

function loadServiceAccount(config: KubeConfig): void {
  for (const name of ['KUBERNETES_SERVICE_HOST', 'KUBERNETES_SERVICE_PORT']) {
    if (process.env[name]) continue;
    throw new Error(`not in a pod (${name} is not set); give --kubecfg-file or --kube-master-url`);
  }
  config.loadFromCluster();
  const authProvider = config.getCurrentUser()?.authProvider as
    { config?: { tokenFile?: string } } | undefined;
  // They are read at each request; without them no request can succeed.
  for (const file of [config.getCurrentCluster()?.caFile, authProvider?.config?.tokenFile]) {
    if (file !== undefined) readFileSync(file);
  }
}
