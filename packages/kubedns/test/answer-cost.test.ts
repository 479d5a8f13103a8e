import { stepsOf } from './support/steps.js';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { MAX_MESSAGE_BYTES } from '@kube-dns/wire';
import { Answers } from './support/answers.js';
import { hashLabel } from './support/hash-label.js';
import { FakeClient, readQuery } from './support/messages.js';
import { HEADLESS, serviceObject, sliceObject } from './support/objects.js';

/** More than the steps of the largest answer of each kind, whose bytes are limited; a record has some 500. V8 counts a tenth more or less. */
const MAX_OBJECT_STEPS = 600_000;
/** Labels of endpoints are compared one after the other. */
const MAX_UDP_STEPS = 150_000;
const MAX_ADDRESS_STEPS = 1_000;
/** Those of a search, which begins anywhere, and of the labels of a large service that it comes to. */
const MAX_WILDCARD_STEPS = 100_000;
const MAX_GROWTH = 2.5;
/** Of so few steps the growth says nothing. */
const FEW_STEPS = 5_000;

const HTTP = [{ name: 'http', port: 80, protocol: 'TCP' }];
const addressOf = (net: number, i: number) => `10.${net + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`;
const addresses = (net: number, first: number, count: number) =>
  Array.from({ length: count }, (_, i) => addressOf(net, first + i));

const out = new Uint8Array(MAX_MESSAGE_BYTES);

/** Numbers from 0 to 1: where a search begins decides how far it goes. */
function sameInEachRun(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A service with many ports, one with many endpoints, and many services. */
class LargeCluster {
  readonly #answers = new Answers({ random: sameInEachRun() });
  #changes = 0;

  constructor(share: number) {
    const { services } = this.#answers.cluster;
    services.put(serviceObject({ name: 'wide', ...HEADLESS }));
    const ports = Array.from({ length: 10_000 * share }, (_, i) => ({
      name: `p${i}`,
      port: i + 1,
    }));
    this.#putSlice('default', 'wide', 0, addresses(1, 0, 1_000 * share), ports);
    services.put(serviceObject({ name: 'big', ...HEADLESS }));
    for (let i = 0; i < 20 * share; i++) {
      this.#putSlice('default', 'big', i, addresses(20, i * 1_000, 1_000));
    }
    for (let i = 0; i < 2_000 * share; i++) {
      for (const [namespace, name] of [
        [`ns${i}`, 's'],
        ['many', `s${i}`],
      ] as const) {
        services.put(serviceObject({ namespace, name, ...HEADLESS }));
        this.#putSlice(namespace, name, 0, [addressOf(1, i)]);
      }
    }
  }

  /** The steps of one question. */
  stepsOf(name: string, type: string, isOverTcp: boolean): number {
    const qname = name.endsWith('.arpa') ? name : `${name}.svc.cluster.local`;
    const query = readQuery(qname, type, { isOverTcp, hasEdns: true });
    const client = new FakeClient();
    return stepsOf(() => void this.#answers.answerer.answer(query, out, client));
  }

  /** Changes one slice of the service with many endpoints. */
  change(): void {
    this.#putSlice('default', 'big', 99, [addressOf(200, ++this.#changes)]);
  }

  #putSlice(
    namespace: string,
    service: string,
    i: number,
    endpoints: readonly string[],
    ports: readonly { name: string; port: number }[] = HTTP,
  ): void {
    const name = `${service}-${i}`;
    this.#answers.cluster.endpointSlices.put(
      sliceObject({ namespace, service, name, endpoints, ports }),
    );
  }
}

let half: LargeCluster;
let whole: LargeCluster;
beforeAll(() => {
  half = new LargeCluster(0.5);
  whole = new LargeCluster(1);
});

interface Limits {
  readonly udp: number;
  readonly tcp: number;
  /** Beside a cluster of half the size; not compared unless given. */
  readonly growth?: number;
}

/** The questions above their limit, or whose steps grow by more than the cluster does. */
function above(
  questions: readonly (readonly [name: string, ...types: string[]])[],
  { udp, tcp, growth }: Limits,
  before: (cluster: LargeCluster) => void = () => undefined,
): string[] {
  return questions.flatMap(([name, ...types]) =>
    types.flatMap((type) =>
      [false, true].flatMap((isOverTcp) => {
        const stepsIn = (cluster: LargeCluster) => {
          before(cluster);
          return cluster.stepsOf(name, type, isOverTcp);
        };
        const many = stepsIn(whole);
        const few = growth === undefined ? many : stepsIn(half);
        const limit = isOverTcp ? tcp : udp;
        const isGrowing = many > few * (growth ?? 1) && many > FEW_STEPS;
        if (many > 0 && Math.max(few, many) <= limit && !isGrowing) return [];
        return [`${name} ${type} ${isOverTcp ? 'TCP' : 'UDP'}: ${few}, ${many} steps`];
      }),
    ),
  );
}

describe('the steps of a question', () => {
  const limits = { udp: MAX_UDP_STEPS, tcp: MAX_OBJECT_STEPS, growth: MAX_GROWTH };

  it('have a limit about any service: 1,000 endpoints of 10,000 ports, 20,000 endpoints', () => {
    const questions = [
      ['wide.default', 'A', 'SRV', 'ANY'],
      ['_p77._tcp.wide.default', 'SRV'],
      ['_no._tcp.wide.default', 'SRV'],
      ['big.default', 'A', 'AAAA', 'SRV', 'ANY'],
      ['_http._tcp.big.default', 'SRV'],
      [`${hashLabel('10.20.0.5')}.big.default`, 'A', 'SRV'],
      ['*.*.default', 'A', 'SRV'],
    ] as const;
    expect(above(questions, limits)).toEqual([]);
  });

  it('have the same limit after a change of the service', () => {
    const change = (cluster: LargeCluster) => cluster.change();
    expect(above([['big.default', 'A', 'SRV']], limits, change)).toEqual([]);
  });

  it('are few about an address of a service with 20,000 endpoints', () => {
    const few = { udp: MAX_ADDRESS_STEPS, tcp: MAX_ADDRESS_STEPS, growth: MAX_GROWTH };
    expect(above([['63.5.20.10.in-addr.arpa', 'PTR', 'TXT']], few)).toEqual([]);
  });

  it('have a limit for a wildcard among 4,000 services in 2,000 namespaces', () => {
    const questions = [
      's.*',
      'none.*',
      '*.*',
      '*.many',
      '_http._tcp.*.many',
      '_http._tcp.*.*',
      '_no._tcp.*.*',
      '_http._tcp.s.*',
      '_no._tcp.s.*',
      'h.*.many',
      '6438626363366363.*.*',
    ].map((name) => [name, 'A', 'SRV'] as const);
    const some = { udp: MAX_WILDCARD_STEPS, tcp: MAX_WILDCARD_STEPS };
    expect(above(questions, some)).toEqual([]);
  });
});
