import { parseArguments, UsageError } from '@kube-dns/daemon';

/** The options of `kube-dns up`. */
export interface UpOptions {
  readonly help: boolean;
  /** Undefined: the local pod of the repository. */
  readonly manifest: string | undefined;
  /** Undefined: the embedded API server. */
  readonly kubeconfig: string | undefined;
  /** The containers to run; empty means all. */
  readonly only: readonly string[];
}

/** The text of `kube-dns up --help`. */
export const UP_USAGE = `Usage: kube-dns up [flags]

Runs the pod of a manifest on this machine as a kubelet would: the containers' commands as
processes, with their probes, restarts and one common log. Needs no root and no container engine.

Flags:
  --manifest FILE     a Pod or Deployment in YAML (default: manifests/local/pod.yaml of this
                      repository)
  --kubeconfig FILE   use the cluster of this kubeconfig instead of the embedded API server
  --only CONTAINER    run only this container of the pod; may be repeated
  -h, --help          show this text

Ctrl-C stops the pod gracefully, a second Ctrl-C immediately.
Status: 0 stopped, 1 could not be started, 2 wrong usage, 130 stopped by a second Ctrl-C.
`;

/** Parses the arguments after `up`; throws a UsageError. */
export function parseUpOptions(args: readonly string[]): UpOptions {
  const { values } = parseArguments(
    {
      args: [...args],
      options: {
        manifest: { type: 'string' },
        kubeconfig: { type: 'string' },
        only: { type: 'string', multiple: true },
        help: { type: 'boolean', short: 'h' },
      },
    },
    'kube-dns up',
  );
  for (const flag of ['manifest', 'kubeconfig'] as const) {
    if (values[flag] === '') throw new UsageError(`--${flag} needs a file`);
  }
  return {
    help: values.help ?? false,
    manifest: values.manifest,
    kubeconfig: values.kubeconfig,
    only: values.only ?? [],
  };
}
