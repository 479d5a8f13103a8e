/** What is needed of client-node's KubeConfig. */
export interface ClusterChoice {
  clusters: ChosenCluster[];
  getCurrentCluster(): ChosenCluster | null;
}

interface ChosenCluster {
  readonly name: string;
  readonly server: string;
  readonly skipTLSVerify: boolean;
}

/**
 * Checks the URL of the current cluster's API server, after putting another in its place where one is
 * given. Throws with the reason when there is none that can be used.
 */
export function useApiServer(config: ClusterChoice, url: string | undefined): void {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error('the current context names no cluster');
  const server = url ?? cluster.server;
  const protocol = URL.canParse(server) ? new URL(server).protocol : '';
  if (!/^https?:$/.test(protocol)) {
    throw new Error(`server ${JSON.stringify(server)} is not an http or https URL`);
  }
  // client-node refuses plain HTTP unless the cluster says that TLS is not to be verified.
  const skipTLSVerify = cluster.skipTLSVerify || protocol === 'http:';
  config.clusters = config.clusters.map((each) =>
    each.name === cluster.name ? { ...each, server, skipTLSVerify } : each,
  );
}
