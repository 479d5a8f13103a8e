import { describe, expect, it } from '@jest/globals';
import { hashLabel, WAYS } from '../../src/question.js';
import { resultData } from '../../src/compare/result.js';
import { KNOWN_CLASSES } from '../../src/compare/compare-replies.js';
import { scriptedRun, type ScriptedQuery } from './support/scripted-run.js';
import type { ComparedReply } from './support/scripted-server.js';

const NAMES = 2_000;
const ZONE = 'svc.cluster.local';

const address = { type: 'A', data: '10.0.0.1' } as const;
const srv = (weight: number, target: string, priority = 10) =>
  ({ type: 'SRV', data: { priority, weight, port: 80, target } }) as const;
const soa = (serial: number, ttl: number) =>
  ({
    name: 'cluster.local',
    type: 'SOA',
    ttl,
    data: { mname: 'ns.dns.cluster.local', rname: 'hostmaster.cluster.local', serial },
  }) as const;
const denied = (serial: number, ttl = 60): ComparedReply => ({
  rcode: 'NXDOMAIN',
  authorities: [soa(serial, ttl)],
});
const answers = (...records: ComparedReply['answers'] & object): ComparedReply => ({
  answers: records,
});

interface Plant {
  readonly count: number;
  readonly type?: 'SRV';
  readonly left: ComparedReply;
  readonly right: ComparedReply;
  /** What the right side says when it is asked for the fourth time: once over each way, and again. */
  readonly rightLater?: ComparedReply;
}

/** One for each class: how many names have it, and what both sides say to them. */
const PLANTS: Readonly<Record<string, Plant>> = {
  'endpoint-label': {
    count: 110,
    type: 'SRV',
    left: answers(srv(100, `${hashLabel('10.1.0.1')}.db.shop.${ZONE}`)),
    right: answers(srv(100, `10-1-0-1.db.shop.${ZONE}`)),
  },
  'ttl-default': {
    count: 120,
    left: answers({ ...address, ttl: 30 }),
    right: answers({ ...address, ttl: 5 }),
  },
  'srv-weight': {
    count: 130,
    type: 'SRV',
    left: answers(srv(33, 'a.example')),
    right: answers(srv(100, 'a.example', 0)),
  },
  'soa-numbers': { count: 140, left: denied(1), right: denied(2, 30) },
  'ttl-ageing': {
    count: 6,
    left: answers({ ...address, ttl: 300 }),
    right: answers({ ...address, ttl: 250 }),
    rightLater: answers({ ...address, ttl: 249 }),
  },
  'additional-cached': {
    count: 7,
    left: answers(address),
    right: { answers: [address], additionals: [{ ...address, name: 'b.example' }] },
    rightLater: answers(address),
  },
  'ra-flag': {
    count: 150,
    left: answers(address),
    right: { answers: [address], isRecursionAvailable: false },
  },
  'aa-flag': {
    count: 160,
    left: answers(address),
    right: { answers: [address], isAuthoritative: false },
  },
  'missing-answer': { count: 11, left: answers(address), right: denied(1) },
  rcode: { count: 12, left: denied(1), right: { rcode: 'SERVFAIL' } },
  answer: {
    count: 13,
    left: answers(address),
    right: answers(address, { type: 'A', data: '10.0.0.2' }),
  },
  truncated: {
    count: 14,
    left: answers(address),
    right: { answers: [address], isTruncated: true },
  },
  authority: {
    count: 15,
    left: answers(address),
    right: { answers: [address], authorities: [soa(1, 60)] },
  },
  additional: {
    count: 16,
    left: answers(address),
    right: { answers: [address], additionals: [{ ...address, name: 'b.example' }] },
  },
  ttl: {
    count: 17,
    left: answers({ ...address, ttl: 30 }),
    right: answers({ ...address, ttl: 300 }),
  },
  edns: { count: 18, left: answers(address), right: { answers: [address], hasNoOpt: true } },
};

const SAME = answers(address);
const PLAN: readonly string[] = Object.entries(PLANTS).flatMap(([label, { count }]) =>
  new Array<string>(count).fill(label),
);
const questions = Array.from({ length: NAMES }, (_, i) => {
  const label = PLAN[i] ?? 'same';
  return { name: `${label}.n${i}.test`, type: PLANTS[label]?.type ?? 'A' };
});
const planted = (labels: readonly string[]) => labels.reduce((n, one) => n + PLANTS[one]!.count, 0);

/** What both sides say to all names. */
function script() {
  const asked = new Map<string, number>();
  return ({ side, name, type }: ScriptedQuery): ComparedReply => {
    const plant = PLANTS[name.split('.', 1)[0]!];
    if (plant === undefined) return SAME;
    const key = `${side} ${name}`;
    const times = (asked.get(key) ?? 0) + 1;
    asked.set(key, times);
    if (side === 'right' && times > WAYS.length && plant.rightLater !== undefined) {
      return plant.rightLater;
    }
    return (plant.type === 'SRV') === (type === 'SRV') ? plant[side] : { rcode: 'REFUSED' };
  };
}

describe('kube-dns compare over 2,000 names', () => {
  it('counts each class as it was planted, and asks no more than once but where a cache may be the cause', async () => {
    const { tally, options, queries } = await scriptedRun(questions, [], script());
    const data = resultData({
      ...options,
      ways: options.over,
      startedAt: new Date(0),
      servers: { left: 'left', right: 'right' },
      seconds: 1,
      notes: [],
      logs: [],
      tally,
    });
    expect(data.isFailed).toBe(true);
    expect(data.questions).toMatchObject({ total: NAMES, given: NAMES });
    const known = Object.keys(KNOWN_CLASSES);
    expect(Object.fromEntries(data.conventions.map((one) => [one.class, one.questions]))).toEqual(
      Object.fromEntries(known.map((one) => [one, PLANTS[one]!.count])),
    );
    const aspects = Object.keys(PLANTS).filter((one) => !known.includes(one));
    expect(data.aspects).toEqual({
      'no-reply': 0,
      ...Object.fromEntries(aspects.map((one) => [one, PLANTS[one]!.count])),
    });
    expect(data.totals).toEqual({
      same: NAMES - planted(aspects) - planted(known),
      known: planted(known),
      different: planted(aspects),
      notAsked: 0,
    });
    expect(data.differences).toHaveLength(planted(aspects));
    // As many entries as there are kinds of differences.
    expect(data.entries.map((entry) => [entry.class, entry.differences.length])).toEqual(
      aspects.map((one) => [one, PLANTS[one]!.count]),
    );
    expect(data.verdict).toBe('8 differences that a client can notice, 8 conventions');
    const isOfCache = ['ttl', 'ttl-ageing', 'additional', 'additional-cached'];
    const asked = NAMES * WAYS.length + planted(isOfCache);
    expect(queries).toHaveLength(2 * asked);
  });
});
