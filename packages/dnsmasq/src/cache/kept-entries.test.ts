import { beforeEach, describe, expect, it } from '@jest/globals';
import { RCODE } from '@kube-dns/wire';
import fc from 'fast-check';
import { askCache, PLAIN_RULES } from '../../test/cached-answers.js';
import {
  addressRecords,
  keyOf,
  type Response,
  responseFor,
  soaRecord,
} from '../../test/messages.js';
import { AnswerCache } from './answer-cache.js';
import { type HeardAt, neverHeard, type Teller } from './kept-entries.js';
import { ReplyReader } from './reply-reader.js';
import { ToldChanges } from './told-changes.js';

const APEX = keyOf('z');
/** At any time. */
const HEARD_NOW = Number.POSITIVE_INFINITY;
const INSTANCE = { number: 1, apex: APEX };
const TTL = 30;
const NEGATIVE_TTL = 5;

let now: number;
let heardAt: HeardAt;
/** Of the last change that was told. */
let serial: number;
let teller: Teller;
let cache: AnswerCache;
const reader = new ReplyReader(PLAIN_RULES);

beforeEach(() => start());

function start(): void {
  now = 100;
  heardAt = neverHeard();
  heardAt[1] = HEARD_NOW;
  serial = 7;
  teller = { ...INSTANCE, changes: new ToldChanges() };
  cache = new AnswerCache({ maxRecords: 1_000, nowSeconds: () => now, heardAt });
}

/** Stores a reply of a server that tells its changes, which knew those up to this serial. */
function keep(name: string, response: Response, known = serial): void {
  if (!reader.read(responseFor({ name, type: 'A' }, response), true)) throw new Error(name);
  cache.store(reader.answer, () => true, teller, known);
}

const address = (data: string): Response => ({ answers: addressRecords(TTL, data) });
const DENIED: Response = {
  rcode: RCODE.NXDOMAIN,
  authorities: [soaRecord(NEGATIVE_TTL, 'z', NEGATIVE_TTL)],
};
const NO_DATA: Response = { authorities: [soaRecord(NEGATIVE_TTL, 'z', NEGATIVE_TTL)] };
const ask = (name: string) => askCache(cache, name);
const changed = (name: string) => cache.dropChanged(keyOf(name), teller, ++serial);
function flush(): void {
  teller.changes.noteAll(++serial);
  cache.dropBelow(APEX);
}

