import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { encodeKey, isInZone, readQuery, TYPE } from '@kube-dns/wire';
import { addressRecords, encodeQuery, encodeReply, type Response } from '@kube-dns/testkit';
import {
  AnnouncedChanges,
  type ChangeSource,
  type LastSeen,
  neverSeen,
  WITH_TTL,
} from '@kube-dns/push';
import { askCache, PLAIN_RULES } from '../testing/cached-answers.js';
import {
  DENIED,
  NEGATIVE_TTL,
  NO_DATA,
  responseOf,
  steps,
  textOf,
  truth,
  TTL,
  type Zone,
} from '../../test/zone-model.js';
import { AnswerCache } from './answer-cache.js';

import { ReplyReader } from './reply-reader.js';

const APEX = encodeKey('z');
/** At any time. */
const HEARD_NOW = Number.POSITIVE_INFINITY;
const INSTANCE = { number: 1, apex: APEX, maxSeconds: Infinity };

/** The one server, of the zone. */
const zoneServers = {
  serverNumber: (name: Uint8Array, length: number) => Number(isInZone(name, length, APEX)),
};

let now: number;
let lastSeen: LastSeen;
/** Of the last change that was announced. */
let serial: number;
let source: ChangeSource;
let cache: AnswerCache;
const reader = new ReplyReader(PLAIN_RULES);
const out = new Uint8Array(65_535);

beforeEach(() => start());

function start(): void {
  now = 100;
  lastSeen = neverSeen();
  lastSeen[1] = HEARD_NOW;
  serial = 7;
  source = { ...INSTANCE, changes: new AnnouncedChanges() };
  cache = new AnswerCache({ maxRecords: 1_000, nowSeconds: () => now, lastSeen, zoneServers });
}

/** Stores a reply of a server that announces its changes, which knew those up to this serial. */
function keep(
  name: string,
  response: Response,
  known = serial,
  from: ChangeSource | null = source,
): void {
  if (!reader.read(encodeReply(encodeQuery({ name, type: 'A' }), response), true))
    throw new Error(name);
  cache.store(reader.answer, () => true, from ?? undefined, known);
}

const address = (data: string): Response => ({ answers: addressRecords(TTL, data) });
const ask = (name: string) => askCache(cache, name);
const lookup = (name: string) => cache.lookup(readQuery(encodeQuery({ name })), out);
const changed = (name: string) => cache.dropChanged(encodeKey(name), source, ++serial);
function flush(): void {
  source.changes.noteAll(++serial);
  cache.dropBelow(APEX);
}

