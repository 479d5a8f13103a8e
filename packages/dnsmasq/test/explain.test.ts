import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { addressRecords, cnameRecord, ScriptedNameServer } from '@kube-dns/testkit';
import type { StatusFacts } from '@kube-dns/daemon';
import { RCODE } from '@kube-dns/wire';
import { ExplainedServer } from './explained-server.js';

let folder: string;
let upstream: ScriptedNameServer;
let server: ExplainedServer | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'explain-'));
  upstream = await ScriptedNameServer.start(() => ({ answers: addressRecords(100, '192.0.2.1') }));
});

afterEach(async () => {
  await server?.close();
  server = undefined;
  await upstream.close();
  rmSync(folder, { recursive: true });
});

async function start(...argv: string[]): Promise<ExplainedServer> {
  return (server = await ExplainedServer.start('--no-hosts', ...argv));
}

/** The texts of the steps by their kind. */
async function textsOf(name: string, type = 'A', client?: string): Promise<Record<string, string>> {
  const { steps } = await server!.explain(name, type, client);
  return Object.fromEntries(steps.map(({ step, text }) => [step, text]));
}

describe('what dnsmasq explains of local data', () => {
  it('is the file and line, or the option and where it was given', async () => {
    const hosts = join(folder, 'hosts');
    writeFileSync(hosts, '# ours\n10.0.0.1 web.x other\n\n10.0.0.2 Web.X.\nfd00::1 web.x\n');
    const conf = join(folder, 'conf');
    writeFileSync(conf, '\ntxt-record=t.x,"a, b"\n');
    await start(
      ...[`--addn-hosts=${hosts}`, `--conf-file=${conf}`, '--cname=c.x,web.x'],
      ...['--host-record=h.x,10.0.0.3', '--localmx', '--filter-rr=NAPTR', '--expand-hosts'],
      '--domain=lan',
    );
    const local = async (name: string, type?: string) => (await textsOf(name, type)).local;
    // The records take turns.
    expect(await local('WEB.x')).toMatch(/^Local data answers it, from .*: no server is asked\.$/);
    expect(await local('web.x')).toContain(`${hosts}, line 2`);
    expect(await local('web.x')).toContain(`${hosts}, line 4`);
    expect(await local('other.lan')).toContain(`${hosts}, line 2`);
    expect(await local('1.0.0.10.in-addr.arpa', 'PTR')).toContain(`${hosts}, line 2`);
    expect(await local('web.x', 'AAAA')).toContain(`${hosts}, line 5`);
    expect(await local('t.x', 'TXT')).toContain(`--txt-record=t.x,a, b of line 2 of ${conf}`);
    expect(await local('c.x')).toContain(`--cname=c.x,web.x of the command line and ${hosts}`);
    expect(await local('3.0.0.10.in-addr.arpa', 'PTR')).toContain('--host-record=h.x,10.0.0.3');
    expect(await local('h.x', 'MX')).toContain('--localmx of the command line');
    expect(await local('h.x', 'NAPTR')).toContain('a filter removes this type');
    expect(upstream.requests).toEqual([]);
  });

  it('is the rule that answers without a server', async () => {
    const rules = [
      ['a.ads.x', 'A', '--address=/ads.x/0.0.0.0'],
      ['a.ads.x', 'AAAA', '--address=/ads.x/0.0.0.0'],
      ['b.lan', 'A', '--local=/lan/'],
      ['ip-10-2-0-1.synth.x', 'A', '--synth-domain=synth.x,10.2.0.0/24,ip-'],
      ['1.0.2.10.in-addr.arpa', 'PTR', '--synth-domain=synth.x,10.2.0.0/24,ip-'],
      ['1.0.0.192.in-addr.arpa', 'PTR', undefined],
      ['1.1.168.192.in-addr.arpa', 'PTR', '--bogus-priv'],
      ['plain', 'A', '--domain-needed'],
      ['_ldap._tcp.x', 'SRV', '--filterwin2k'],
    ] as const;
    const options = new Set(rules.flatMap(([, , option]) => option ?? []));
    await start(upstreamOption(), ...options, '--local=/ads.x/');
    for (const [name, type, option] of rules) {
      const { rule = '', route } = await textsOf(name, type);
      if (option === undefined) expect(route).toBeDefined();
      else
        expect([name, rule]).toEqual([name, expect.stringContaining(`${option} of the command`)]);
    }
  });
});

