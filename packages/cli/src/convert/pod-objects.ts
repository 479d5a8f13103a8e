import type { DnsSetup } from './dns-setup.js';
import {
  configMapData,
  dnsmasqArguments,
  kubednsArguments,
  sidecarArguments,
} from './pod/pod-writer.js';

/**
 * A setup as two objects: the ConfigMap kube-dns, and a patch of the Deployment kube-dns with the arguments
 * of its containers, for `kubectl patch` and kustomize.
 */
export function podObjects(setup: DnsSetup): object[] {
  const metadata = { name: 'kube-dns', namespace: 'kube-system' };
  const containers = [
    { name: 'kubedns', args: kubednsArguments(setup) },
    { name: 'dnsmasq', args: dnsmasqArguments(setup) },
    { name: 'sidecar', args: sidecarArguments(setup) },
  ];
  return [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: configMapData(setup) },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: { template: { spec: { containers } } },
    },
  ];
}
