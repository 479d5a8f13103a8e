import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { UsageError } from '@kube-dns/base';
import { readPod, type PodSpec } from './manifest.js';
import { findDnsPort } from './ready-message.js';

/** The variables in which kubelet puts the address and the port of the service kube-dns: here those of the pod. */
const HOST = 'KUBE_DNS_SERVICE_HOST';
const PORT = 'KUBE_DNS_SERVICE_PORT';
const FILE = 'node-cache.yaml';

/**
 * The pod with a node-cache as its first container, which asks the pod's own DNS: that of node-cache.yaml beside the
 * pod's manifest, else of the one in `folder`. A volume of the same name is the pod's. Throws a UsageError for a pod
 * without DNS.
 */
export function withNodeCache(pod: PodSpec, folder: string): PodSpec {
  const port = findDnsPort(pod.containers);
  if (port === undefined) {
    throw new UsageError(`--node-cache: no container of ${pod.file} has a UDP port named dns`);
  }
  const own = join(pod.folder, FILE);
  const cache = readPod(existsSync(own) ? own : join(folder, FILE));
  const containers = cache.containers.map((container) => {
    const env = new Map([...container.env, [HOST, '127.0.0.1'], [PORT, String(port)]]);
    return { ...container, env };
  });
  const volumes = cache.volumes
    .filter(({ name }) => pod.volumes.every((each) => each.name !== name))
    .map((volume) =>
      volume.kind === 'host' ? { ...volume, path: resolve(cache.folder, volume.path) } : volume,
    );
  return {
    ...pod,
    containers: [...containers, ...pod.containers],
    volumes: [...pod.volumes, ...volumes],
  };
}