describe('an answer whose server announces when it changes', () => {
  it('does not expire, and has its whole TTL again once that has passed', () => {
    keep('web.ns.svc.z', address('10.0.0.1'));
    now += 10;
    expect(ask('web.ns.svc.z')?.answers).toEqual(['web.ns.svc.z A 10.0.0.1 20']);
    now += 1_000;
    expect(ask('web.ns.svc.z')?.answers).toEqual(['web.ns.svc.z A 10.0.0.1 30']);
    expect(lookup('web.ns.svc.z')?.isStale).toBe(false);
  });

  it('counts as pinned until it is dropped', () => {
    keep('web.ns.svc.z', address('10.0.0.1'));
    keep('db.ns.svc.z', address('10.0.0.2'));
    keep('db.ns.svc.z', address('10.0.0.3'));
    expect([1, 2].map((number) => cache.pinnedAnswers(number))).toEqual([2, 0]);
    changed('web.ns.svc.z');
    expect(cache.pinnedAnswers(1)).toBe(1);
    cache.clear();
    expect(cache.pinnedAnswers(1)).toBe(0);
  });

  it('counts as pinned for an hour, and one that has its TTL counts in the zone for its TTL', () => {
    keep('web.ns.svc.z', address('10.0.0.1'));
    keep('beside.ns.svc.z', address('10.0.0.2'), serial, { ...source, number: 1 + WITH_TTL });
    keep('alone.ns.svc.z', address('10.0.0.3'), serial, null);
    keep('elsewhere.y', address('10.0.0.4'), serial, null);
    const counts = () => [cache.pinnedAnswers(1), cache.zoneAnswers(1)];
    expect(counts()).toEqual([1, 3]);
    now += TTL;
    expect(counts()).toEqual([1, 1]);
    now += 3_600 - TTL;
    expect(counts()).toEqual([0, 0]);
    // Those that have expired are still there, and are not counted out again.
    cache.clear();
    keep('web.ns.svc.z', address('10.0.0.1'));
    expect(counts()).toEqual([1, 1]);
  });

  it('is given for its TTL after its server was heard last, and no longer', () => {
    keep('web.ns.svc.z', address('10.0.0.1'));
    keep('new.ns.svc.z', DENIED);
    lastSeen[1] = now + 1_000;
    now += 1_000 + NEGATIVE_TTL - 1;
    expect(['web', 'new'].map((name) => ask(`${name}.ns.svc.z`)?.rcode)).toEqual([
      'NOERROR',
      'NXDOMAIN',
    ]);
    now += 1;
    expect(ask('new.ns.svc.z')).toBeUndefined();
    // Its clients keep it for no longer than that, either.
    const left = (seconds: number) => [`web.ns.svc.z A 10.0.0.1 ${seconds}`];
    expect(ask('web.ns.svc.z')?.answers).toEqual(left(TTL - NEGATIVE_TTL));
    now += TTL - NEGATIVE_TTL - 0.5;
    expect(ask('web.ns.svc.z')?.answers).toEqual(left(1));
    now += 0.5;
    expect(ask('web.ns.svc.z')).toBeUndefined();
  });

  it('expires an hour after it was stored', () => {
    keep('web.ns.svc.z', address('10.0.0.1'));
    now += 3_600;
    expect(ask('web.ns.svc.z')).toBeUndefined();
  });

  it('has no longer lifetime than its source says', () => {
    source = { ...source, maxSeconds: 2 };
    lastSeen[1] = -Infinity;
    keep('web.ns.svc.z', address('10.0.0.1'));
    now += 1.9;
    expect(ask('web.ns.svc.z')).toBeDefined();
    now += 0.1;
    expect(ask('web.ns.svc.z')).toBeUndefined();
  });

  it('counts no hits: it needs no newer one', () => {
    cache = new AnswerCache({ maxRecords: 9, nowSeconds: () => now, lastSeen, countsHits: true });
    keep('web.ns.svc.z', address('10.0.0.1'));
    for (let i = 0; i < 5; i++) expect(lookup('web.ns.svc.z')?.hits).toBe(0);
  });

  it('is stale a TTL after its server was seen last', () => {
    const stale = { maxStaleSeconds: 60, staleTtlSeconds: 30 };
    cache = new AnswerCache({ maxRecords: 9, nowSeconds: () => now, lastSeen, ...stale });
    keep('web.ns.svc.z', address('10.0.0.1'));
    now += 1_000;
    lastSeen[1] = now;
    now += TTL + 59;
    expect(ask('web.ns.svc.z')?.answers).toEqual(['web.ns.svc.z A 10.0.0.1 1']);
    expect(lookup('web.ns.svc.z')).toMatchObject({ isStale: true, staleSeconds: 59 });
    now += 1;
    expect(ask('web.ns.svc.z')).toBeUndefined();
  });

  it.each([
    ['of the name', 'web.ns.svc.z'],
    ['of the service that it is below', 'host.web.ns.svc.z'],
    ['of a service below it, when it did not exist', 'ns.svc.z'],
    ['of any name, for a wildcard', '*.ns.svc.z'],
    ['of any name, for the apex', 'z'],
  ])('goes with a change %s', (_, name) => {
    keep(name, name === 'ns.svc.z' ? DENIED : address('10.0.0.1'));
    expect(changed('other.elsewhere.svc.z')).toBe(name === 'z' || name.startsWith('*') ? 1 : 0);
    changed('web.ns.svc.z');
    expect(ask(name)).toBeUndefined();
  });

  it('goes with the namespace that it is below', () => {
    keep('web.ns.svc.z', address('10.0.0.1'));
    keep('web.other.svc.z', address('10.0.0.2'));
    changed('ns.svc.z');
    expect(ask('web.ns.svc.z')).toBeUndefined();
    expect(ask('web.other.svc.z')).toBeDefined();
  });

  it('goes with a change of any name when it has a CNAME', () => {
    keep('alias.ns.svc.z', {
      answers: [
        { type: 'CNAME', ttl: TTL, data: 'web.ns.svc.z' },
        { name: 'web.ns.svc.z', type: 'A', ttl: TTL, data: '10.0.0.1' },
      ],
    });
    changed('web.ns.svc.z');
    expect(ask('alias.ns.svc.z')).toBeUndefined();
    expect(ask('web.ns.svc.z')).toBeUndefined();
  });

  it('of a reverse name goes with that name alone', () => {
    keep('1.0.0.10.in-addr.arpa', address('10.0.0.1'));
    keep('2.0.0.10.in-addr.arpa', address('10.0.0.1'));
    changed('1.0.0.10.in-addr.arpa');
    expect(ask('1.0.0.10.in-addr.arpa')).toBeUndefined();
    expect(ask('2.0.0.10.in-addr.arpa')).toBeDefined();
  });

  it('is not stored when it does not know a change that was announced', () => {
    for (const change of ['web.ns.svc.z', 'ns.svc.z']) {
      const known = serial;
      changed(change);
      keep('web.ns.svc.z', address('10.0.0.1'), known);
      expect(ask('web.ns.svc.z')).toBeUndefined();
      keep('web.ns.svc.z', address('10.0.0.2'));
      expect(ask('web.ns.svc.z')).toBeDefined();
    }
    const known = serial;
    flush();
    keep('new.ns.svc.z', NO_DATA, known);
    expect(ask('new.ns.svc.z')).toBeUndefined();
  });
});

