import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  addressRecords,
  encodeQuery,
  encodeReply,
  type Response,
  soaRecord,
} from '@kube-dns/testkit';
import { type LastSeen, neverSeen, PublisherProcess } from '@kube-dns/push';
import { clusterVersion } from '@kube-dns/push/testing';
import { AnswerCache, type ReplyPipeline } from '@kube-dns/resolver';
import { askCache, PLAIN_RULES } from '@kube-dns/resolver/testing';
import {
  appendZoneVersion,
  encodeKey,
  FLAG,
  RCODE,
  TYPE,
  writeUint16,
  zoneVersionAt,
} from '@kube-dns/wire';
import { repliesWith } from '../../test/replies.js';
import { parseServerRule } from '../options/server-value.js';
import { Routes } from '../routing/routes.js';

const APEX = encodeKey('z');
const KNOWN = new Uint8Array(8).fill(1);
const STRANGER = new Uint8Array(8).fill(2);
const MAX_BYTES = 1232;
const OPT = Uint8Array.of(0, 0, TYPE.OPT, 4, 0xd0, 0, 0, 0, 0, 0, 0);
const ADDRESS: Response = { answers: addressRecords(30, '10.0.0.1') };
const DENIED: Response = { rcode: RCODE.NXDOMAIN, authorities: [soaRecord(5, 'z', 5)] };

let now: number;
let lastSeen: LastSeen;
let cache: AnswerCache;
let instance: PublisherProcess;
let searched: number;
let replies: ReplyPipeline;

beforeEach(() => {
  now = 0;
  lastSeen = neverSeen();
  lastSeen[1] = Number.POSITIVE_INFINITY;
  searched = 0;
  const zoneServers = { serverNumber: () => 1 };
  cache = new AnswerCache({ maxRecords: 100, nowSeconds: () => now, lastSeen, zoneServers });
  instance = new PublisherProcess(1, [APEX]);
  instance.become(KNOWN, APEX);
  instance.changes.noteAll(10);
  replies = repliesWith({
    cache,
    caching: { ...PLAIN_RULES, cachesNegatives: false, cachesAnnouncedNegatives: true },
    routes: new Routes({ rules: [parseServerRule('/z/192.0.2.1')], resolvServers: [] }),
    subscriptions: {
      find: (reply, at) =>
        instance.is(reply, at) || instance.isReplica(reply, at) ? instance : undefined,
      search: () => searched++,
      publisherOf: (name, length) => (instance.has(name, length) ? instance : undefined),
    },
  });
});

const records = (name: string) => addressRecords(30, '10.0.0.1').map((each) => ({ ...each, name }));

const leading = (name: string, data: string) => ({ type: 'CNAME', name, ttl: 30, data }) as const;

interface Announced {
  readonly type?: string;
  readonly id?: Uint8Array;
  readonly serial?: number;
  readonly cluster?: Uint8Array;
  readonly isOwn?: boolean;
  /** Of the zone that the version is of. */
  readonly labelCount?: number;
}

/** Takes the reply of a process that knew the changes up to a serial; without AA where the answer is not its own. */
function take(
  name: string,
  response: Response,
  announced: Announced = {},
  asksVersion = true,
): Buffer | null {
  const { id = KNOWN, serial = 10, isOwn = true, type = 'A', cluster, labelCount = 1 } = announced;
  const plain = encodeReply(encodeQuery({ name, type }), response);
  const out = Buffer.alloc(MAX_BYTES);
  out.set(plain);
  out.set(OPT, plain.length);
  writeUint16(out, 10, 1);
  if (isOwn) out[2]! |= FLAG.AA >> 8;
  const version = { labelCount, instance: id, serial, cluster };
  const end = appendZoneVersion(out, plain.length + OPT.length, MAX_BYTES, version);
  return replies.take(out.subarray(0, end), true, true, undefined, asksVersion);
}

