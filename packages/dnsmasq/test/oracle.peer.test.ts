import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  ask,
  endPrograms,
  freePort,
  type Message,
  type Question,
  ScriptedNameServer,
  statistic,
  until,
} from '@kube-dns/testkit';
import { expectSameTtls, reasonsOf, viewOf } from './answer-view.js';
import { respond, ZONE } from './oracle-zone.js';
import { serve, type Serving } from './processes.js';
import { describeBesideReal, serveReal } from './real-dnsmasq.js';

// Without the real dnsmasq there is nothing to compare with; Debian has it in dnsmasq-base.

interface Step extends Question {
  readonly isOverTcp?: boolean;
}

type Field = keyof ReturnType<typeof viewOf>;

async function see({ port }: Serving, step: Step): Promise<Message | { readonly failure: string }> {
  try {
    return await (step.isOverTcp === true ? ask(port, step, { isOverTcp: true }) : ask(port, step));
  } catch (error) {
    return { failure: String(error) };
  }
}

const twice = (step: Step): Step[] => [step, step];
const local = (label: string, more: Partial<Step> = {}): Step => ({
  name: `${label}.cluster.local`,
  ...more,
});
const chaos = (name: string, more: Partial<Step> = {}): Step => ({
  name,
  type: 'TXT',
  class: 'CH',
  ...more,
});

/** Asked of both, in this order; the answers must be the same. */
const SAME: Readonly<Record<string, readonly Step[]>> = {
  ...Object.fromEntries(
    Object.keys(ZONE)
      .filter((label) => !['many', 'mixed'].includes(label))
      .map((label) => [`A of ${label}, twice`, twice(local(label))]),
  ),
  'AAAA, twice': twice(local('six', { type: 'AAAA' })),
  'SRV, twice': twice(local('service', { type: 'SRV' })),
  'PTR, twice': twice({ name: '1.0.0.10.in-addr.arpa', type: 'PTR' }),
  'TXT, twice': twice(local('text', { type: 'TXT' })),
  'ANY, twice': twice(local('one', { type: 'ANY' })),
  'a large answer with EDNS, twice': twice(local('many', { ednsBytes: 4096 })),
  'a large answer over TCP, twice': twice(local('many', { isOverTcp: true })),
  'other case': [{ name: 'One.Cluster.LOCAL' }, { name: 'oNE.cluster.local' }],
  'no RD, whose answer is cached': [
    { name: 'one.rd2.example', isRecursionDesired: false },
    { name: 'one.rd2.example' },
  ],
  'DO, whose answer is cached without DNSSEC records': [
    { name: 'one.do2.example', ednsBytes: 1232, isDnssecOk: true },
    { name: 'one.do2.example' },
  ],
  'EDNS, twice': twice({ name: 'set.edns.example', ednsBytes: 1232 }),
  'EDNS with a large size, twice': twice({ name: 'one.edns.example', ednsBytes: 4096 }),
  'EDNS and NXDOMAIN': [{ name: 'missing.edns.example', ednsBytes: 1232 }],
  'DO, twice': twice({ name: 'one.do.example', ednsBytes: 1232, isDnssecOk: true }),
  'CD, from the cache': [
    { name: 'one.cd.example' },
    { name: 'one.cd.example', isCheckingDisabled: true },
  ],
  'CD, whose answer is not cached': [
    { name: 'one.cd2.example', isCheckingDisabled: true },
    { name: 'one.cd2.example' },
  ],
  'no RD, not from the cache': [
    { name: 'one.rd.example' },
    { name: 'one.rd.example', isRecursionDesired: false },
    { name: 'one.rd.example' },
  ],
  'the default server': [{ name: 'one.example' }, { name: '.' }],
  'a local domain': [{ name: 'secret.test' }, { name: 'x.secret.test', ednsBytes: 1232 }],
  'a local domain over TCP': [{ name: 'x.secret.test', isOverTcp: true }],
  'an exception inside a domain': [{ name: 'one.open.cluster.local' }],
  'the names of class CHAOS': [
    ...['version', 'authors', 'copyright', 'cachesize', 'auth'].map((name) =>
      chaos(`${name}.bind`),
    ),
    chaos('VERSION.Bind', { ednsBytes: 4096 }),
    chaos('version.bind', { type: 'ANY' }),
    chaos('version.bind', { isRecursionDesired: false, isOverTcp: true }),
  ],
  'what class CHAOS does not have': [
    ...['foo.bind', 'bind', 'id.server', 'x.version.bind'].map((name) => chaos(name)),
    chaos('foo.bind', { ednsBytes: 4096 }),
    chaos('version.bind', { type: 'A' }),
  ],
};

