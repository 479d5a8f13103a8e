import { parseArguments, UsageError } from '@kube-dns/base';
import { flagRows, type FlagTable, HELP_FLAG } from '../flag-table.js';

/** The options of `kube-dns up`. */
export interface UpOptions {
  readonly help: boolean;
  /** Undefined: the local pod of the repository. */
  readonly manifest: string | undefined;
  /** Undefined: the embedded API server. */
  readonly kubeconfig: string | undefined;
  /** Whether a node-cache is put in front of the pod. */
  readonly nodeCache: boolean;
  /** The containers to run; empty means all. */
  readonly only: readonly string[];
}

/** The flags, in the order of the usage. */
export const UP_FLAGS = {
  manifest: {
    type: 'string',
    value: 'FILE',
    text: 'a Pod or Deployment in YAML; unless given, manifests/local/pod.yaml of this repository',
  },
  kubeconfig: {
    type: 'string',
    value: 'FILE',
    text: 'use the cluster of this kubeconfig instead of the embedded API server',
  },
  'node-cache': {
    type: 'boolean',
    text: 'put a node-cache in front of the pod, without changing the network of this machine',
  },
  only: {
    type: 'string',
    multiple: true,
    value: 'CONTAINER',
    text: 'run only this container of the pod; may be repeated',
  },
  help: HELP_FLAG,
} as const satisfies FlagTable;

/** The text of `kube-dns up --help`. */
export const UP_USAGE = `Usage: kube-dns up [flags]

Runs the pod of a manifest on this machine as a kubelet would: the containers' commands as
processes, with their probes, restarts and one common log. Needs no root and no container engine.

Flags:
${flagRows(UP_FLAGS)}

Ctrl-C stops the pod gracefully, a second Ctrl-C immediately.
Status: 0 stopped, 1 could not be started, 2 wrong usage, 130 stopped by a second Ctrl-C.
`;

/** Parses the arguments after `up`; throws a UsageError. */
export function parseUpOptions(args: readonly string[]): UpOptions {
  const { values } = parseArguments({ args: [...args], options: UP_FLAGS }, 'kube-dns up');
  for (const flag of ['manifest', 'kubeconfig'] as const) {
    if (values[flag] === '') throw new UsageError(`--${flag} needs a file`);
  }
  return {
    help: values.help ?? false,
    manifest: values.manifest,
    kubeconfig: values.kubeconfig,
    nodeCache: values['node-cache'] ?? false,
    only: values.only ?? [],
  };
}
