import { fileURLToPath } from 'node:url';
import { parsePod, renderFolder, type ContainerSpec, type PodSpec } from '@kube-dns/cli';
import { MeasureError } from '@kube-dns/testkit';

const FOLDER = fileURLToPath(new URL('../../../../manifests/kube-dns', import.meta.url));

/** What `kube-dns up` has no use for, of a container of the manifest. */
interface ContainerFields {
  readonly name: string;
  readonly resources?: { readonly limits?: { readonly memory?: string } };
  readonly lifecycle?: { readonly preStop?: { readonly sleep?: { readonly seconds?: number } } };
}

interface Deployment {
  readonly kind: string;
  readonly spec: {
    readonly template: { readonly spec: { containers: readonly ContainerFields[] } };
  };
}

let deployment: Deployment | undefined;

function readDeployment(): Deployment {
  const objects = renderFolder(FOLDER).objects as readonly unknown[] as readonly Deployment[];
  deployment ??= objects.find(({ kind }) => kind === 'Deployment');
  if (deployment === undefined) throw new MeasureError('manifests/kube-dns has no Deployment');
  return deployment;
}

/** The pod of `manifests/kube-dns`, as `kube-dns up` reads it. */
export function manifestPod(): PodSpec {
  return parsePod(JSON.stringify(readDeployment()), `${FOLDER}/deployment.yaml`);
}

/** A container of it; throws a MeasureError when it is not there. */
export function manifestContainer(name: string): ContainerSpec & ContainerFields {
  const spec = manifestPod().containers.find((each) => each.name === name);
  const { containers } = readDeployment().spec.template.spec;
  const fields = containers.find((each) => each.name === name);
  if (spec === undefined || fields === undefined) {
    throw new MeasureError(`the deployment has no container ${name}`);
  }
  return { ...fields, ...spec };
}
