import { shownUrl } from '@kube-dns/base';
import type { Explanation } from '@kube-dns/telemetry';
import type { V1Pod } from '@kubernetes/client-node';
import { ApiReader, defaultKubeconfig, LOCAL_API } from '../api-reader.js';
import { print, type CommandContext } from '../command.js';
import { refusal } from '../errors.js';
import {
  lookUp,
  assumedResolver,
  muslNote,
  podResolver,
  searchPath,
  type PodResolver,
  typeOf,
  type Lookup,
} from './lookup.js';
import { explainUsage, parseExplainOptions, type ExplainOptions } from './options.js';
import { forwardPorts, findPrograms, HANG_MS } from './programs.js';
import { adviceOf, resultData, resultText, type Result } from './report.js';

/**
 * The command `kube-dns explain`: why a name is answered as it is. Resolves with 0 when the name has records of the type and
 * no program hangs, else with 1; throws a CliError of status 2 when nothing can be asked.
 */
export async function explain(args: readonly string[], context: CommandContext): Promise<number> {
  const options = parseExplainOptions(args);
  if (options === 'help') {
    context.stdout.write(explainUsage());
    return 0;
  }
  const result = await explainName(options);
  const text =
    options.json || options.output === 'json'
      ? `${JSON.stringify(resultData(result), null, 2).replace(NOT_PRINTABLE, escaped)}\n`
      : resultText(result);
  await print(context, text);
  const isHang = result.missed.some(({ hangs }) => hangs);
  return result.lookup.deciding.outcome === 'answered' && !isHang ? 0 : 1;
}

/** JSON escapes the others itself. */
const NOT_PRINTABLE = /[\u007f-\u009f]/g;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

async function explainName(options: ExplainOptions): Promise<Result> {
  const { name, type, address, pod, ports } = options;
  const resolver = await resolverOf(options);
  const path = searchPath(name, resolver);
  const kubeconfig = options.kubeconfig;
  const forwarded = pod && (await forwardPorts({ ...pod, ports, kubeconfig }));
  try {
    const { reached, missed } = await findPrograms(forwarded?.ports ?? ports);
    if (reached.length === 0) {
      const tried = missed.map(({ program, reason }) => `${program} (${reason})`).join('; ');
      throw refusal(
        `no program can be asked: ${tried}; start kube-dns up, give --pod, or run this in the DNS pod`,
      );
    }
    const client = resolver.address;
    // Programs wait for the one that hangs: no longer than it was waited for here.
    const limitMs = missed.some(({ hangs }) => hangs) ? HANG_MS : undefined;
    const lookup = await lookUp({ path, type, client, programs: reached, limitMs }).catch(
      (cause: unknown) => {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw refusal(`a program stopped answering: ${reason}`, { cause });
      },
    );
    const outcomes = lookup.asked.map(({ outcome }) => outcome);
    return {
      question: { name, type, address },
      resolver,
      path,
      lookup,
      missed,
      advice: adviceOf(lookup, path, options),
      musl: muslNote(path, outcomes),
      coredns: corednsNotes(lookup),
    };
  } finally {
    forwarded?.close();
  }
}

async function resolverOf(options: ExplainOptions): Promise<PodResolver> {
  const { from, domain } = options;
  if (from.pod === undefined) return assumedResolver(from.namespace, domain);
  const kubeconfig =
    options.kubeconfig ?? (options.api === undefined ? defaultKubeconfig() : undefined);
  const api = options.api ?? (kubeconfig === undefined ? LOCAL_API : undefined);
  const reader = new ApiReader({ kubeconfig, api });
  const path = `/api/v1/namespaces/${from.namespace}/pods/${from.pod}`;
  const pod = (await reader.read(path)) as V1Pod | undefined;
  if (pod === undefined)
    throw refusal(`there is no pod ${from.namespace}/${from.pod} at ${shownUrl(reader.server)}`);
  return podResolver(pod, domain);
}

/** What a rule looks at: the name that decides, and what kubedns says about it. */
interface Explained {
  readonly explanation: Explanation;
  readonly labels: readonly string[];
  readonly type: string;
  /** Those of the cluster: what is asked elsewhere is the same with CoreDNS. */
  readonly isInCluster: boolean;
}

/** One known difference; `when` says whether it concerns an answer. */
interface Rule {
  readonly when: (explained: Explained) => boolean;
  readonly text: string;
}