interface Difference {
  readonly steps: readonly Step[];
  /** What differs in the answer to the last step; `failure` is no answer at all from the real one. */
  readonly fields: readonly (Field | 'failure')[];
}

/**
 * Deliberate differences, each with its reason. A row that does not differ any more fails, so that the
 * list stays true.
 */
const DIFFERENT: Readonly<Record<string, Difference>> = {
  'too large for the client: cut with TC to its size; dnsmasq sends it as it came': {
    steps: [{ name: 'many.large.example' }],
    fields: ['tc', 'answers'],
  },
  'cut by the upstream: asked for again over TCP; dnsmasq passes TC on without records': {
    steps: [{ name: 'cut.example' }],
    fields: ['answers'],
  },
  'cut by the upstream, with EDNS: the whole answer fits; dnsmasq passes TC on without records': {
    steps: [{ name: 'cut.edns.example', ednsBytes: 1232 }],
    fields: ['tc', 'answers'],
  },
  'OPT that the client did not ask for: stripped (RFC 6891 section 7); dnsmasq passes it on': {
    steps: [{ name: 'unasked.example' }],
    fields: ['additionals'],
  },
  'CNAME from an answer to A: asked upstream; dnsmasq takes it out of the cache, with AA': {
    steps: [local('alias'), local('alias', { type: 'CNAME' })],
    fields: ['aa', 'answers'],
  },
  'no server reachable over TCP: SERVFAIL; dnsmasq closes the connection': {
    steps: [{ name: 'one.unreachable.test', isOverTcp: true }],
    fields: ['failure'],
  },
};