const ask = (name: string) => askCache(cache, name)?.rcode;
const change = (name: string) => cache.dropChanged(encodeKey(name), instance, 11);

describe('a reply of a process that announces its changes', () => {
  it('is kept, also a negative one, until a change of its name', () => {
    take('a.n.svc.z', ADDRESS);
    take('b.n.svc.z', DENIED);
    now = 1_000;
    expect(['a', 'b'].map((name) => ask(`${name}.n.svc.z`))).toEqual(['NOERROR', 'NXDOMAIN']);
    change('a.n.svc.z');
    expect(['a', 'b'].map((name) => ask(`${name}.n.svc.z`))).toEqual([undefined, 'NXDOMAIN']);
  });

  it('is not kept when it does not know a change that was announced', () => {
    change('a.n.svc.z');
    take('a.n.svc.z', ADDRESS, { serial: 10 });
    expect(ask('a.n.svc.z')).toBeUndefined();
    take('a.n.svc.z', ADDRESS, { serial: 11 });
    expect(ask('a.n.svc.z')).toBe('NOERROR');
  });

  it.each([
    ['lower', 3],
    ['equal', 10],
    ['higher', 40],
  ])(
    'is kept of a process that began anew with a %s serial, until it announces a change',
    (_, first) => {
      change('a.n.svc.z');
      instance.become(STRANGER, APEX);
      instance.changes.noteAll(first);
      take('a.n.svc.z', ADDRESS, { id: STRANGER, serial: first - 1 });
      expect(ask('a.n.svc.z')).toBeUndefined();
      take('a.n.svc.z', ADDRESS, { id: STRANGER, serial: first });
      expect(ask('a.n.svc.z')).toBe('NOERROR');
      cache.dropChanged(encodeKey('a.n.svc.z'), instance, first + 1);
      take('a.n.svc.z', ADDRESS, { id: STRANGER, serial: first });
      expect(ask('a.n.svc.z')).toBeUndefined();
    },
  );

  it.each([
    ['outside', 'db.example', [...records('db.example')], undefined],
    ['outside, and does not exist', 'db.example', [], undefined],
    [
      'outside and back',
      'db.example',
      [leading('db.example', 'c.n.svc.z'), ...records('c.n.svc.z')],
      undefined,
    ],
    ['inside', 'c.n.svc.z', [...records('c.n.svc.z')], 'NOERROR'],
  ])(
    'has its TTL where a CNAME leads to what others have, whatever its AA: %s',
    (_where, target, more, later) => {
      take('a.n.svc.z', { answers: [leading('a.n.svc.z', target), ...more] });
      if (more.length > 0) expect(ask('a.n.svc.z')).toBe('NOERROR');
      now = 31;
      expect(ask('a.n.svc.z')).toBe(later);
      change('a.n.svc.z');
      expect(ask('a.n.svc.z')).toBeUndefined();
    },
  );

  it('is believed when it denies a name whose old answer is cached: its change is on its way', () => {
    const leadingTo = (target: string): Response => ({
      answers: [{ type: 'CNAME', ttl: 30, data: target }],
    });
    take('x.n.svc.z', { answers: [...leadingTo('b.n.svc.z').answers!, ...records('b.n.svc.z')] });
    take('x.n.svc.z', { ...DENIED, ...leadingTo('a.n.svc.z') }, { serial: 11, type: 'AAAA' });
    change('x.n.svc.z');
    expect(ask('a.n.svc.z')).toBe('NXDOMAIN');
    take('b.n.svc.z', DENIED, { serial: 11, type: 'AAAA' });
    expect(askCache(cache, { name: 'b.n.svc.z', type: 'AAAA' })?.rcode).toBe('NXDOMAIN');
  });

  it('has its TTL, and goes with a change of its target, where its version is of no zone', () => {
    const names = { answers: [leading('a.n.svc.z', 'c.n.svc.z'), ...records('c.n.svc.z')] };
    take('a.n.svc.z', names, { labelCount: 0 });
    take('b.n.svc.z', { ...DENIED, rcode: RCODE.NXDOMAIN }, { labelCount: 0 });
    expect(ask('a.n.svc.z')).toBe('NOERROR');
    change('c.n.svc.z');
    expect(ask('a.n.svc.z')).toBeUndefined();
    take('a.n.svc.z', names, { labelCount: 0, serial: 11 });
    expect(ask('a.n.svc.z')).toBe('NOERROR');
    now = 31;
    expect(['a', 'b'].map((name) => ask(`${name}.n.svc.z`))).toEqual([undefined, undefined]);
  });

  it('has its TTL when the name is in none of its zones', () => {
    take('a.example', ADDRESS);
    change('a.example');
    expect(ask('a.example')).toBe('NOERROR');
    now = 31;
    expect(ask('a.example')).toBeUndefined();
  });
});

