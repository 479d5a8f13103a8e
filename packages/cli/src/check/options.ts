import {
  optional,
  type Options,
  type OptionValues,
  preset,
  switchOption,
  UsageError,
} from '@kube-dns/base';
import { isDnsLabel } from '@kube-dns/daemon';
import { flagRows, helpFlag, parseCommand } from '../command.js';
import { portFlag } from '../explain/options.js';
import { nameProblem } from '../question.js';
import type { Severity } from './rule.js';

const FORMATS = ['text', 'json'] as const;
const SEVERITIES = ['error', 'warning'] as const satisfies readonly Severity[];

/** The flags, in the order of the usage. */
export const CHECK_FLAGS = {
  pre: switchOption(
    'look for what an installation needs, before it: rights, another DNS, version, address',
  ),
  probe: switchOption(
    'start a pod that asks, and remove it; without it nothing is started in the cluster',
  ),
  'probe-image': optional('IMAGE', 'of that pod, with Node; that of the DNS pods unless given'),
  'probe-namespace': preset('default', 'NAMESPACE', 'of that pod', namespaceOf),
  'probe-name': preset(
    'example.com',
    'NAME',
    'a name outside the cluster, which that pod asks for',
    nameOf,
  ),
  namespace: {
    ...preset('kube-system', 'NAMESPACE', 'of the DNS', namespaceOf),
    short: 'n',
  },
  kubeconfig: optional('FILE', 'the cluster; KUBECONFIG or ~/.kube/config unless given'),
  context: optional('NAME', 'a context of the kubeconfig; its current one unless given'),
  api: optional('URL', 'the API server of kube-dns up, in place of a kubeconfig'),
  'node-cache': portFlag('node-cache'),
  dnsmasq: portFlag('dnsmasq'),
  kubedns: portFlag('kubedns'),
  'fail-on': {
    ...preset(
      'error',
      'SEVERITY',
      'status 1 for a finding of error, or of warning and above',
      oneOf(SEVERITIES),
    ),
    choices: SEVERITIES,
  },
  list: switchOption('list all findings, and look at nothing'),
  output: {
    ...preset('text', 'FORMAT', 'text, or json', oneOf(FORMATS)),
    short: 'o',
    choices: FORMATS,
  },
  help: helpFlag(),
} satisfies Options;

/** The options of `kube-dns check`. */
export interface CheckOptions extends OptionValues<typeof CHECK_FLAGS> {
  /** Manifests or dumps, in place of a cluster. */
  readonly files: readonly string[];
}

/** The text of `kube-dns check --help`. */
export function checkUsage(): string {
  return `Usage: kube-dns check [FILE...] [flags]

Says what is wrong with the DNS of a cluster: each finding has a code, a sentence, a command that
mends it, and a place in manifests/TROUBLESHOOTING.md. What could not be seen is said as well.

It reads the objects of the API server, and the status pages of the DNS pods through kubectl
port-forward. Of FILEs, manifests or a dump, it reads those alone; - is the standard input. Without a
kubeconfig it looks at the pod of kube-dns up.

Flags:
${flagRows(CHECK_FLAGS)}

Status: 0 nothing of --fail-on was found, 1 something was, 2 wrong usage, or nothing can be looked at,
130 Ctrl-C; the pod of --probe is removed then, too.
`;
}

const MAX_FILES = 1_000;

/** Parses the arguments after `check`; throws a UsageError. 'help' for `--help`. */
export function parseCheckOptions(args: readonly string[]): CheckOptions | 'help' {
  const given = parseCommand('kube-dns check', CHECK_FLAGS, args, MAX_FILES);
  if (given === 'help') return given;
  const { values, operands: files } = given;
  const ofCluster = (['kubeconfig', 'context', 'api', 'probe', 'pre'] as const).find((name) => given.isGiven(name)); // prettier-ignore
  if (files.length > 0 && ofCluster !== undefined)
    throw new UsageError(`--${ofCluster} is for a cluster, and there are files`);
  const ofProbe = (['probe-image', 'probe-namespace', 'probe-name'] as const).find((name) => given.isGiven(name)); // prettier-ignore
  if (ofProbe !== undefined && !values.probe)
    throw new UsageError(`--${ofProbe} is for the pod of --probe`);
  return { ...values, files };
}

function namespaceOf(text: string): string {
  if (isDnsLabel(text)) return text;
  throw new Error('must be the name of a namespace');
}

function nameOf(text: string): string {
  const problem = nameProblem(text);
  if (problem !== undefined) throw new Error(`is no name: ${problem}`);
  return `${text.replace(/\.$/, '')}.`;
}

function oneOf<T extends string>(words: readonly T[]): (text: string) => T {
  return (text) => {
    const found = words.find((each) => each === text);
    if (found === undefined) throw new Error(`must be ${words.join(' or ')}`);
    return found;
  };
}
