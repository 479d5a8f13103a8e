import { resolve } from 'node:path';
import { UsageError } from '@kube-dns/daemon';
import { readPod, type PodSpec } from './manifest.js';
import { findDnsPort } from './ready-message.js';

/** The variable in the Corefile of manifests/local that has the address of the pod's DNS. */
const POD_DNS = 'POD_DNS';

/**
 * The pod with the node-cache of a manifest as its first container, which asks the pod's own DNS. A volume of the
 * same name is the pod's. Throws a UsageError for a pod without DNS.
 */
export function withNodeCache(pod: PodSpec, manifest: string): PodSpec {
  const port = findDnsPort(pod.containers);
  if (port === undefined) {
    throw new UsageError(`--node-cache: no container of ${pod.file} has a UDP port named dns`);
  }
  const cache = readPod(manifest);
  const containers = cache.containers.map((container) => {
    const env = new Map([...container.env, [POD_DNS, `127.0.0.1:${port}`]]);
    return { ...container, env };
  });
  const volumes = cache.volumes
    .filter(({ name }) => pod.volumes.every((own) => own.name !== name))
    .map((volume) =>
      volume.kind === 'host' ? { ...volume, path: resolve(cache.folder, volume.path) } : volume,
    );
  return {
    ...pod,
    containers: [...containers, ...pod.containers],
    volumes: [...pod.volumes, ...volumes],
  };
}
