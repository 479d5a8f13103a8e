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
  return `; it needs ${verbs} on ${resource}: see the ClusterRole in manifests/kube-dns/rbac.yaml`;
}

function credentialsOf(asker: Asker): string {
  const user = asker.getCurrentUser();
  // As kubedns and compare name the user of a server that is given by its URL alone.
  if (user === null || user.name === 'nobody') return 'it wants credentials: give a kubeconfig';
  const provider = user.authProvider as { name?: unknown } | undefined;
  const isInCluster = provider?.name === 'tokenFile';
  const owner = isInCluster ? 'service account' : `context ${asker.getCurrentContext() ?? ''}`;
  return `the credentials of the ${owner} are not accepted`;
}
