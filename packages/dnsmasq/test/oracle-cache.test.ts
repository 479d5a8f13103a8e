import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, it } from '@jest/globals';
import { readUint16 } from '@kube-dns/wire';
import { type Answer, ask, statistic } from './client.js';
import { FakeUpstream } from './fake-upstream.js';
import type { Question } from './messages.js';
import { respond } from './oracle-cache-zone.js';
import { endProcesses, serve, type Serving } from './processes.js';
import { REAL_DNSMASQ, serveReal } from './real-dnsmasq.js';
import { until } from './until.js';

// Without the real dnsmasq there is nothing to compare with; Debian has it in dnsmasq-base.
const describeBesideReal = REAL_DNSMASQ === undefined ? describe.skip : describe;
const WITHOUT = REAL_DNSMASQ === undefined ? ' (skipped: no dnsmasq 2.90 on this machine)' : '';

/** A question to both, or what is done between questions. */
type Step = Question | { readonly waitSeconds: number } | 'compare counters' | 'SIGHUP';

const q = (label: string, type = 'A', more: Partial<Question> = {}): Question => ({
  name: `${label}.zone.test`,
  type,
  ...more,
});
const times = (count: number, ...steps: Step[]): Step[] =>
  Array.from({ length: count }, () => steps).flat();
const twice = (label: string, type?: string): Step[] => times(2, q(label, type));
const arpa = (label: number): Question => ({ name: `${label}.0.0.10.in-addr.arpa`, type: 'PTR' });
const EDNS = { ednsBytes: 1400 };
const COUNTERS = ['hits', 'misses', 'insertions', 'evictions'];

interface Scene {
  readonly options: readonly string[];
  readonly steps: readonly Step[];
  /** Questions may reach the upstream behind the answer: they are seen in the counters only. */
  readonly asksBehind?: boolean;
}

