import { isIP } from 'node:net';
import { type HostPort, nearest, parseArguments, parseHostPort, UsageError } from '@kube-dns/base';
import type { ServerAddress } from '@kube-dns/transport';
import { flagRows, HELP_FLAG, type FlagTable } from '../command.js';
import { readQuestion, WAYS, type Side, type Way } from '../question.js';
import { ASPECT_ORDER, KNOWN_CLASSES, type KnownClass } from './compare-replies.js';
import { CLASSES, type ClassRules, type DifferenceClass } from './tally.js';

const DNS_PORT = 53;

/** The options of `kube-dns compare`. */
export interface CompareOptions extends ClassRules {
  readonly servers: Readonly<Record<Side, ServerAddress>>;
  readonly kubeconfig: string | undefined;
  readonly api: string | undefined;
  /** Lower case, without the trailing dot. */
  readonly domain: string;
  readonly external: readonly string[];
  readonly questionFiles: readonly string[];
  readonly logs: readonly string[];
  readonly ways: readonly Way[];
  readonly rate: number;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly ttlToleranceSeconds: number;
  readonly json: boolean;
  readonly html: string | undefined;
}

/** The flags, in the order of the usage. */
export const COMPARE_FLAGS = {
  left: {
    type: 'string',
    value: 'ADDR[:PORT]',
    text: 'one name server; the port is 53 unless given',
  },
  right: { type: 'string', value: 'ADDR[:PORT]', text: 'the other name server' },
  kubeconfig: {
    type: 'string',
    value: 'FILE',
    text: 'ask for the names of the objects of this cluster',
  },
  api: {
    type: 'string',
    value: 'URL',
    text: 'the same from this API server; overrides that of the kubeconfig',
  },
  external: {
    type: 'string',
    multiple: true,
    value: 'NAME',
    text: 'ask for this external name with each search suffix of a pod; may be repeated',
  },
  questions: {
    type: 'string',
    multiple: true,
    value: 'FILE',
    text: 'ask the lines of this file, NAME TYPE each; - is stdin; may be repeated',
  },
  'from-log': {
    type: 'string',
    multiple: true,
    value: 'FILE',
    text: 'ask the queries of this CoreDNS or dnsmasq log; - is stdin; may be repeated',
  },
  domain: {
    type: 'string',
    value: 'ZONE',
    initial: 'cluster.local',
    text: 'the zone of the cluster',
  },
  over: {
    type: 'string',
    value: 'WAYS',
    initial: 'udp,tcp,edns',
    choices: WAYS,
    text: 'how to ask: any of udp, tcp, and edns (UDP with EDNS)',
  },
  rate: {
    type: 'string',
    value: 'N',
    initial: '500',
    text: 'at most this many questions per second to each side',
  },
  concurrency: {
    type: 'string',
    value: 'N',
    initial: '20',
    text: 'at most this many unanswered questions to each side',
  },
  timeout: { type: 'string', value: 'SECONDS', initial: '2', text: 'how long to wait for a reply' },
  'ttl-tolerance': {
    type: 'string',
    value: 'SECONDS',
    initial: '2',
    text: 'TTLs that differ by at most this much are equal',
  },
  ignore: {
    type: 'string',
    multiple: true,
    value: 'CLASS',
    choices: Object.keys(CLASSES),
    text: 'count differences of this class, but do not list them; may be repeated',
  },
  'fail-on': {
    type: 'string',
    multiple: true,
    value: 'CLASS',
    choices: Object.keys(CLASSES),
    text: 'status 1 for this class only, a convention or not; may be repeated',
  },
  json: { type: 'boolean', text: 'print the whole result as JSON instead of tables' },
  html: {
    type: 'string',
    value: 'FILE',
    text: 'also write a page with a list that can be filtered',
  },
  help: HELP_FLAG,
} as const satisfies FlagTable;

const CLASS_COLUMN = 24;
const MAX_RATE = 1_000_000;
const MAX_CONCURRENCY = 10_000;
const MAX_SECONDS = 3_600;

/** The text of `kube-dns compare --help`. */
export function compareUsage(): string {
  return `Usage: kube-dns compare --left ADDR[:PORT] --right ADDR[:PORT] SOURCE... [flags]

Asks two name servers the same questions and shows where they differ: rcode, records, TTLs.
Conventions, which no client notices, are counted; all other differences are listed, worst first,
equal ones as one. Nothing is changed anywhere. A SOURCE is one of --kubeconfig, --api, --external,
--questions and --from-log.

Flags:
${flagRows(COMPARE_FLAGS)}

Classes of differences that a client can notice:
${classRows(ASPECT_ORDER)}

Conventions:
${classRows(Object.keys(KNOWN_CLASSES) as KnownClass[])}

Status: 0 no client can notice a difference, 1 one can, 2 wrong usage, or something cannot be read
or reached. --ignore and --fail-on change which classes count.
`;
}