const upstreamOption = () => `--server=${upstream.text}`;

describe('what dnsmasq explains of a name that servers know', () => {
  it('is the rule of the longest domain, its servers, what they replied, and what is cached then', async () => {
    await start(upstreamOption(), `--server=/corp.x/x.corp.x/${upstream.text}`, '--local=/lan/');
    const texts = await textsOf('a.corp.x');
    expect(texts).toMatchObject({
      cache: 'The cache has no answer for it.',
      route:
        'The longest domain with a rule that it is in is corp.x. It is from ' +
        `--server=/corp.x/x.corp.x/${upstream.text} (the command line). ` +
        `Its servers: ${upstream.text} (not replied yet).`,
      outcome:
        `Asked as a client at 127.0.0.1 would: ${upstream.text} answered. ` +
        'The cache has its answer now, for 100 s.',
    });
    expect(texts.server).toMatch(/was asked over UDP: it replied NOERROR after [\d.]+ ms\.$/);
    expect((await textsOf('b.x')).route).toContain('goes to the default servers');
    const again = await textsOf('a.corp.x', 'A', '10.1.1.1');
    expect(again.cache).toMatch(/^The cache has 1 A record, stored .* of its TTL are left\.$/);
    expect(again.outcome).toBe('Asked as a client at 10.1.1.1 would: it gets the cached answer.');
    expect(again.server).toBeUndefined();
  });

  it('says what an option did to the reply, and that a server has failed', async () => {
    const closed = await ScriptedNameServer.start(() => null);
    const { text } = closed;
    await closed.close();
    await start(
      ...[upstreamOption(), `--server=/down.x/${text}`, '--bogus-nxdomain=192.0.2.1'],
      '--filter-AAAA',
    );
    expect((await textsOf('a.x')).outcome).toContain('EDE 15, --bogus-nxdomain');
    expect((await textsOf('a.x', 'AAAA')).filter).toBe(
      'Records of type AAAA are removed from the answers of servers: --filter-AAAA of the command line.',
    );
    const failed = await server!.explain('a.down.x');
    expect(failed.verdict).toMatchObject({ rcode: 'SERVFAIL', ede: [{ code: 23 }] });
    expect(failed.steps.find(({ step }) => step === 'server')?.text).toContain('cannot be reached');
    const again = await textsOf('a.down.x');
    expect(again.cache).toContain('No server could answer it a moment ago (unreachable');
    expect(again.skipped).toContain(`${text} was not asked: it has been down for`);
  });

  it('says of a client that --local-service excludes that it gets no answer', async () => {
    const started = await start(upstreamOption(), '--local-service');
    const { steps, verdict } = await started.explain('a.x', 'A', '203.0.113.1');
    expect(steps[0]?.text).toContain('is in no network of this machine: with --local-service');
    expect(verdict).toMatchObject({ rcode: null, source: 'none', answers: [] });
    expect((await started.explain('a.x')).verdict.rcode).toBe('NOERROR');
  });

  it('explains an alias to a name elsewhere', async () => {
    upstream.script = () => ({
      answers: [
        cnameRecord('a.x', 'b.y', 60),
        { ...addressRecords(30, '192.0.2.1')[0]!, name: 'b.y' },
      ],
    });
    await start(upstreamOption());
    await server!.explain('a.x');
    expect((await textsOf('a.x')).cache).toContain('The cache has a CNAME and 1 A record');
    upstream.script = () => ({ rcode: RCODE.NXDOMAIN });
    expect((await server!.explain('none.x')).verdict.rcode).toBe('NXDOMAIN');
  });

  it('counts as one question: to look at the cache adds nothing', async () => {
    const started = await start(upstreamOption(), '--prefetch=3');
    const counts = async () => {
      const { hits, misses, insertions } = (await started.status.sections()).Cache as StatusFacts;
      return { hits, misses, insertions };
    };
    const hitsSaid = async () =>
      (await started.explain('a.x')).steps.find(({ step }) => step === 'cache')?.hits;
    await started.explain('a.x');
    expect(await counts()).toEqual({ hits: 0, misses: 1, insertions: 1 });
    expect([await hitsSaid(), await hitsSaid(), await hitsSaid()]).toEqual([0, 1, 2]);
    expect(await counts()).toEqual({ hits: 3, misses: 1, insertions: 1 });
    expect(upstream.requests).toHaveLength(1);
  });
});
