import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { addressRecords, ScriptedNameServer, soaRecord, until } from '@kube-dns/testkit';
import type { StatusFacts } from '@kube-dns/daemon';
import { RCODE } from '@kube-dns/wire';
import { ExplainedServer } from './explained-server.js';

let folder: string;
let upstream: ScriptedNameServer;
let server: ExplainedServer | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'status-'));
  upstream = await ScriptedNameServer.start(({ name }) =>
    name.startsWith('none')
      ? { rcode: RCODE.NXDOMAIN, authorities: [soaRecord(60, 'x')] }
      : { answers: addressRecords(100, '192.0.2.1', '192.0.2.2') },
  );
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

/** The rows of a section, or its facts as the only row. */
async function rowsOf(title: string): Promise<readonly StatusFacts[]> {
  const section = (await server!.status.sections())[title]!;
  return Array.isArray(section) ? (section as StatusFacts[]) : [section as StatusFacts];
}

async function closedServer(): Promise<string> {
  const closed = await ScriptedNameServer.start(() => null);
  const { text } = closed;
  await closed.close();
  return text;
}

describe('the status page of dnsmasq', () => {
  it('shows each server, and first those that are down, since when and why', async () => {
    const closed = await closedServer();
    const { explain, status } = own(
      await start('--no-subscribe', `--server=${upstream.text}`, `--server=/down.x/${closed}`),
    );
    await explain('a.x');
    await explain('a.down.x');
    expect(await rowsOf('Servers')).toMatchObject([
      {
        server: closed,
        state: 'down',
        reason: 'unreachable',
        failures: 'unreachable 1',
        queries: 2,
      },
      {
        server: upstream.text,
        state: 'up',
        protocol: 'udp',
        reason: null,
        failures: '',
        queries: 1,
      },
    ]);
    expect(status.problems?.()).toEqual([
      expect.stringContaining(`no server for names of down.x replies: ${closed} (unreachable, for`),
    ]);
  });

  it('says which of several servers is down, and for which names there is none', async () => {
    const closed = await closedServer();
    const { explain, status } = own(
      await start('--no-subscribe', `--server=${upstream.text}`, `--server=${closed}`),
    );
    await explain('a.x');
    // Probes find out that its port is closed.
    await until(() => status.problems?.().length === 1);
    expect(status.problems?.()).toEqual([
      expect.stringContaining(`a server is down, others are asked: ${closed} (unreachable, for`),
    ]);
    expect((await rowsOf('Servers')).map(({ server, domains }) => [server, domains])).toEqual([
      [closed, '.'],
      [upstream.text, '.'],
    ]);
  });

  it('shows each route with the rules that it is from, and each zone that is subscribed to', async () => {
    const [zoneServer, other] = [await closedServer(), await closedServer()];
    await start(`--server=/z/${zoneServer}`, `--server=/z/${other}`, '--local=/lan/');
    expect(await rowsOf('Routes')).toEqual([
      { domain: '.', servers: 'none', from: '' },
      {
        domain: 'z',
        servers: `${zoneServer}, ${other}`,
        from: `--server=/z/${zoneServer} (the command line), --server=/z/${other} (the command line)`,
      },
      {
        domain: 'lan',
        servers: 'none: the domain is local',
        from: '--local=/lan/ (the command line)',
      },
    ]);
    const zone = { zone: 'z', serial: null, lastChangeSeconds: null, pinnedAnswers: 0 };
    expect(await rowsOf('Zones')).toMatchObject([
      { server: zoneServer, ...zone },
      { server: other, ...zone },
    ]);
  });

  it('shows the cache by zone, and the questions in flight', async () => {
    const { explain } = own(
      await start(`--server=${upstream.text}`, `--server=/corp.x/${upstream.text}`),
    );
    for (const name of ['a.x', 'none.x', 'a.corp.x', 'b.corp.x', 'c.corp.x']) await explain(name);
    expect(await rowsOf('Cache by zone')).toMatchObject([
      { zone: 'corp.x', entries: 3, records: 6, negative: 0, stale: 0 },
      { zone: '.', entries: 2, records: 3, negative: 1, stale: 0 },
    ]);
    expect(await rowsOf('Cache')).toMatchObject([
      {
        entries: 5,
        records: 9,
        capacity: 150,
        negative: 1,
        misses: 5,
        insertions: 10,
        evictions: 0,
      },
    ]);
    expect(await rowsOf('Questions in flight')).toMatchObject([
      { inFlight: 0, maxInFlight: 1_500, forwarded: 5, failed: 0 },
    ]);
  });

  it('shows each option with where it was given, and the ConfigMap: the active one, and why the last is refused', async () => {
    const conf = join(folder, 'conf');
    writeFileSync(conf, 'cache-size=77\n');
    const config = join(folder, 'config');
    server = await ExplainedServer.startWith(
      { stubDomains: '{"corp.x":["192.0.2.9"]}', folder: config },
      ...[`--conf-file=${conf}`, '--no-hosts', '--bogus-priv'],
    );
    const { status } = server;
    expect(status.settings?.()).toEqual(
      expect.arrayContaining([
        { setting: '--bogus-priv', value: '', from: 'command line' },
        { setting: '--cache-size', value: '77', from: `line 1 of ${conf}` },
      ]),
    );
    expect(status.configuration?.()).toMatchObject({
      source: config,
      refused: undefined,
      settings: [{ setting: 'stubDomains corp.x', value: '192.0.2.9', from: config }],
    });
    writeFileSync(join(config, 'stubDomains'), '{"corp.x":7}');
    await server.configured(() => status.configuration?.()?.refused !== undefined);
    const { refused, settings } = status.configuration!()!;
    expect(refused?.reasons[0]).toContain('stubDomains');
    expect(settings).toHaveLength(1);
  });
});

describe('the ConfigMap on the status page of dnsmasq', () => {
  it('has a problem for a server of a stub domain whose name has no address', async () => {
    const stubDomains =
      '{"acme.x":["none.test"],"both.x":["none.test","192.0.2.9"],"good.x":["ns.test"]}';
    const config = { folder: join(folder, 'config'), stubDomains };
    server = await ExplainedServer.startWith(config, `--server=${upstream.text}`);
    const { status } = server;
    await server.configured(() => status.problems!().length === 2);
    expect(status.problems!()).toEqual([
      'there is no server for names of acme.x: no address is known for none.test',
      'not every server is asked for names of both.x: no address is known for none.test',
    ]);
  });

  it('has a warning for a key that is not known', async () => {
    const config = { folder: join(folder, 'config'), stubDomains: '{}' };
    mkdirSync(config.folder);
    writeFileSync(join(config.folder, 'stubDomain'), '{}');
    server = await ExplainedServer.startWith(config, `--server=${upstream.text}`);
    const { status } = server;
    expect(status.configuration!()!.warnings).toEqual([
      'the key "stubDomain" is not known and has no effect; did you mean stubDomains?',
    ]);
  });
});

/** What the tests call without the server. */
function own(started: ExplainedServer) {
  return { explain: (name: string) => started.explain(name), status: started.status };
}