function classRows(classes: readonly DifferenceClass[]): string {
  return classes.map((one) => `  ${one.padEnd(CLASS_COLUMN - 2)}${CLASSES[one]}`).join('\n');
}

/** Parses the arguments after `compare`; throws a UsageError. 'help' for `--help`. */
export function parseCompareOptions(args: readonly string[]): CompareOptions | 'help' {
  const { values } = parseArguments(
    { args: [...args], options: COMPARE_FLAGS },
    'kube-dns compare',
  );
  if (values.help === true) return 'help';
  for (const [name, value] of Object.entries(values)) {
    if ([value].flat().includes('')) fail(`--${name} needs a value`);
  }
  const sources = [values.external, values.questions, values['from-log']].flat();
  const hasSource = sources.some((source) => source !== undefined);
  const options: CompareOptions = {
    servers: { left: server('left', values.left), right: server('right', values.right) },
    kubeconfig: values.kubeconfig,
    api: values.api,
    domain: nameOf('domain', values.domain ?? COMPARE_FLAGS.domain.initial),
    external: (values.external ?? []).map((name) => nameOf('external', name)),
    questionFiles: values.questions ?? [],
    logs: values['from-log'] ?? [],
    ways: waysOf(values.over ?? COMPARE_FLAGS.over.initial),
    rate: wholeNumber('rate', values.rate, MAX_RATE),
    concurrency: wholeNumber('concurrency', values.concurrency, MAX_CONCURRENCY),
    timeoutMs: seconds('timeout', values.timeout, 0.001) * 1_000,
    ttlToleranceSeconds: seconds('ttl-tolerance', values['ttl-tolerance'], 0),
    ...classRules(values.ignore, values['fail-on']),
    json: values.json ?? false,
    html: values.html,
  };
  if (!hasSource && options.api === undefined && options.kubeconfig === undefined) {
    fail('nothing to ask: give --kubeconfig, --api, --external, --questions or --from-log');
  }
  return options;
}

function fail(message: string): never {
  throw new UsageError(message);
}

function server(side: Side, text: string | undefined): ServerAddress {
  if (text === undefined) fail(`--${side} is missing`);
  const found = hostPort(text);
  if (found === undefined || isIP(found.host) === 0 || found.port === 0) {
    fail(`--${side} ${text}: must be an IP address, with a port if it is not 53`);
  }
  return { address: found.host, port: found.port ?? DNS_PORT };
}

function hostPort(text: string): HostPort | undefined {
  try {
    return parseHostPort(text);
  } catch {
    return undefined;
  }
}

function nameOf(flag: string, text: string): string {
  const question = readQuestion(text, 'A', 'given');
  if (question === undefined || question.name === '.') fail(`--${flag} ${text}: is not a name`);
  return question.name;
}

function waysOf(text: string): Way[] {
  const asked = text.split(',');
  const unknown = asked.find((way) => !WAYS.some((known) => known === way));
  if (unknown !== undefined) fail(`--over ${text}: must be of ${WAYS.join(', ')}`);
  return WAYS.filter((way) => asked.includes(way));
}

function classRules(ignore: readonly string[] = [], failOn?: readonly string[]): ClassRules {
  const rules = {
    ignore: classesOf('ignore', ignore),
    failOn: failOn === undefined ? new Set(ASPECT_ORDER) : classesOf('fail-on', failOn),
  };
  const both = [...rules.ignore].find((one) => failOn !== undefined && rules.failOn.has(one));
  if (both !== undefined) fail(`--ignore ${both} and --fail-on ${both} contradict each other`);
  return rules;
}

function classesOf(flag: string, texts: readonly string[]): Set<DifferenceClass> {
  const names = texts.flatMap((text) => text.split(','));
  return new Set(
    names.map((name) => {
      const classes = Object.keys(CLASSES) as DifferenceClass[];
      const known = classes.find((one) => one === name);
      if (known !== undefined) return known;
      const near = nearest(name, classes);
      const meant = near === undefined ? '' : `; did you mean ${near}?`;
      return fail(`--${flag} ${name}: must be of ${classes.join(', ')}${meant}`);
    }),
  );
}

function wholeNumber(flag: 'rate' | 'concurrency', given: string | undefined, max: number): number {
  const text = given ?? COMPARE_FLAGS[flag].initial;
  const number = Number(text);
  if (!/^[0-9]+$/.test(text) || number < 1 || number > max) {
    fail(`--${flag} ${text}: must be a whole number from 1 to ${max}`);
  }
  return number;
}

function seconds(
  flag: 'timeout' | 'ttl-tolerance',
  given: string | undefined,
  min: number,
): number {
  const text = given ?? COMPARE_FLAGS[flag].initial;
  const number = Number(text);
  if (!/^[0-9]+(?:\.[0-9]+)?$/.test(text) || number < min || number > MAX_SECONDS) {
    fail(`--${flag} ${text}: must be seconds from ${min} to ${MAX_SECONDS}`);
  }
  return number;
}
