import { parsePod } from '@kube-dns/cli';
import { containersOf, type Deployment } from '@kube-dns/testkit/manifests';
import type { ClusterFixture } from './cluster-fixture.js';

const NOT_FOR_PODMAN = new Set(['ports', 'livenessProbe', 'readinessProbe', 'lifecycle']);

/**
 * The pod of a Deployment for `podman kube play`, as JSON. What podman 4.3 does not support is left out or done
 * here: `$(VAR)`, fields of the pod in variables, probes and preStop (tasks of kubelet), ports (all share one network), and the volumes and
 * variables of a node, which are those of the fixture.
 */
export function podForPodman(deployment: Deployment, cluster: ClusterFixture): string {
  const { metadata, spec } = deployment.spec.template;
  const expanded = parsePod(JSON.stringify(deployment), 'deployment.yaml').containers;
  const containers = containersOf(deployment).map((container) => {
    const rest = Object.entries(container).filter(([field]) => !NOT_FOR_PODMAN.has(field));
    const args = expanded.find(({ name }) => name === container.name)?.args;
    return {
      ...Object.fromEntries(rest),
      args,
      env: [...(container.env ?? []).map(withValue), ...cluster.environment],
    };
  });
  const volumes = spec.volumes?.map(({ name }) => ({
    name,
    hostPath: { path: cluster.folderOf(name), type: 'Directory' },
  }));
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, name: deployment.metadata.name },
    spec: { ...spec, containers, volumes },
  });
}

type Variable = NonNullable<ReturnType<typeof containersOf>[number]['env']>[number];

function withValue({ name, value, valueFrom }: Variable): Variable {
  if (valueFrom?.fieldRef === undefined) return { name, ...(value !== undefined && { value }) };
  const { fieldPath } = valueFrom.fieldRef;
  if (fieldPath !== 'metadata.namespace') throw new Error(`${name}: no value for ${fieldPath}`);
  return { name, value: 'kube-system' };
}
