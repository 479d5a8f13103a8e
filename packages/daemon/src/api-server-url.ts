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
    throw new Error(`server ${JSON.stringify(server)} is not an http or https URL`);
  }
  // client-node refuses plain HTTP unless the cluster skips the verification of TLS.
  const skipTLSVerify = cluster.skipTLSVerify || protocol === 'http:';
  config.clusters = config.clusters.map((each) =>
    each.name === cluster.name ? { ...each, server, skipTLSVerify } : each,
  );
}
