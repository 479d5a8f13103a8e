import type { ApiServer } from '@kube-dns/apiserver';

/** A pod that a deployment asks for. */
interface PlannedPod {
  readonly deployment: string;
  readonly labels: Readonly<Record<string, unknown>>;
}

interface ObjectName {
  readonly name: string;
  readonly namespace?: string;
}

type Labels = Readonly<Record<string, unknown>> | undefined;

function selects(selector: Labels, { labels }: PlannedPod): boolean {
  return Object.entries(selector ?? {}).every(([key, value]) => labels[key] === value);
}

/**
 * What the controllers of a cluster make of the deployments in kube-system, since the local API server has none:
 * the pods that run, which of them a service and a disruption budget select, and the status of the deployments.
 */
export class Workloads {
  readonly #server: ApiServer;

  constructor(server: ApiServer) {
    this.#server = server;
  }

  get #pods(): PlannedPod[] {
    return this.#server.list('Deployment', 'kube-system').flatMap(({ metadata, spec }) => {
      const labels = (spec.template?.metadata?.labels ?? {}) as PlannedPod['labels'];
      return Array.from({ length: spec.replicas ?? 1 }, () => ({
        deployment: metadata.name,
        labels,
      }));
    });
  }

  /** The deployments of the pods behind a service, one name for each pod. */
  behind(service: string): string[] {
    const { selector } = this.#server.get('Service', 'kube-system', service)?.spec ?? {};
    return this.#pods.filter((pod) => selects(selector, pod)).map(({ deployment }) => deployment);
  }

  /** The deployments of the pods that a disruption budget covers. */
  coveredBy(budget: string): string[] {
    const { spec } = this.#server.get('PodDisruptionBudget', 'kube-system', budget) ?? {};
    const labels = spec?.selector?.matchLabels as Labels;
    return this.#pods.filter((pod) => selects(labels, pod)).map(({ deployment }) => deployment);
  }

  /** Every deployment has rolled out, and every pod that ends has ended. */
  async settle(): Promise<void> {
    for (const { metadata, spec } of this.#server.list('Deployment')) {
      const replicas = spec.replicas ?? 1;
      const counts = { replicas, updatedReplicas: replicas, availableReplicas: replicas };
      const status = { ...counts, observedGeneration: metadata.generation };
      await this.#setStatus('apis/apps/v1', 'deployments', metadata, status);
    }
    for (const { metadata } of this.#server.list('Pod')) {
      await this.#setStatus('api/v1', 'pods', metadata, { phase: 'Succeeded' });
    }
  }

  async #setStatus(group: string, resource: string, object: ObjectName, status: object) {
    const path = `${group}/namespaces/${object.namespace}/${resource}/${object.name}/status`;
    const answer = await fetch(`${this.#server.url}/${path}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ status }),
    });
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
  }
}
