import { createApiServer, type ApiServer } from '@kube-dns/apiserver';
import { freePort, untilEqual } from '@kube-dns/testkit';
import { findObject } from '@kube-dns/testkit/manifests';
import { Authorizer } from './authorizer.js';
import { DeployedPod } from './deployed-pod.js';
import type { Fault } from './faults.js';
import { kustomized } from './kustomized.js';

/** A cluster without a pod, for the pods of one row. */
export class RowCluster {
  readonly server: ApiServer;
  readonly #authorizer: Authorizer;
  readonly #pods: DeployedPod[] = [];

  private constructor(server: ApiServer, authorizer: Authorizer) {
    this.server = server;
    this.#authorizer = authorizer;
  }

  static async start(): Promise<RowCluster> {
    const server = await createApiServer();
    return new RowCluster(server, await Authorizer.start(server.url, []));
  }

  async startPod({ api, hasSnapshot, ...options }: Fault): Promise<DeployedPod> {
    const pod = this.#newPod();
    const snapshot = hasSnapshot === true ? { snapshot: await this.#snapshot() } : {};
    const missingUrl = `http://127.0.0.1:${await freePort()}`;
    const urls = { missing: missingUrl, denying: this.#authorizer.url };
    await pod.start(api === undefined ? this.server.url : urls[api], { ...options, ...snapshot });
    return pod;
  }

  #newPod(): DeployedPod {
    const objects = kustomized('overlays/monitoring');
    const pod = new DeployedPod(findObject(objects, 'Deployment', 'kube-dns'));
    this.#pods.push(pod);
    return pod;
  }

  /** What a kubedns of the same cluster has written. */
  async #snapshot(): Promise<Uint8Array> {
    const pod = this.#newPod();
    await pod.start(this.server.url, { only: ['kubedns'] });
    await untilEqual(200, () => pod.status(8081, '/readiness'));
    return pod.lastSnapshot();
  }

  async close(): Promise<void> {
    for (const pod of this.#pods) pod.signal('kubedns', 'SIGCONT');
    await Promise.all(this.#pods.map((pod) => pod.close()));
    await this.#authorizer.close();
    await this.server.close();
  }
}
