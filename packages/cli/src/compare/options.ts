import { isIP } from 'node:net';
import {
  type HostPort,
  nearest,
  type Option,
  optional,
  type Options,
  type OptionValues,
  parseHostPort,
  preset,
  repeatable,
  switchOption,
  UsageError,
} from '@kube-dns/base';
import type { ServerAddress } from '@kube-dns/transport';
import { flagRows, helpFlag, parseCommand } from '../command.js';
import { readQuestion, WAYS, type Side, type Way } from '../question.js';
import { ASPECT_ORDER, KNOWN_CLASSES, type KnownClass } from './compare-replies.js';
import { CLASSES, type ClassRules, type DifferenceClass } from './tally.js';

const DNS_PORT = 53;
const CLASS_NAMES = Object.keys(CLASSES) as DifferenceClass[];
const MAX_RATE = 1_000_000;
const MAX_CONCURRENCY = 10_000;
const MAX_SECONDS = 3_600;

/** The flags, in the order of the usage. */
export const COMPARE_FLAGS = withoutEmpty({
  left: optional('ADDR[:PORT]', 'one name server; the port is 53 unless given', server),
  right: optional('ADDR[:PORT]', 'the other name server', server),
  kubeconfig: optional('FILE', 'ask for the names of the objects of this cluster'),
  api: optional('URL', 'the same from this API server; overrides that of the kubeconfig'),
  external: repeatable(
    'NAME',
    'ask for this external name with each search suffix of a pod; may be repeated',
    nameOf,
  ),
  questions: repeatable(
    'FILE',
    'ask the lines of this file, NAME TYPE each; - is stdin; may be repeated',
    (text) => text,
  ),
  'from-log': repeatable(
    'FILE',
    'ask the queries of this CoreDNS or dnsmasq log; - is stdin; may be repeated',
    (text) => text,
  ),
  /** Lower case, without the trailing dot. */
  domain: preset('cluster.local', 'ZONE', 'the zone of the cluster', nameOf),
  /** The same; undefined for none. */
  'clusterset-domain': optional(
    'ZONE',
    'also ask for the names of imported services in this zone, those of the ServiceImports of the cluster',
    nameOf,
  ),
  over: {
    ...preset(
      'udp,tcp,edns',
      'WAYS',
      'how to ask: any of udp, tcp, and edns (UDP with EDNS)',
      waysOf,
    ),
    choices: WAYS,
  },
  rate: preset(
    '500',
    'N',
    'at most this many questions per second to each side',
    wholeNumber(MAX_RATE),
  ),
  concurrency: preset(
    '20',
    'N',
    'at most this many unanswered questions to each side',
    wholeNumber(MAX_CONCURRENCY),
  ),
  timeout: preset('2', 'SECONDS', 'how long to wait for a reply', seconds(0.001)),
  'ttl-tolerance': preset(
    '2',
    'SECONDS',
    'TTLs that differ by at most this much are equal',
    seconds(0),
  ),
  ignore: classesFlag(
    'ignore',
    'count differences of this class, but do not list them; may be repeated',
  ),
  'fail-on': classesFlag(
    'fail-on',
    'status 1 for this class only, a convention or not; may be repeated',
  ),
  json: switchOption('print the whole result as JSON instead of tables'),
  html: optional('FILE', 'also write a page with a list that can be filtered'),
  help: helpFlag(),
});

/** The options of `kube-dns compare`. */
export interface CompareOptions extends OptionValues<typeof COMPARE_FLAGS> {
  readonly servers: Readonly<Record<Side, ServerAddress>>;
  readonly rules: ClassRules;
}

const CLASS_COLUMN = 24;

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
  const given = parseCommand('kube-dns compare', COMPARE_FLAGS, args);
  if (given === 'help') return given;
  const { values } = given;
  const { left, right } = values;
  if (left === undefined || right === undefined) {
    throw new UsageError(`--${left === undefined ? 'left' : 'right'} is missing`);
  }
  const rules = classRules(values.ignore, values['fail-on']);
  if (!SOURCES.some((source) => given.isGiven(source))) {
    throw new UsageError(
      'nothing to ask: give --kubeconfig, --api, --external, --questions or --from-log',
    );
  }
  return { ...values, servers: { left, right }, rules };
}

const SOURCES = ['kubeconfig', 'api', 'external', 'questions', 'from-log'] as const;

/** No flag of this command has an empty value. */
function withoutEmpty<T extends Options>(flags: T): T {
  const all = Object.entries(flags).map(([name, flag]) => {
    return [name, flag.value === '' ? flag : { ...flag, needs: 'a value' }];
  });
  return Object.fromEntries(all) as T;
}

function server(text: string): ServerAddress {
  const found = hostPort(text);
  if (found === undefined || isIP(found.host) === 0 || found.port === 0) {
    throw new Error('must be an IP address, with a port if it is not 53');
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

function nameOf(text: string): string {
  const question = readQuestion(text, 'A', 'given');
  if (question === undefined || question.name === '.') throw new Error('is not a name');
  return question.name;
}

function waysOf(text: string): readonly Way[] {
  const asked = text.split(',');
  const isKnown = asked.every((way) => WAYS.some((known) => known === way));
  if (!isKnown) throw new Error(`must be of ${WAYS.join(', ')}`);
  return WAYS.filter((way) => asked.includes(way));
}

function classRules(
  ignore: readonly DifferenceClass[],
  failOn: readonly DifferenceClass[],
): ClassRules {
  const both = ignore.find((one) => failOn.includes(one));
  if (both !== undefined) {
    throw new UsageError(`--ignore ${both} and --fail-on ${both} contradict each other`);
  }
  return {
    ignore: new Set(ignore),
    failOn: new Set(failOn.length === 0 ? ASPECT_ORDER : failOn),
  };
}

function classesFlag(flag: string, help: string): Option<readonly DifferenceClass[]> {
  const classOf = (name: string): DifferenceClass => {
    const known = CLASS_NAMES.find((one) => one === name);
    if (known !== undefined) return known;
    const near = nearest(name, CLASS_NAMES);
    const meant = near === undefined ? '' : `; did you mean ${near}?`;
    throw new UsageError(`--${flag} ${name}: must be of ${CLASS_NAMES.join(', ')}${meant}`);
  };
  return {
    initial: [],
    value: 'CLASS',
    help,
    choices: CLASS_NAMES,
    isList: true,
    parse: (text, previous) => [...previous, ...text.split(',').map(classOf)],
  };
}

function wholeNumber(max: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^[0-9]+$/.test(text) && number >= 1 && number <= max) return number;
    throw new Error(`must be a whole number from 1 to ${max}`);
  };
}

function seconds(min: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^[0-9]+(?:\.[0-9]+)?$/.test(text) && number >= min && number <= MAX_SECONDS) return number;
    throw new Error(`must be seconds from ${min} to ${MAX_SECONDS}`);
  };
}
