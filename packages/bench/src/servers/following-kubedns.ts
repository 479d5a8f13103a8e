/** What a measured kubedns is started with: it serves only what its API server has, and no metrics. */
export function followingKubedns(apiUrl: string, flags: readonly string[]) {
  return {
    flags: [`--kube-master-url=${apiUrl}`, '--initial-sync-timeout=0', ...flags],
    hasNoMetrics: true,
  } as const;
}