it.each([
  ['of others has its TTL, and goes with a change', { isOwn: false }, 0],
  [
    'of another process behind that address has, too; the process is looked for',
    { id: STRANGER, serial: 3 },
    3,
  ],
])('a reply %s', (_what, announced, searches) => {
  take('a.n.svc.z', ADDRESS, announced);
  take('b.n.svc.z', ADDRESS, announced);
  take('c.n.svc.z', DENIED, announced);
  expect(searched).toBe(searches);
  change('a.n.svc.z');
  expect(['a', 'b', 'c'].map((name) => ask(`${name}.n.svc.z`))).toEqual([
    undefined,
    'NOERROR',
    undefined,
  ]);
  now = 31;
  expect(ask('b.n.svc.z')).toBeUndefined();
});

describe('a reply of another process behind that address', () => {
  it('has its TTL, and goes with a change, when it does not know versions', () => {
    for (const name of ['a.n.svc.z', 'b.n.svc.z']) {
      replies.take(Buffer.from(encodeReply(encodeQuery({ name }), ADDRESS)), true);
    }
    expect(searched).toBe(0);
    change('a.n.svc.z');
    expect(['a', 'b'].map((name) => ask(`${name}.n.svc.z`))).toEqual([undefined, 'NOERROR']);
    now = 31;
    expect(ask('b.n.svc.z')).toBeUndefined();
  });
});

describe('a reply with a version that was not asked for', () => {
  it.each([
    ['of the process that announces changes', { serial: 40 }],
    ['of its cluster', { id: STRANGER, cluster: clusterVersion(900) }],
  ])('has its TTL, and no version for clients: %s', (_, announced) => {
    instance.become(KNOWN, APEX, 10, clusterVersion(100));
    const reply = take('a.sub.z', ADDRESS, announced, false)!;
    const at = zoneVersionAt(reply);
    expect(reply.subarray(at).every((byte) => byte === 0)).toBe(true);
    expect([ask('a.sub.z'), cache.pinnedAnswers(1)]).toEqual(['NOERROR', 0]);
    now = 29;
    expect(ask('a.sub.z')).toBe('NOERROR');
    now = 31;
    expect(ask('a.sub.z')).toBeUndefined();
  });
});