describe('an answer whose server tells when it changes', () => {
  it('does not expire, and has its whole TTL again once that has passed', () => {
    keep('web.ns.svc.z', address('10.0.0.1'));
    now += 10;
    expect(ask('web.ns.svc.z')?.answers).toEqual(['web.ns.svc.z A 10.0.0.1 20']);
    now += 1_000;
    expect(ask('web.ns.svc.z')?.answers).toEqual(['web.ns.svc.z A 10.0.0.1 30']);
    expect(cache.isStale).toBe(false);
  });

  it('counts as kept until it is dropped', () => {
    keep('web.ns.svc.z', address('10.0.0.1'));
    keep('db.ns.svc.z', address('10.0.0.2'));
    keep('db.ns.svc.z', address('10.0.0.3'));
    expect([1, 2].map((number) => cache.keptAnswers(number))).toEqual([2, 0]);
    changed('web.ns.svc.z');
    expect(cache.keptAnswers(1)).toBe(1);
    cache.clear();
    expect(cache.keptAnswers(1)).toBe(0);
  });

  it('is given for its TTL after its server was heard last, and no longer', () => {
    keep('web.ns.svc.z', address('10.0.0.1'));
    keep('new.ns.svc.z', DENIED);
    heardAt[1] = now + 1_000;
    now += 1_000 + NEGATIVE_TTL - 1;
    expect(['web', 'new'].map((name) => ask(`${name}.ns.svc.z`)?.rcode)).toEqual([
      'NOERROR',
      'NXDOMAIN',
    ]);
    now += 1;
    expect(ask('new.ns.svc.z')).toBeUndefined();
    expect(ask('web.ns.svc.z')).toBeDefined();
    now += TTL - NEGATIVE_TTL;
    expect(ask('web.ns.svc.z')).toBeUndefined();
  });

  it('expires an hour after it was stored', () => {
    keep('web.ns.svc.z', address('10.0.0.1'));
    now += 3_600;
    expect(ask('web.ns.svc.z')).toBeUndefined();
  });

  it('expires with its TTL when the server tells no changes any more', () => {
    keep('web.ns.svc.z', address('10.0.0.1'));
    keep('new.ns.svc.z', DENIED);
    now += NEGATIVE_TTL;
    heardAt[1] = -Infinity;
    expect(ask('new.ns.svc.z')).toBeUndefined();
    expect(ask('web.ns.svc.z')?.answers).toEqual(['web.ns.svc.z A 10.0.0.1 25']);
    now += TTL;
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
        { owner: 'web.ns.svc.z', type: 'A', ttl: TTL, data: '10.0.0.1' },
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

  it('is not stored when it does not know a change that was told', () => {
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

/** Services by name, each with the number of its last change. */
type Zone = ReadonlyMap<string, number>;

const SERVICES = ['a.x', 'b.x', 'c.y'];
const NAMES = [
  'svc',
  'x.svc',
  'y.svc',
  '*.x.svc',
  ...SERVICES.flatMap((s) => [`${s}.svc`, `h.${s}.svc`]),
];

/** What the server says of a name, as one text: the numbers of the services that it shows. */
function truth(zone: Zone, name: string): string {
  const below = (suffix: string) =>
    [...zone]
      .filter(([service]) => service.endsWith(suffix))
      .sort(([, left], [, right]) => left - right);
  if (name === 'svc') return 'no data';
  if (name === '*.x.svc') return String(below('.x').map(([, number]) => number)) || 'denied';
  const [first = '', second] = name.replace(/^h\./, '').split('.');
  if (second === 'svc') return below(`.${first}`).length > 0 ? 'no data' : 'denied';
  return String(zone.get(`${first}.${second}`) ?? 'denied');
}

function responseOf(text: string): Response {
  if (text === 'denied') return DENIED;
  if (text === 'no data') return NO_DATA;
  return {
    answers: text
      .split(',')
      .map(
        (number) =>
          addressRecords(
            TTL,
            `10.${number.padStart(5, '0').replace(/^(..)(..)(.)/, (_, a: string, b: string, c: string) => `${+a}.${+b}.${+c}`)}`,
          )[0]!,
      ),
  };
}

function textOf(seen: ReturnType<typeof ask>): string | undefined {
  if (seen === undefined) return undefined;
  if (seen.rcode === 'NXDOMAIN') return 'denied';
  if (seen.answers.length === 0) return 'no data';
  const numbers = seen.answers.map((answer) => {
    const [, a, b, c] = answer.split(' ')[2]!.split('.').map(Number);
    return a! * 1_000 + b! * 10 + c!;
  });
  return String(numbers.sort((left, right) => left - right));
}

type Step =
  | { readonly kind: 'change'; readonly service: string; readonly exists: boolean }
  | { readonly kind: 'send' | 'ask'; readonly name: string }
  | { readonly kind: 'process' | 'reply' | 'news' | 'cut' | 'connect' }
  | { readonly kind: 'wait'; readonly seconds: number };

const step = <K extends string>(...kinds: K[]) => fc.record({ kind: fc.constantFrom(...kinds) });
const names = fc.constantFrom(...NAMES);

/** Each change has time to be told: else there would always be news on its way. */
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('change' as const),
      service: fc.constantFrom(...SERVICES),
      exists: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('send' as const), name: names }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('ask' as const), name: names }) },
  { weight: 12, arbitrary: step('process', 'reply', 'news') },
  { weight: 1, arbitrary: step('cut', 'connect', 'connect') },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      seconds: fc.constantFrom(0.001, 1, 6, 40),
    }),
  },
);

describe('the cache of a server that tells its changes', () => {
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
            if (reply && heardAt[1] === HEARD_NOW)
              keep(`${reply.name}.z`, responseOf(reply.text), reply.known);
          } else if (step.kind === 'news') {
            const one = news.shift();
            if (one === undefined || heardAt[1] !== HEARD_NOW) continue;
            told = one.zone;
            changed(`${one.service}.svc.z`);
          } else if (step.kind === 'cut') {
            heardAt[1] = -Infinity;
            news = [];
          } else if (step.kind === 'connect') {
            serial = sent++;
            flush();
            heardAt[1] = HEARD_NOW;
            news = [];
            told = new Map(zone);
          } else if ('name' in step && heardAt[1] === HEARD_NOW) {
            const seen = textOf(ask(`${step.name}.z`));
            // It may be newer than what was told, and then news of it is on its way.
            const possible = [told, ...news.map((one) => one.zone)].map((each) =>
              truth(each, step.name),
            );
            if (seen !== undefined) expect(possible).toContain(seen);
          }
        }
      }),
      { numRuns: 400 },
    );
  });
});