/** Both do the same, in the answers, in what reaches the upstream, and in the counters. */
const SAME: Readonly<Record<string, Scene>> = {
  'records, turned at each answer': {
    options: [],
    steps: [
      ...times(6, q('set'), q('services', 'SRV')),
      ...twice('six', 'AAAA'),
      ...twice('text', 'TXT'),
      ...twice('mail', 'MX'),
      ...times(2, q('set', 'ANY')),
      ...times(2, arpa(1), arpa(3)),
      'compare counters',
    ],
  },
  'records in their own order': {
    options: ['--no-round-robin'],
    steps: times(4, q('set'), q('services', 'SRV')),
  },
  'aliases, and what they lead to': {
    options: [],
    steps: [
      ...twice('chain'),
      ...['middle', 'end', 'backwards', 'backwards', 'last'].map((label) => q(label)),
      'compare counters',
    ],
  },
  'aliases that lead nowhere': { options: [], steps: twice('circle') },
  'records that nobody asked for': {
    options: [],
    steps: [...twice('planted'), q('victim'), q('hint'), 'compare counters'],
  },
  'denials of names': {
    options: [],
    steps: [
      q('missing', 'TXT'),
      ...['A', 'AAAA', 'SRV', 'MX', 'CNAME', 'ANY'].map((type) => q('missing', type)),
      q('missing', 'A', EDNS),
      q('missing', 'A', { ...EDNS, isDnssecOk: true }),
      q('missing', 'A', { isRecursionDesired: false }),
      q('missing', 'A', { isCheckingDisabled: true }),
      ...['short', 'astray', 'instant', 'unsigned'].flatMap((label) => twice(label)),
      'compare counters',
    ],
  },
  'denials of types': {
    options: [],
    steps: [
      ...['A', 'AAAA', 'SRV', 'TXT', 'ANY'].flatMap((type) => twice('empty', type)),
      ...twice('referral'),
      'compare counters',
    ],
  },
  'denials behind aliases': {
    options: [],
    steps: [
      ...twice('dangling'),
      q('dangling', 'TXT'),
      q('dangling', 'ANY'),
      q('gone'),
      q('gone', 'SRV'),
      ...twice('hollow'),
      q('void'),
      q('hollow', 'AAAA'),
      'compare counters',
    ],
  },
  'no denials': {
    options: ['--no-negcache'],
    steps: [
      ...['missing', 'empty', 'dangling', 'hollow', 'bare'].flatMap((label) => twice(label)),
      ...twice('chain'),
      'compare counters',
    ],
  },
  'denials without SOA': {
    options: ['--neg-ttl=50'],
    steps: [
      ...['unsigned', 'astray', 'referral', 'missing', 'bare'].flatMap((label) => twice(label)),
      'compare counters',
    ],
  },
  'more types': {
    options: ['--cache-rr=MX,TXT'],
    steps: [
      ...twice('mail', 'MX'),
      ...twice('text', 'TXT'),
      ...twice('empty', 'MX'),
      ...twice('mail', 'NS'),
    ],
  },
  'every type': {
    options: ['--cache-rr=ANY'],
    steps: [
      ...twice('mail', 'MX'),
      ...twice('empty', 'NS'),
      ...twice('set', 'ANY'),
      'compare counters',
    ],
  },
  'the bounds of TTLs': {
    options: ['--max-ttl=20', '--min-cache-ttl=50', '--max-cache-ttl=500'],
    steps: [
      ...['set', 'zero', 'long', 'missing', 'dangling', 'chain'].flatMap((label) => twice(label)),
      'compare counters',
    ],
  },
  'time going by': {
    options: ['--max-cache-ttl=60'],
    steps: [
      q('set'),
      q('brief'),
      q('missing'),
      q('fading.sub'),
      { waitSeconds: 2.5 },
      q('set'),
      q('missing'),
      q('brief'),
      q('fading.sub'),
      'compare counters',
    ],
  },
  'answers past their time': {
    options: ['--use-stale-cache=100'],
    asksBehind: true,
    steps: [
      q('brief'),
      q('fading.sub'),
      { waitSeconds: 2.5 },
      q('brief', 'A', EDNS),
      { waitSeconds: 0.3 },
      q('fading.sub', 'A', EDNS),
      { waitSeconds: 0.3 },
      q('brief'),
      'compare counters',
    ],
  },
  'answers too long past their time': {
    options: ['--use-stale-cache=1'],
    steps: [q('brief'), { waitSeconds: 3.5 }, q('brief'), 'compare counters'],
  },
  rebinding: {
    options: ['--stop-dns-rebind', '--rebind-domain-ok=/ok.zone.test/'],
    steps: [
      ...['private', 'half', 'loopback', 'led', 'set'].flatMap((label) => twice(label)),
      ...twice('mapped', 'AAAA'),
      ...twice('local', 'AAAA'),
      q('private', 'A', EDNS),
      ...twice('private.ok'),
      q('private.nok'),
      'compare counters',
    ],
  },
  'rebinding to this machine': {
    options: ['--stop-dns-rebind', '--rebind-localhost-ok'],
    steps: [...twice('loopback'), ...twice('private')],
  },
  'bogus addresses': {
    options: ['--bogus-nxdomain=198.18.0.0/24', '--bogus-nxdomain=2a00::1', '--no-negcache'],
    steps: [
      ...twice('bogus'),
      q('bogus', 'TXT'),
      q('bogus.x', 'A', EDNS),
      ...twice('six', 'AAAA'),
      ...twice('set'),
      'compare counters',
    ],
  },
  'other addresses': {
    options: ['--alias=192.0.1.1,203.0.113.7', '--alias=10.0.0.0,203.0.113.0,255.255.255.0'],
    steps: [...twice('set'), ...twice('chain'), ...twice('private'), q('set', 'ANY')],
  },
  'types that are left out': {
    options: ['--filter-A', '--filter-rr=TXT,ANY'],
    steps: [
      ...twice('set'),
      q('set', 'A', EDNS),
      ...twice('chain'),
      ...twice('both', 'AAAA'),
      ...twice('both'),
      q('both', 'A', EDNS),
      ...twice('text', 'TXT'),
      q('mail', 'ANY'),
      'compare counters',
    ],
  },
  'the size in EDNS': {
    options: ['--edns-packet-max=4096'],
    steps: [
      ...times(2, q('set', 'A', EDNS), q('missing', 'A', EDNS)),
      q('set', 'TXT', { ednsBytes: 600 }),
    ],
  },
  'malformed replies': {
    options: [],
    steps: [...twice('badaddress'), ...twice('badname'), 'compare counters'],
  },
  'no statistics names': {
    options: ['--no-ident'],
    steps: ['hits', 'version', 'x'].map((name) => ({
      name: `${name}.bind`,
      type: 'TXT',
      class: 'CH',
    })),
  },
  'a cache that is too small': {
    options: ['--cache-size=30'],
    steps: [
      ...Array.from({ length: 30 }, (_, i) => [q(`pair.n${i}`), q(`one.n${i % 7}`)]).flat(),
      ...times(3, q('chain'), q('pair.n29'), q('pair.n0')),
      'compare counters',
    ],
  },
  'a small cache whose answers expire': {
    options: ['--cache-size=20'],
    steps: [
      ...Array.from({ length: 20 }, (_, i) => q(`brief.n${i}`)),
      { waitSeconds: 2.5 },
      ...Array.from({ length: 10 }, (_, i) => q(`pair.n${i}`)),
      'compare counters',
      q('pair.x'),
      'compare counters',
    ],
  },
  'an answer with more records than the cache': {
    options: ['--cache-size=3'],
    steps: [...twice('set'), ...twice('pair'), 'compare counters'],
  },
  'no cache': { options: ['--cache-size=0'], steps: [...twice('set'), ...twice('missing')] },
  SIGHUP: {
    options: [],
    steps: [
      ...twice('set'),
      ...twice('missing'),
      'SIGHUP',
      'compare counters',
      ...twice('set'),
      'compare counters',
    ],
  },
};

