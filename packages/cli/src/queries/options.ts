import {
  numberOption,
  optional,
  type Options,
  type OptionValues,
  preset,
  repeatable,
  switchOption,
} from '@kube-dns/base';
import { helpFlag } from '../command.js';
import { EXPLAIN_FLAGS } from '../explain/options.js';
import { EXPLAINERS, type ExplainerName } from '../explain/programs.js';

/** Where the programs are, and how the answer is shown: for both commands. */
const COMMON = {
  pod: repeatable(
    '[NAMESPACE/]POD',
    'ask this DNS pod, by kubectl port-forward; may be repeated; its namespace is kube-system unless given',
    podOf,
  ),
  'all-pods': switchOption(
    'ask the pods of kube-system with the label k8s-app=kube-dns or node-local-dns, eight at the most',
  ),
  program: {
    ...optional(
      'PROGRAM',
      'what this program is asked: node-cache, dnsmasq or kubedns; the first of them that is there unless given',
      programOf,
    ),
    choices: Object.keys(EXPLAINERS),
  },
  'node-cache': EXPLAIN_FLAGS['node-cache'],
  dnsmasq: EXPLAIN_FLAGS.dnsmasq,
  kubedns: EXPLAIN_FLAGS.kubedns,
  kubeconfig: optional(
    'FILE',
    'for kubectl and for --all-pods; KUBECONFIG or ~/.kube/config unless given',
  ),
  output: {
    ...preset('text', 'FORMAT', 'text, or json', formatOf),
    short: 'o',
    choices: ['text', 'json'],
  },
} satisfies Options;

/** The flags of `kube-dns top`, in the order of the usage. */
export const TOP_FLAGS = {
  pod: COMMON.pod,
  'all-pods': COMMON['all-pods'],
  program: COMMON.program,
  rows: numberOption(10, 'rows of each list; a program has 20', { min: 1, max: 1_000 }),
  interval: numberOption(2, 'seconds between two looks, on a terminal', { min: 1, max: 3_600 }),
  count: numberOption(0, 'end after so many looks; 0 is never on a terminal, and one elsewhere'),
  'node-cache': COMMON['node-cache'],
  dnsmasq: COMMON.dnsmasq,
  kubedns: COMMON.kubedns,
  kubeconfig: COMMON.kubeconfig,
  output: COMMON.output,
  help: helpFlag(),
} satisfies Options;

/** The flags of `kube-dns tail`, in the order of the usage. */
export const TAIL_FLAGS = {
  pod: COMMON.pod,
  'all-pods': COMMON['all-pods'],
  program: COMMON.program,
  count: numberOption(0, 'end after so many lines; 0 is never'),
  'node-cache': COMMON['node-cache'],
  dnsmasq: COMMON.dnsmasq,
  kubedns: COMMON.kubedns,
  kubeconfig: COMMON.kubeconfig,
  output: COMMON.output,
  help: helpFlag(),
} satisfies Options;

export type QueriesOptions = OptionValues<typeof COMMON>;

function podOf(text: string) {
  return EXPLAIN_FLAGS.pod.parse(text, undefined)!;
}

function programOf(text: string): ExplainerName {
  if (text === 'node-cache' || text === 'dnsmasq' || text === 'kubedns') return text;
  throw new Error('must be node-cache, dnsmasq or kubedns');
}

function formatOf(text: string): 'text' | 'json' {
  if (text !== 'json' && text !== 'text') throw new Error('must be text or json');
  return text;
}
