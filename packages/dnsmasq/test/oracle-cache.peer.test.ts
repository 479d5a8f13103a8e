import { afterAll, expect, it } from '@jest/globals';
import { endPrograms, ScriptedNameServer } from '@kube-dns/testkit';
import { ComparedServer, type Seen } from './compared-server.js';
import { DIFFERENT } from './oracle-cache-differences.js';
import { CACHE_SCENARIOS } from './oracle-cache-scenarios.js';
import type { Scenario, Step } from './oracle-cache-steps.js';
import { respond } from './oracle-cache-zone.js';
import { REPLY_SCENARIOS } from './oracle-reply-scenarios.js';
import { serve, type Serving } from './processes.js';
import { describeBesideReal, serveReal } from './real-dnsmasq.js';

// Without the real dnsmasq there is nothing to compare with; Debian has it in dnsmasq-base.

describeBesideReal("the cache beside the real dnsmasq's", () => {
  afterAll(() => endPrograms());

  async function beside(
    options: readonly string[],
    run: (ours: ComparedServer, real: ComparedServer) => Promise<void>,
  ): Promise<void> {
    const upstreams = await Promise.all([
      ScriptedNameServer.start(respond),
      ScriptedNameServer.start(respond),
    ]);
    // dnsmasq takes an option once.
    const hasSize = options.some((option) => option.startsWith('--cache-size'));
    const base = [
      '--no-resolv',
      '-k',
      '--log-facility=-',
      ...(hasSize ? [] : ['--cache-size=200']),
    ];
    const [own, other] = upstreams.map(({ text }) => [...base, `--server=${text}`, ...options]);
    const servers: Serving[] = [];
    try {
      const [ours, real] = await Promise.all([serve(own!), serveReal(other!)]);
      servers.push(ours, real);
      await run(new ComparedServer(ours, upstreams[0]), new ComparedServer(real, upstreams[1]));
    } finally {
      await Promise.all(servers.map(({ process }) => process.close()));
      await Promise.all(upstreams.map((upstream) => upstream.close()));
    }
  }

  async function take(
    step: Step,
    ours: ComparedServer,
    real: ComparedServer,
  ): Promise<[Seen, Seen]> {
    if (step === 'SIGHUP') await Promise.all([ours.reload(), real.reload()]);
    else if (step === 'compare counters') {
      const [seen, expected] = await Promise.all([ours.counters(), real.counters()]);
      return [asFields({ counters: seen }), asFields({ counters: expected })];
    } else if ('untilExpired' in step) {
      const question = step.untilExpired;
      return Promise.all([ours.seeExpired(question), real.seeExpired(question)]);
    } else return Promise.all([ours.see(step), real.see(step)]);
    return [asFields({}), asFields({})];
  }

  const asFields = (fields: Record<string, unknown>): Seen => ({ fields, ttls: [], reasons: [] });

  /** Within the seconds that have gone by since they were cached, and one, as they count in whole ones. */
  const haveSameTtls = (seen: Seen, expected: Seen, sinceMs: number): boolean => {
    const tolerance = 1 + Math.floor((performance.now() - sinceMs) / 1_000);
    return expected.ttls.every((ttl, i) => Math.abs(ttl - seen.ttls[i]!) <= tolerance);
  };

  async function expectSame(
    { steps }: Omit<Scenario, 'options'>,
    ours: ComparedServer,
    real: ComparedServer,
  ): Promise<void> {
    const sinceMs = performance.now();
    for (const [i, step] of steps.entries()) {
      const [seen, expected] = await take(step, ours, real);
      const at = { step: `${i}: ${JSON.stringify(step)}` };
      expect({ ...seen.fields, ...at }).toEqual({ ...expected.fields, ...at });
      expect(seen.reasons).toEqual(expect.arrayContaining([...expected.reasons]));
      const ttls = haveSameTtls(seen, expected, sinceMs) ? seen.ttls : expected.ttls;
      expect({ ...at, ttls: seen.ttls }).toEqual({ ...at, ttls });
    }
  }

  it.each(Object.entries({ ...CACHE_SCENARIOS, ...REPLY_SCENARIOS }))(
    'is the same: %s',
    (_what, scenario) => beside(scenario.options, (ours, real) => expectSame(scenario, ours, real)),
  );

  const differences = Object.entries(DIFFERENT);
  it.each(differences)('differs: %s', (_what, { options, steps, fields }) =>
    beside(options, async (ours, real) => {
      const sinceMs = performance.now();
      await expectSame({ steps: steps.slice(0, -1) }, ours, real);
      const [seen, expected] = await take(steps.at(-1)!, ours, real);
      const names = Object.keys(seen.fields);
      const differing = names.filter(
        (name) => JSON.stringify(seen.fields[name]) !== JSON.stringify(expected.fields[name]),
      );
      const hasOtherTtls =
        seen.ttls.length === expected.ttls.length && !haveSameTtls(seen, expected, sinceMs);
      expect([...differing, ...(hasOtherTtls ? ['ttls'] : [])]).toEqual(fields);
    }),
  );
});