interface Difference extends Scene {
  /** What differs at the last step. */
  readonly fields: readonly string[];
}

/** Deliberate differences, each with its reason. A row that does not differ any more fails. */
const DIFFERENT: Readonly<Record<string, Difference>> = {
  'several PTR records: all are kept; dnsmasq keeps one': {
    options: [],
    steps: times(2, arpa(2)),
    fields: ['answers'],
  },
  'PTR records of a name that is no address: kept; dnsmasq asks again': {
    options: [],
    steps: times(2, q('1', 'PTR')),
    fields: ['asked'],
  },
  'an alias without its target: nothing is made of it; dnsmasq takes the target for empty': {
    options: [],
    steps: twice('bare'),
    fields: ['asked'],
  },
  'a SOA whose name only ends alike: not the zone’s; dnsmasq takes it': {
    options: [],
    steps: twice('alike'),
    fields: ['asked'],
  },
  'a SOA that forbids keeping: obeyed; a floor for TTLs makes dnsmasq keep it': {
    options: ['--neg-ttl=50', '--min-cache-ttl=50'],
    steps: twice('instant'),
    fields: ['authorities', 'asked'],
  },
  'a TTL with the top bit: 0, so not kept (RFC 2181 section 8); dnsmasq keeps it for 68 years': {
    options: [],
    steps: twice('high'),
    fields: ['asked'],
  },
  'private addresses in an answer to ANY: emptied, too': {
    options: ['--stop-dns-rebind'],
    steps: [q('private', 'ANY')],
    fields: ['answers'],
  },
  'a type that is left out of a kept answer: said so, not of addresses only': {
    options: ['--filter-rr=SRV'],
    steps: times(2, q('services', 'SRV', EDNS)),
    fields: ['additionals'],
  },
  'an alias asked for by itself: asked upstream; dnsmasq takes it out of another answer, with AA': {
    options: [],
    steps: [q('dangling'), q('dangling', 'CNAME')],
    fields: ['flags', 'authorities', 'asked'],
  },
};

type DnsRecord = Answer['answers'][number];

/** The one TTL that is not compared to the letter: dnsmasq counts by the strokes of the clock. */
const withoutTtl = (record: DnsRecord): string => JSON.stringify({ ...record, ttl: undefined });
const ttlsOf = ({ answers, authorities }: Answer): number[] =>
  [...answers, ...authorities].map((record) => ('ttl' in record ? (record.ttl ?? 0) : 0));

interface Seen {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly ttls: readonly number[];
}

/** One server with an upstream of its own, so that what reaches it can be told apart. */
class Side {
  readonly #serving: Serving;
  readonly #upstream: FakeUpstream;

  constructor(serving: Serving, upstream: FakeUpstream) {
    this.#serving = serving;
    this.#upstream = upstream;
  }