describe('the cache of a server that announces its changes', () => {
  it('has no answer that contradicts a change it was told, in any order of events', () => {
    fc.assert(
      fc.property(fc.array(steps, { minLength: 100, maxLength: 300 }), (all) => {
        start();
        const zone = new Map<string, number>();
        let changes = 0;
        /** The zone as this side was told. */
        let told: Zone = new Map();
        /** Changes on their way, questions and replies on theirs. */
        let news: { readonly service: string; readonly zone: Zone }[] = [];
        const questions: string[] = [];
        const replies: { readonly name: string; readonly known: number; readonly text: string }[] =
          [];
        /** The changes that the server has told. */
        let sent = serial;
        for (const step of all) {
          if (step.kind === 'wait') now += step.seconds;
          else if (step.kind === 'change') {
            if (step.exists) zone.set(step.service, ++changes);
            else if (!zone.delete(step.service)) continue;
            sent++;
            news.push({ service: step.service, zone: new Map(zone) });
          } else if (step.kind === 'send') questions.push(step.name);
          else if (step.kind === 'process') {
            const name = questions.shift();
            if (name !== undefined) replies.push({ name, known: sent, text: truth(zone, name) });
          } else if (step.kind === 'reply') {
            const reply = replies.shift();
            if (reply && lastSeen[1] === HEARD_NOW)
              keep(`${reply.name}.z`, responseOf(reply.text), reply.known);
          } else if (step.kind === 'news') {
            const one = news.shift();
            if (one === undefined || lastSeen[1] !== HEARD_NOW) continue;
            told = one.zone;
            changed(`${one.service}.svc.z`);
          } else if (step.kind === 'cut') {
            lastSeen[1] = -Infinity;
            news = [];
          } else if (step.kind === 'connect') {
            serial = sent++;
            flush();
            lastSeen[1] = HEARD_NOW;
            news = [];
            told = new Map(zone);
          } else if ('name' in step && lastSeen[1] === HEARD_NOW) {
            const seen = textOf(ask(`${step.name}.z`));
            // It may be newer than what was told, and then news of it is on its way.
            const possible = [told, ...news.map((one) => one.zone)].map((each) =>
              truth(each, step.name),
            );
            if (seen !== undefined) expect(possible).toContain(seen);
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('the counts of pinned answers and of those of a zone', () => {
  const ADDRESSES = [
    'a.x.svc.z',
    'b.x.svc.z',
    'c.y.svc.z',
    'd.y.svc.z',
    'www.outside',
    'db.outside',
  ];
  const DENIALS = ['new.x.svc.z', 'new.y.svc.z'];
  const names = fc.constantFrom(...ADDRESSES, ...DENIALS);
  const SOURCES = ['pinned', 'with-ttl', 'none'] as const;
  const counted = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        kind: fc.constant('store' as const),
        name: names,
        from: fc.constantFrom(...SOURCES),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constantFrom('ask' as const, 'changed' as const, 'expired' as const),
        name: names,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('wait' as const),
        seconds: fc.constantFrom(1, 4, TTL - 1, TTL, 3_600),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constantFrom('flush' as const, 'clear' as const) }),
    },
  );

  /** By a look at every entry. */
  function scanned(): { readonly pinned: number; readonly ofZone: number } {
    let pinned = 0;
    let ofZone = 0;
    for (const name of [...ADDRESSES, ...DENIALS]) {
      const key = encodeKey(name);
      const entry = cache.inspect(key, key.length, TYPE.A);
      if (entry === undefined || !['fresh', 'pinned'].includes(entry.state)) continue;
      if (name.endsWith('.z')) ofZone++;
      if (entry.subscription === source.number) pinned++;
    }
    return { pinned, ofZone };
  }

  it('are those of a scan, whatever is stored, replaced, evicted, dropped and cleared', async () => {
    const most = { pinned: 0, ofZone: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(3, 100),
        fc.array(counted, { minLength: 20, maxLength: 80 }),
        async (maxRecords, all) => {
          start();
          cache = new AnswerCache({ maxRecords, nowSeconds: () => now, lastSeen, zoneServers });
          const withTtl = { ...source, number: source.number + WITH_TTL };
          for (const step of all) {
            if (step.kind === 'wait') now += step.seconds;
            else if (step.kind === 'clear') cache.clear();
            else if (step.kind === 'flush') {
              flush();
              // The entries are removed in the turn before this one.
              await new Promise((resolve) => setImmediate(resolve));
            } else if (step.kind === 'ask') ask(step.name);
            else if (step.kind === 'changed') changed(step.name);
            else if (step.kind === 'expired') {
              const key = encodeKey(step.name);
              cache.dropExpired(key, key.length, TYPE.A);
            } else if ('from' in step) {
              // Another server has what is outside of the zone.
              const from = step.name.endsWith('.z') ? step.from : 'none';
              const reply = step.name.startsWith('new') ? DENIED : address('10.0.0.1');
              keep(
                step.name,
                reply,
                serial,
                { pinned: source, 'with-ttl': withTtl, none: null }[from],
              );
            }
            const seen = { pinned: cache.pinnedAnswers(1), ofZone: cache.zoneAnswers(1) };
            expect(seen).toEqual(scanned());
            most.pinned = Math.max(most.pinned, seen.pinned);
            most.ofZone = Math.max(most.ofZone, seen.ofZone);
          }
        },
      ),
      { numRuns: 200 },
    );
    // It was not a look at nothing.
    expect(most.pinned).toBeGreaterThan(2);
    expect(most.ofZone).toBeGreaterThan(4);
  });
});
