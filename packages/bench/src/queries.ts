import { encodeQuery, frameMessage, type RealDnsmasqOptions } from '@kube-dns/testkit';
import { addressBytes, reverseName } from '@kube-dns/wire';
import { type ClusterPlan, serviceAddress, ZONE } from './cluster/cluster-plan.js';

/** One question of a load, and the options of its query. */
export interface LoadQuestion {
  readonly name: string;
  readonly type: string;
  /** The size that an OPT record offers; without it there is no such record. */
  readonly ednsBytes?: number;
  /** A client's cookie (RFC 7873) in the OPT record. */
  readonly hasCookie?: boolean;
}

const COOKIE = '10 0123456789abcdef';
/** Of the generator of Numerical Recipes; it is the same in each run. */
const MULTIPLIER = 1_664_525;
const INCREMENT = 1_013_904_223;

/** The query in wire form; its ID is for the sender to set. */
export function encodeQuestion({ hasCookie, ...question }: LoadQuestion): Buffer {
  return encodeQuery({ id: 0, ...question, ...(hasCookie === true && { options: [COOKIE] }) });
}

/** A data file for `dnsperf -B`: each query after its length. */
export function encodeQuestionFile(questions: readonly LoadQuestion[]): Buffer {
  return Buffer.concat(questions.map((question) => frameMessage(encodeQuestion(question))));
}

/** Names below a domain, all different. */
export function namesBelow(domain: string, count: number): readonly LoadQuestion[] {
  return Array.from({ length: count }, (_, i) => ({ name: `host-${i}.${domain}`, type: 'A' }));
}

const MAX_LABEL_BYTES = 50;

/** The same, all of one length or of many. */
export function namesOfLength(
  kind: 'one' | 'many',
  domain: string,
  count: number,
): readonly LoadQuestion[] {
  return Array.from({ length: count }, (_, i) => {
    const number = String(i).padStart(5, '0');
    const more = kind === 'one' ? '' : '-'.padEnd(1 + (i % MAX_LABEL_BYTES), 'x');
    return { name: `h${number}${more}.${kind}.${domain}`, type: 'A' };
  });
}

/** Numbers from 0 to 1 that look random and are the same in each run. */
function* numbers(): Generator<number, never> {
  for (let state = 1; ;) {
    state = (Math.imul(state, MULTIPLIER) + INCREMENT) >>> 0;
    yield state / 2 ** 32;
  }
}

/** Each letter of a name in either case, as resolvers send it against forged answers. */
function inMixedCase(name: string, random: Iterator<number, never>): string {
  const turn = (letter: string) =>
    random.next().value < 0.5 ? letter.toUpperCase() : letter.toLowerCase();
  return name.replaceAll(/[a-z]/gi, turn);
}

const MIXED_CASE_PART = 0.1;
const EDNS_PART = 0.3;
const EDNS_BYTES = 1_232;

/** The same questions as clients differ: one in ten in mixed case, three in ten with a cookie. */
export function asClientsAsk(questions: readonly LoadQuestion[]): readonly LoadQuestion[] {
  const random = numbers();
  return questions.map(({ name, type }) => ({
    name: random.next().value < MIXED_CASE_PART ? inMixedCase(name, random) : name,
    type,
    ...(random.next().value < EDNS_PART && { ednsBytes: EDNS_BYTES, hasCookie: true }),
  }));
}

/** The same in another order, which is the same in each run (Fisher and Yates). */
export function inRandomOrder<T>(items: readonly T[]): readonly T[] {
  const random = numbers();
  const shuffled = [...items];
  for (let i = shuffled.length - 1; i > 0; i--) {
    const other = Math.floor(random.next().value * (i + 1));
    [shuffled[i], shuffled[other]] = [shuffled[other]!, shuffled[i]!];
  }
  return shuffled;
}

/** The kinds of questions that there are. */
export const MIX_NAMES = ['A', 'SRV', 'PTR', 'NXDOMAIN'] as const;
export type MixName = (typeof MIX_NAMES)[number];

/** One kind of question, asked about many names. */
export interface Mix {
  readonly name: MixName;
  /** The rcode that every answer is to have. */
  readonly rcode: 'NOERROR' | 'NXDOMAIN';
  /** Lines of a data file of dnsperf: a name and a type. */
  readonly lines: readonly string[];
}

/** The same order in each run, with no name near its neighbours (the step shares no factor). */
function shuffled<T>(items: readonly T[]): T[] {
  const count = items.length;
  let step = Math.max(1, Math.floor(count * 0.618));
  while (step > 1 && greatestCommonDivisor(step, count) !== 1) step--;
  return items.map((_, i) => items[(i * step) % count]!);
}

function greatestCommonDivisor(left: number, right: number): number {
  return right === 0 ? left : greatestCommonDivisor(right, left % right);
}

/** The numbers of up to `count` services that have a cluster address. */
export function askedServices(plan: ClusterPlan, count: number): readonly number[] {
  const services: number[] = [];
  for (let i = 0; i < plan.size.services && services.length < count; i++) {
    if (!plan.isHeadless(i)) services.push(i);
  }
  return services;
}

/** The queries for a server with these services: addresses, ports, reverse names, names that do not exist. */
export function mixesOf(plan: ClusterPlan, services: readonly number[]): readonly Mix[] {
  const order = shuffled(services);
  const each = (line: (service: number) => string) => order.map(line);
  return [
    { name: 'A', rcode: 'NOERROR', lines: each((i) => `${plan.dnsName(i)} A`) },
    { name: 'SRV', rcode: 'NOERROR', lines: each((i) => `_http._tcp.${plan.dnsName(i)} SRV`) },
    {
      name: 'PTR',
      rcode: 'NOERROR',
      lines: each((i) => `${reverseName(addressBytes(serviceAddress(i)))} PTR`),
    },
    {
      name: 'NXDOMAIN',
      rcode: 'NXDOMAIN',
      lines: each((i) => `no-${i}.${plan.namespaceOf(i)}.svc.${ZONE} A`),
    },
  ];
}

const TTL_SECONDS = 30;

/**
 * The services of a plan for a dnsmasq that answers from its memory: addresses and reverse names, and
 * SRV records only on demand, because it goes through all of these for each query.
 */
export function dnsmasqWithServices(
  plan: ClusterPlan,
  services: readonly number[],
  { hasPorts = false } = {},
): RealDnsmasqOptions {
  return {
    hosts: services.map((i) => `${serviceAddress(i)} ${plan.dnsName(i)}`),
    config: (hasPorts ? services : []).map((i) => {
      const name = plan.dnsName(i);
      return `srv-host=_http._tcp.${name},${name},80,10,100`;
    }),
    args: [`--local=/${ZONE}/`, `--local-ttl=${TTL_SECONDS}`],
  };
}