  async see(question: Question): Promise<Seen> {
    const before = this.#upstream.asked.length;
    const answer = await ask(this.#serving.port, question);
    return {
      fields: {
        flags: readUint16(answer.bytes, 2),
        questions: answer.questions,
        // In their order: the records turn in step.
        answers: answer.answers.map(withoutTtl),
        authorities: answer.authorities.map(withoutTtl),
        additionals: answer.additionals.map(withoutTtl),
        asked: this.#upstream.asked.length - before,
      },
      ttls: ttlsOf(answer),
    };
  }

  async counters(): Promise<readonly number[]> {
    const values: number[] = [];
    for (const name of COUNTERS) values.push(await statistic(this.#serving.port, `${name}.bind`));
    return values;
  }

  async reload(): Promise<void> {
    const { process } = this.#serving;
    const count = () => process.stderr.split('cleared cache').length;
    const before = count();
    process.kill('SIGHUP');
    await until(() => count() > before, 'cleared cache');
  }
}

describeBesideReal(`the cache beside the real dnsmasq's${WITHOUT}`, () => {
  afterAll(endProcesses);

  async function beside(
    options: readonly string[],
    run: (ours: Side, real: Side) => Promise<void>,
  ): Promise<void> {
    const upstreams = await Promise.all([FakeUpstream.start(respond), FakeUpstream.start(respond)]);
    // dnsmasq takes an option once.
    const hasSize = options.some((option) => option.startsWith('--cache-size'));
    const base = [
      '--no-resolv',
      '-k',
      '--log-facility=-',
      ...(hasSize ? [] : ['--cache-size=200']),
    ];
    const [own, other] = upstreams.map(({ text }) => [...base, `--server=${text}`, ...options]);
    try {
      const [ours, real] = await Promise.all([serve(own!), serveReal(other!)]);
      await run(new Side(ours, upstreams[0]), new Side(real, upstreams[1]));
    } finally {
      await endProcesses();
      await Promise.all(upstreams.map((upstream) => upstream.close()));
    }
  }

  async function take(step: Step, ours: Side, real: Side): Promise<[Seen, Seen]> {
    if (step === 'SIGHUP') await Promise.all([ours.reload(), real.reload()]);
    else if (step === 'compare counters') {
      const [seen, expected] = [await ours.counters(), await real.counters()];
      return [asFields({ counters: seen }), asFields({ counters: expected })];
    } else if ('waitSeconds' in step) await delay(step.waitSeconds * 1_000);
    else return Promise.all([ours.see(step), real.see(step)]);
    return [asFields({}), asFields({})];
  }

  const asFields = (fields: Record<string, unknown>): Seen => ({ fields, ttls: [] });

  async function expectSame(
    { steps, asksBehind = false }: Omit<Scene, 'options'>,
    ours: Side,
    real: Side,
  ): Promise<void> {
    for (const [i, step] of steps.entries()) {
      const [seen, expected] = await take(step, ours, real);
      const at = { step: `${i}: ${JSON.stringify(step)}`, ...(asksBehind && { asked: undefined }) };
      expect({ ...seen.fields, ...at }).toEqual({ ...expected.fields, ...at });
      const apart = expected.ttls.map((ttl, j) => Math.abs(ttl - seen.ttls[j]!) > 1);
      expect({ ...at, apart, ttls: seen.ttls }).toEqual({
        ...at,
        apart: apart.map(() => false),
        ttls: apart.includes(true) ? expected.ttls : seen.ttls,
      });
    }
  }

  it.each(Object.entries(SAME))('is the same: %s', async (_what, scene) => {
    await beside(scene.options, (ours, real) => expectSame(scene, ours, real));
  });

  it.each(Object.entries(DIFFERENT))('differs: %s', async (_what, { options, steps, fields }) => {
    await beside(options, async (ours, real) => {
      await expectSame({ steps: steps.slice(0, -1) }, ours, real);
      const [seen, expected] = await take(steps.at(-1)!, ours, real);
      const names = Object.keys(seen.fields);
      const differing = names.filter(
        (name) => JSON.stringify(seen.fields[name]) !== JSON.stringify(expected.fields[name]),
      );
      expect(differing).toEqual(fields);
    });
  });
});
