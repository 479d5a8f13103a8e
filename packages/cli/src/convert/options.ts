import { parseArguments, UsageError } from '@kube-dns/base';
import { flagRows, type FlagTable, HELP_FLAG } from '../flag-table.js';

/** The options of `kube-dns convert`. */
export interface ConvertOptions {
  readonly help: boolean;
  readonly to: 'corefile' | 'configmap' | 'manifest';
  /** `-` is stdin. */
  readonly files: readonly string[];
  /** The arguments of the container dnsmasq on one line. */
  readonly line: string | undefined;
}

/** The flags, in the order of the usage. */
export const CONVERT_FLAGS = {
  to: {
    type: 'string',
    value: 'FORMAT',
    choices: ['corefile', 'configmap'],
    text: `what to write; corefile: a Corefile from the ConfigMap kube-dns and, where FILE has it, the Deployment;
      configmap: the ConfigMap kube-dns and the containers' arguments from a Corefile, or from the
      ConfigMap that it is in`,
  },
  args: {
    type: 'string',
    value: 'LINE',
    text: 'the arguments of the container dnsmasq, instead of those of a Deployment',
  },
  manifest: {
    type: 'string',
    value: 'FILE',
    text: `our manifests with domain, address, arguments and configuration of FILE, a Deployment or
      ReplicationController of kube-dns with its other objects`,
  },
  help: HELP_FLAG,
} as const satisfies FlagTable;

/** The text of `kube-dns convert --help`. */
export const CONVERT_USAGE = `Usage: kube-dns convert --to corefile FILE... [--args LINE]
       kube-dns convert --to configmap FILE
       kube-dns convert --manifest FILE

Converts the configuration of kube-dns to CoreDNS and back, and the manifest of an older kube-dns
to ours. The result is on stdout; what could not be carried over is on stderr and in comments.

Flags:
${flagRows(CONVERT_FLAGS)}

FILE is YAML or JSON, also as kubectl get -o yaml writes it; - is stdin.
Status: 0 everything was carried over, 1 something was not, 2 wrong usage or input.
`;

/** Parses the arguments after `convert`; throws a UsageError. */
export function parseConvertOptions(args: readonly string[]): ConvertOptions {
  const { values, positionals } = parseArguments(
    { args: withJoinedLine(args), allowPositionals: true, options: CONVERT_FLAGS },
    'kube-dns convert',
  );
  const { to, manifest, args: line } = values;
  const fail = (message: string): never => {
    throw new UsageError(message);
  };
  if (values.help === true) return { help: true, to: 'manifest', files: [], line };
  if (manifest !== undefined) {
    if (manifest === '') fail('--manifest needs a file');
    if (to !== undefined || line !== undefined) fail('--manifest goes without --to and --args');
    return { help: false, to: 'manifest', files: [manifest, ...positionals], line };
  }
  if (to !== 'corefile' && to !== 'configmap') {
    return fail(
      to === undefined
        ? '--to or --manifest is missing'
        : `--to ${to}: must be corefile or configmap`,
    );
  }
  if (to === 'configmap' && line !== undefined) fail('--args goes with --to corefile');
  if (positionals.length === 0 && line === undefined) fail('a file is missing');
  if (to === 'configmap' && positionals.length > 1) fail('--to configmap takes one file');
  if (positionals.filter((file) => file === '-').length > 1) fail('- can be read once');
  return { help: false, to, files: positionals, line };
}

/** The value of `--args` begins with a dash and would be read as a flag. */
function withJoinedLine(args: readonly string[]): string[] {
  const at = args.indexOf('--args');
  if (at < 0 || at + 1 >= args.length) return [...args];
  return [...args.slice(0, at), `--args=${args[at + 1]!}`, ...args.slice(at + 2)];
}