/** A hex text that is hex-encoded again, as kubedns names an endpoint without a hostname. */
const HASH_LABEL = /(?:^|[ .])(?:3[0-9]|6[1-6]){1,8}\.[^. ]+\.[^. ]+\.svc\./;
const DEFAULT_TTL = '30';

/** Each was seen at CoreDNS 1.14.7 with the defaults of its plugin `kubernetes`. */
const RULES: readonly Rule[] = [
  {
    when: ({ labels }) => labels.includes('*'),
    text: 'NXDOMAIN: it has no wildcards since 1.9.0',
  },
  {
    when: ({ explanation }) => hasFact(explanation, 'name', 'kind', 'pod'),
    text: 'NXDOMAIN, unless its Corefile has "pods insecure" (as that of kubeadm), or "pods verified" and there is such a pod',
  },
  {
    when: ({ explanation }) => hasFact(explanation, 'name', 'isFederated', true),
    text: 'NXDOMAIN: it has no federations since 1.7.0',
  },
  {
    when: ({ explanation }) => hasFact(explanation, 'left-out', 'reason', 'not-headless'),
    text: 'the address of the endpoint, if one has this hostname (or, without one, this address with dashes): it names the endpoints of services with a cluster address, too',
  },
  {
    when: ({ explanation }) =>
      explanation.steps.some(({ behind }) => Array.isArray(behind) && behind.length > 0),
    text: 'the name of that endpoint: it names the endpoints of services with a cluster address, too',
  },
  {
    when: ({ explanation, type, isInCluster }) =>
      isInCluster && type === 'ANY' && explanation.verdict.answers.length > 0,
    text: 'an empty answer: it does not answer ANY',
  },
  {
    when: ({ explanation, labels, type }) =>
      (type === 'A' || type === 'AAAA') && isPort(labels) && hasName(explanation),
    text: 'the address of the service: it has the name of a port for addresses, too',
  },
  {
    when: ({ explanation, labels }) => isProtocol(labels) && hasName(explanation),
    text: 'NXDOMAIN: it does not know the names between a service and its ports',
  },
  {
    when: ({ labels }) => labels[0] === 'ns' && labels[1] === 'dns',
    text: 'the address of its own machine or of its service',
  },
  {
    when: ({ explanation }) => explanation.verdict.answers.some((one) => HASH_LABEL.test(one)),
    text: 'another name for an endpoint without a hostname: its address with dashes, as 10-1-0-3, not a hash',
  },
  {
    when: ({ explanation, isInCluster }) =>
      isInCluster && explanation.verdict.answers.some((one) => typeOf(one) === 'SRV'),
    text: 'the same SRV targets and ports with other priorities and weights',
  },
  {
    when: ({ explanation, isInCluster }) =>
      isInCluster && explanation.verdict.answers.some((one) => typeOf(one) === 'SOA'),
    text: 'an SOA with other timers: 7200 1800 86400 in place of 28800 7200 604800',
  },
  {
    when: ({ isInCluster, explanation }) =>
      isInCluster && explanation.verdict.answers.some((one) => one.split(' ')[1] === DEFAULT_TTL),
    text: 'TTL 5 in place of 30, unless its Corefile has "ttl 30"',
  },
];

/** Where CoreDNS is known to answer otherwise, in the words that follow "CoreDNS would say". */
function corednsNotes({ explained: { name, explanations } }: Lookup): string[] {
  const explanation = explanations.find(({ program }) => program === 'kubedns');
  if (explanation === undefined) return [];
  const explained: Explained = {
    explanation,
    labels: name.split('.'),
    type: explanation.question.type,
    isInCluster:
      hasFact(explanation, 'route', 'route', 'zone') || explanation.verdict.answers.some(isPtr),
  };
  return RULES.filter(({ when }) => when(explained)).map(({ text }) => text);
}

function isPtr(record: string): boolean {
  return typeOf(record) === 'PTR';
}

function isPort([first = '', second = '']: readonly string[]): boolean {
  return first.startsWith('_') && second.startsWith('_');
}

function isProtocol([first = '', second = '']: readonly string[]): boolean {
  return /^_(?:tcp|udp|sctp)$/i.test(first) && !second.startsWith('_');
}

function hasName({ verdict }: Explanation): boolean {
  return verdict.rcode === 'NOERROR' && verdict.answers.length === 0;
}

function hasFact({ steps }: Explanation, step: string, fact: string, value: unknown): boolean {
  return steps.some((one) => one.step === step && one[fact] === value);
}
