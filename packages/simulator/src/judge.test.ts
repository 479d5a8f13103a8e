import { beforeEach, describe, expect, it } from '@jest/globals';
import { addressRecords, decodeMessage, encodeQuery, encodeReply } from '@kube-dns/testkit';
import type { Routing } from './model/outside-model.js';
import { History } from './model/history.js';
import type { ObjectState } from './model/service-model.js';
import { Judge } from './judge.js';
import { Troubles } from './troubles.js';

const SECOND_US = 1_000_000;
const SERVICE = 'web.shop';
const QUESTION = { type: 'A' } as const;
const NAME = `${SERVICE}.svc.cluster.local`;
const PARTS = ['api/apiserver', 'dns-0/kubedns', 'dns-0/dnsmasq'] as const;
/** Extended DNS Error 3: Stale Answer. */
const STALE = '15 0003';
/** Long after the start the service has one address, and later another one. */
const [OLD, NEW] = ['10.96.0.1', '10.96.0.2'];
const CHANGED_AT = 1_020;
/** Then the API server is away, and kubedns starts again: its snapshot may be 35 s older. */
const AWAY_FROM = 1_040;
const AWAY_UNTIL = 1_400;

let history: History<ObjectState>;
let troubles: Troubles;
let judge: Judge;
beforeEach(() => {
  history = new History(3_600 * SECOND_US);
  change(OLD, 10);
  troubles = new Troubles();
  const routing = new History<Routing>(3_600 * SECOND_US);
  judge = new Judge({ note: () => undefined, nowUs: 0 }, { history, routing }, troubles);
});

function trouble(parts: readonly string[], from: number, until: number, hidesApi: boolean): void {
  const [fromUs, untilUs] = [from * SECOND_US, until * SECOND_US];
  troubles.add({ fromUs, overUs: untilUs, untilUs, parts, hidesApi, isOfApi: false, isStop: true });
}

/** The API server is away, and kubedns starts again meanwhile. */
function goAway(): void {
  trouble(PARTS.slice(0, 2), AWAY_FROM, AWAY_UNTIL, true);
}

function change(address: string, at: number): void {
  const state = { kind: 'ClusterIP', clusterIps: [address], externalName: '', ports: [], endpoints: [] } as const; // prettier-ignore
  history.begin(SERVICE, state, at * SECOND_US)(at * SECOND_US + 1);
}

interface GivenAnswer {
  readonly process: object;
  readonly caches?: number;
  readonly ttl?: number;
  readonly hasEdns?: boolean;
  readonly isMarked?: boolean;
  /** Seconds. */
  readonly took?: number;
}

/** The kinds of violations that there are after an answer at this second. */
function answer(address: string, at: number, given: GivenAnswer): string[] {
  const { process, caches = 1, ttl = 30, hasEdns = true, isMarked = false, took = 0.001 } = given;
  const query = encodeQuery({ name: NAME, ...(hasEdns && { ednsBytes: 1_232 }) });
  const message = decodeMessage(
    encodeReply(query, { answers: addressRecords(ttl, address), options: isMarked ? [STALE] : [] }),
  );
  const asked = { text: 'A', way: { parts: new Set(PARTS), caches }, process };
  const [askedUs, answeredUs] = [at * SECOND_US, (at + took) * SECOND_US];
  const counts = { extra: 0, foreign: 0, tooLong: 0 };
  judge.service(SERVICE, QUESTION, asked, { message, askedUs, answeredUs, ...counts });
  return judge.violations.map(({ kind }) => kind);
}

describe('an answer that is older than one that its process has given', () => {
  const CACHE = {};
  const given = { process: CACHE, isMarked: true };
  const AGAIN = 1_045;
  beforeEach(() => {
    change(NEW, CHANGED_AT);
    goAway();
  });

  it('is wrong while a cache has the newer one, also out of a snapshot', () => {
    expect(answer(NEW, 1_030, { process: CACHE })).toEqual([]);
    expect(answer(OLD, AGAIN, given)).toEqual(['older']);
    expect(judge.violations[0]!.text).toBe(`A: older than before: A ${OLD}; right is A ${NEW}`);
  });

  it('is wrong while a cache has the newer one since it was asked for last', () => {
    for (const at of [1_025, 1_030, 1_038]) answer(NEW, at, { process: CACHE });
    expect(answer(OLD, 1_064, given)).toEqual(['older']);
  });

  it.each([
    ['also where the client cannot see that it is of a snapshot', { hasEdns: false }, ['older']],
    ['but not of another process', { process: {} }, []],
    ['nor where it was asked for before the newer one came', { at: 1_029, took: 20 }, []],
  ])(
    'is wrong then, %s',
    (_, { at = AGAIN, ...how }: Partial<GivenAnswer> & { at?: number }, kinds) => {
      answer(NEW, 1_030, { process: CACHE });
      expect(answer(OLD, at, { ...given, ...how })).toEqual(kinds);
    },
  );

  it.each([
    [
      'when the TTL of the newer one is over',
      () => answer(NEW, 1_030, { process: CACHE, ttl: 10 }),
    ],
    [
      'when the service has changed since',
      () => {
        answer(NEW, 1_030, { process: CACHE });
        change('10.96.0.3', 1_035);
      },
    ],
    [
      'when the service changed while the newer one was asked for',
      () => {
        change('10.96.0.3', 1_030.000_5);
        answer(NEW, 1_030, { process: CACHE });
      },
    ],
  ])('may come out of a snapshot %s, and says so', (_, before) => {
    before();
    expect(answer(OLD, AGAIN, given)).toEqual([]);
    expect(answer(OLD, AGAIN, { ...given, hasEdns: false })).toEqual([]);
    expect(answer(OLD, AGAIN, { ...given, isMarked: false })).toEqual(['answer']);
  });

  it('is always wrong of kubedns itself', () => {
    answer(NEW, 1_030, { process: CACHE, caches: 0 });
    expect(answer(OLD, 1_200, { ...given, caches: 0 })).toEqual(['older']);
    expect(answer(OLD, 1_200, { ...given, caches: 0, process: {} })).toEqual(['older']);
  });
});

describe('an answer out of a snapshot', () => {
  const KUBEDNS = [PARTS[1]];

  it.each([
    ['wrong when it is 36 s older than the loss of the API server', 1_004, [], ['answer']],
    ['wrong so, too, when kubedns ran again by then', 1_004, [[1_000, 1_039]], ['answer']],
    ['right when kubedns did not run then', 1_004, [[1_000, 1_100]], []],
    [
      'right when one stop went on into the next',
      1_004,
      [
        [1_000, 1_020],
        [1_015, 1_100],
      ],
      [],
    ],
    ['wrong when it is 36 s older than such a stop', 964, [[1_000, 1_100]], ['answer']],
  ] as const)('is %s', (_, changedAt, stops, kinds) => {
    change(NEW, changedAt);
    for (const [from, until] of stops) trouble(KUBEDNS, from, until, false);
    goAway();
    expect(answer(OLD, 1_200, { process: {}, isMarked: true })).toEqual(kinds);
  });
});
