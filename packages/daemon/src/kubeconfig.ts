import { accessSync, constants } from 'node:fs';
import { errorText, systemReason } from '@kube-dns/base';
import type { ClusterChoice } from './api-server-url.js';
import { readTextFile } from './text-file.js';

/** The part of client-node's KubeConfig that reads a file. */
export interface KubeconfigReader extends ClusterChoice {
  loadFromFile(file: string): void;
  getCurrentContext(): string | undefined;
  getContextObject(name: string): { readonly cluster: string } | null;
  getCurrentUser(): { readonly certFile?: string; readonly keyFile?: string } | null;
}

/**
 * Reads a kubeconfig and checks what client-node does not: that it names a cluster, and that the certificates
 * are there. Throws an Error of one line that names the file, the reason and what to do.
 */
export function loadKubeconfig(config: KubeconfigReader, path: string): void {
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
    // client-node does not check that the YAML is a map of the right lists.
    if (error instanceof TypeError) fail('it is not a kubeconfig', error);
    // js-yaml adds an excerpt of the file below its first line.
    fail(`not valid: ${errorText(error).replace(/\n[^]*$/, '')}`, error);
  }
  const name = config.getCurrentContext() ?? '';
  if (name === '') {
    fail('it has no current-context; kubectl config use-context NAME sets it');
  }
  const context = config.getContextObject(name);
  if (context === null) {
    fail(
      `it has no context ${name}, which is its current-context; kubectl config get-contexts lists them`,
    );
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null)
    fail(`it has no cluster ${context?.cluster}, which the context ${name} names`);
  const user = config.getCurrentUser();
  for (const file of [cluster?.caFile, user?.certFile, user?.keyFile]) {
    if (file === undefined) continue;
    try {
      accessSync(file, constants.R_OK);
    } catch (error) {
      fail(`it names ${file}: ${systemReason(error)}`, error);
    }
  }
}
