import { resolve } from 'node:path';
import { errorText } from '@kube-dns/base';
import { loadKubeconfig } from '@kube-dns/daemon';
import { KubeConfig } from '@kubernetes/client-node';
import { StartError } from '../errors.js';
import type { ContainerSpec } from './container-spec.js';
import type { PodSpec } from './manifest.js';
import { programNameOf } from './programs.js';

/**
 * The same pod on a real cluster: without its API server containers, and with kubedns reading
 * `kubeconfig`. Throws a StartError when that file cannot be used or the pod has no kubedns.
 */
export function useRealCluster(pod: PodSpec, kubeconfig: string): PodSpec {
  const file = resolve(kubeconfig);
  try {
    loadKubeconfig(new KubeConfig(), kubeconfig);
  } catch (error) {
    throw new StartError(errorText(error), { cause: error });
  }
  const containers = pod.containers
    .filter((container) => programNameOf(container) !== 'apiserver')
    .map((container) =>
      programNameOf(container) === 'kubedns'
        ? withApiServer(container, `--kubecfg-file=${file}`)
        : container,
    );
  if (!containers.some((container) => programNameOf(container) === 'kubedns')) {
    throw new StartError(`${pod.file}: there is no kubedns container to give the kubeconfig to`);
  }
  return { ...pod, containers };
}

/** The same kubedns with this flag in place of all others that name the API server. */
export function withApiServer(container: ContainerSpec, flag: string): ContainerSpec {
  const command = container.command.slice(0, 1);
  const given = [...container.command.slice(1), ...container.args];
  return { ...container, command, args: [...withoutServer(given), flag] };
}

/** Drops both flags that name the API server, as `--flag=value` and as `--flag value`. */
function withoutServer(args: readonly string[]): string[] {
  const isServerFlag = (arg: string) =>
    /^--?(kube[-_]master[-_]url|kubecfg[-_]file)$/.test(arg.split('=', 1)[0] ?? '');
  return args.filter((arg, index) => {
    const before = args[index - 1] ?? '';
    const isValueOfOne = isServerFlag(before) && !before.includes('=');
    return !isServerFlag(arg) && !isValueOfOne;
  });
}