describeBesideReal('beside the real dnsmasq', () => {
  let clusterUpstream: ScriptedNameServer;
  let otherUpstream: ScriptedNameServer;

  beforeAll(async () => {
    clusterUpstream = await ScriptedNameServer.start(respond);
    otherUpstream = await ScriptedNameServer.start(respond);
  });

  afterAll(async () => {
    await endPrograms();
    await Promise.all([clusterUpstream.close(), otherUpstream.close()]);
  });

  async function serveBoth(...more: string[]): Promise<{ ours: Serving; real: Serving }> {
    const options = [
      ...['--no-resolv', '--no-negcache', '-k', '--log-facility=-'],
      ...[`--server=/cluster.local/${clusterUpstream.text}`, ...more],
    ];
    const [ours, real] = await Promise.all([serve(options), serveReal(options)]);
    return { ours, real };
  }

  async function expectSame(ours: Serving, real: Serving, steps: readonly Step[]): Promise<void> {
    const sinceMs = performance.now();
    for (const step of steps) {
      const [seen, expected] = await Promise.all([see(ours, step), see(real, step)]);
      if ('failure' in seen || 'failure' in expected) {
        expect({ step, ...seen }).toEqual({ step, ...expected });
        continue;
      }
      expect({ step, ...viewOf(seen) }).toEqual({ step, ...viewOf(expected) });
      expect(reasonsOf(seen)).toEqual(expect.arrayContaining(reasonsOf(expected)));
      expectSameTtls(seen, expected, sinceMs);
    }
  }

  describe('the answers', () => {
    let ours: Serving;
    let real: Serving;

    beforeAll(async () => {
      ({ ours, real } = await serveBoth(
        ...['--cache-size=100', `--server=${otherUpstream.text}`],
        ...['--server=/secret.test/', '--server=/open.cluster.local/#'],
        `--server=/unreachable.test/127.0.0.1#${await freePort()}`,
      ));
    });

    it.each(Object.entries(SAME))('are the same: %s', async (_what, steps) => {
      await expectSame(ours, real, steps);
    });

    it.each(Object.entries(DIFFERENT))('differ: %s', async (_what, { steps, fields }) => {
      await expectSame(ours, real, steps.slice(0, -1));
      const last = steps.at(-1)!;
      const [seen, expected] = await Promise.all([see(ours, last), see(real, last)]);
      if ('failure' in seen) throw new Error(seen.failure);
      if ('failure' in expected) {
        expect(fields).toEqual(['failure']);
        expect(seen.rcode).toBe('SERVFAIL');
        return;
      }
      const [ourView, realView] = [viewOf(seen), viewOf(expected)];
      const differing = (Object.keys(ourView) as Field[]).filter(
        (field) => JSON.stringify(ourView[field]) !== JSON.stringify(realView[field]),
      );
      expect(differing).toEqual(fields);
    });

    it('have the records of a set in the same order, which rotates', async () => {
      for (let i = 0; i < 8; i++) {
        const [seen, expected] = await Promise.all(
          [ours, real].map(({ port }) => ask(port, 'set.turn.example')),
        );
        expect(seen!.texts).toEqual(expected!.texts);
      }
    });

    it('are the same as time goes by, but for sets whose TTLs differ: ours end as a whole', async () => {
      const sinceMs = performance.now();
      const names = ['one', 'brief', 'mixed'].map((label) => `${label}.time.example`);
      for (const name of names) await Promise.all([ask(ours.port, name), ask(real.port, name)]);
      await until(async () => (await ask(ours.port, names[0]!)).ttls[0]! <= 28);
      const [one, brief, mixed] = await Promise.all(
        names.map(async (name) => ({
          ours: await ask(ours.port, name),
          real: await ask(real.port, name),
        })),
      );
      expectSameTtls(one!.ours, one!.real, sinceMs);
      expect([one!.ours.texts, brief!.ours.texts]).toEqual([one!.real.texts, brief!.real.texts]);
      expect([brief!.ours.ttls, brief!.real.ttls]).toEqual([[1], [1]]);
      expect(mixed!.real.texts).toEqual(['A 10.0.0.2']);
      expect(mixed!.ours.ttls).toEqual([1, 500]); // asked for again: as upstream has them
    });
  });

  it('the answers without default servers are the same', async () => {
    const { ours, real } = await serveBoth();
    await expectSame(ours, real, [
      { name: 'one.example' },
      { name: 'one.example', ednsBytes: 1232 },
      { name: 'one.example', isOverTcp: true },
      chaos('x.example'),
      local('one'),
    ]);
  });

  it('the TTLs inside the bounds of the options are the same', async () => {
    const { ours, real } = await serveBoth(
      ...['--max-ttl=200', '--max-cache-ttl=100', '--min-cache-ttl=10'],
    );
    for (const label of ['zero', 'brief', 'one', 'alias', 'long']) {
      await expectSame(ours, real, twice(local(label)));
    }
  });

  it('the counters are the same', async () => {
    const { ours, real } = await serveBoth('--cache-size=100', `--server=${otherUpstream.text}`);
    const asked = [
      ...['one', 'set', 'empty', 'missing', 'text'].flatMap((label) => twice(local(label))),
      // A failure is remembered, so the second time would be none that is forwarded.
      local('broken'),
      ...twice(local('service', { type: 'SRV' })),
      ...twice(local('text', { type: 'TXT' })),
      ...twice(local('six', { type: 'AAAA' })),
      ...twice(local('one', { isOverTcp: true })),
      ...twice({ name: 'n0.tcp.example', isOverTcp: true }),
      chaos('foo.bind'),
      ...Array.from({ length: 80 }, (_, i) => ({ name: `n${i}.example` })),
    ];
    await expectSame(ours, real, asked);
    for (const name of ['hits', 'misses', 'insertions', 'evictions', 'cachesize', 'auth']) {
      const [seen, expected] = await Promise.all(
        [ours, real].map(({ port }) => statistic(port, `${name}.bind`)),
      );
      expect({ [name]: seen }).toEqual({ [name]: expected });
    }
  });
});