describe('a reply of a replica, whose version of the cluster can be compared', () => {
  const replica = (known: number, more: Announced = {}): Announced => ({
    id: STRANGER,
    serial: 1,
    cluster: clusterVersion(known),
    ...more,
  });
  const announce = (serial: number, version: number, name: string) => {
    const note = { version: clusterVersion(version), isPart: false, isResumed: false };
    instance.noteVersion(note, serial);
    cache.dropChanged(encodeKey(name), instance, serial);
  };

  beforeEach(() => {
    instance.become(KNOWN, APEX, 10, clusterVersion(100));
    instance.isLive = true;
    lastSeen[1] = Number.POSITIVE_INFINITY;
  });
  afterEach(() => instance.end());

  it('is pinned as one of the process that announces its changes', () => {
    take('a.n.svc.z', ADDRESS, replica(100));
    take('b.n.svc.z', DENIED, replica(120));
    expect([searched, cache.pinnedAnswers(1)]).toEqual([0, 2]);
    now = 1_000;
    expect(['a', 'b'].map((name) => ask(`${name}.n.svc.z`))).toEqual(['NOERROR', 'NXDOMAIN']);
    announce(11, 130, 'a.n.svc.z');
    expect(['a', 'b'].map((name) => ask(`${name}.n.svc.z`))).toEqual([undefined, 'NXDOMAIN']);
  });

  it('is not cached where it does not know the last change of its name', () => {
    announce(11, 110, 'a.n.svc.z');
    announce(12, 120, 'b.n.svc.z');
    take('a.n.svc.z', ADDRESS, replica(109));
    take('b.n.svc.z', ADDRESS, replica(119));
    take('c.n.svc.z', ADDRESS, replica(105));
    expect(['a', 'b', 'c'].map((name) => ask(`${name}.n.svc.z`))).toEqual([
      undefined,
      undefined,
      'NOERROR',
    ]);
    take('a.n.svc.z', ADDRESS, replica(110));
    expect(ask('a.n.svc.z')).toBe('NOERROR');
  });

  it('is not cached where a CNAME leads to others and any change is not known: its target has its TTL', () => {
    const out = { answers: [leading('a.n.svc.z', 'db.example'), ...records('db.example')] };
    announce(11, 110, 'b.n.svc.z');
    take('a.n.svc.z', out, replica(105));
    expect(ask('a.n.svc.z')).toBeUndefined();
    take('a.n.svc.z', out, replica(110, { isOwn: false }));
    expect([ask('a.n.svc.z'), cache.pinnedAnswers(1)]).toEqual(['NOERROR', 0]);
    announce(12, 120, 'a.n.svc.z');
    expect(ask('a.n.svc.z')).toBeUndefined();
  });

  it('that knows less than the subscription is not cached for 5 s, and then for a second each', () => {
    jest.useFakeTimers();
    try {
      instance.become(KNOWN, APEX, 10, clusterVersion(100));
      take('a.n.svc.z', ADDRESS, replica(99));
      expect(ask('a.n.svc.z')).toBeUndefined();
      jest.advanceTimersByTime(5_001);
      take('a.n.svc.z', ADDRESS, replica(99));
      expect([ask('a.n.svc.z'), cache.pinnedAnswers(1)]).toEqual(['NOERROR', 0]);
      now += 1;
      expect(ask('a.n.svc.z')).toBeUndefined();
    } finally {
      jest.useRealTimers();
    }
  });

  it.each([
    ['of another history', replica(100, { cluster: clusterVersion(100, { identity: 2 }) }), 1],
    ['without a version of the cluster', { id: STRANGER, serial: 99 }, 1],
  ])('%s is cached for a second, and goes with a change', (_, announced, searches) => {
    for (const name of ['a', 'b']) take(`${name}.n.svc.z`, ADDRESS, announced);
    expect(searched).toBe(2 * searches);
    announce(11, 110, 'a.n.svc.z');
    expect(['a', 'b'].map((name) => ask(`${name}.n.svc.z`))).toEqual([undefined, 'NOERROR']);
    now += 1;
    expect(ask('b.n.svc.z')).toBeUndefined();
  });

  it('is judged by what was announced while no process announces anything', () => {
    announce(11, 110, 'a.n.svc.z');
    instance.end();
    lastSeen[1] = now;
    take('a.n.svc.z', ADDRESS, replica(105));
    take('b.n.svc.z', ADDRESS, replica(105));
    expect(['a', 'b'].map((name) => ask(`${name}.n.svc.z`))).toEqual([undefined, 'NOERROR']);
    instance.resume(STRANGER, APEX, 5, clusterVersion(120));
    cache.dropChanged(encodeKey('b.n.svc.z'), instance, instance.serialHere(5));
    expect(ask('b.n.svc.z')).toBeUndefined();
  });
});
