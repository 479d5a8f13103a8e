import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  ask,
  cnameRecord,
  freePort,
  needsPrograms,
  Owned,
  type Response,
  RunningProgram,
  ScriptedNameServer,
  soaRecord,
  TemporaryFolder,
  unless,
} from '@kube-dns/testkit';
import { serve } from './processes.js';

const owned = new Owned();
const why = needsPrograms('unbound');
const PREFIX = '2001:db8:64::/96';
let ports: { unbound: number; own: number };

const SOA = soaRecord(30, 'example', 30);
const a = (name: string, ...addresses: readonly string[]): Response => ({
  isAuthoritative: true,
  answers: addresses.map((data) => ({ name, type: 'A' as const, ttl: 100, data })),
});
const aaaa = (name: string, data: string): Response => ({
  isAuthoritative: true,
  answers: [{ name, type: 'AAAA', ttl: 100, data }],
});
const link = cnameRecord('link.example', 'v4.example', 100);

/** The zone of both; a name and type that is not here has no records. */
const ZONE: Readonly<Record<string, Response>> = {
  'v4.example A': a('v4.example', '192.0.2.1', '192.0.2.2'),
  'v6.example A': a('v6.example', '192.0.2.1'),
  'v6.example AAAA': aaaa('v6.example', '2001:db8::1'),
  'link.example A': { answers: [link, ...a('v4.example', '192.0.2.1', '192.0.2.2').answers!] },
  'link.example AAAA': { answers: [link], authorities: [SOA] },
  'none.example A': { rcode: 'NXDOMAIN', authorities: [SOA] },
  'none.example AAAA': { rcode: 'NXDOMAIN', authorities: [SOA] },
  'broken.example A': a('broken.example', '192.0.2.3'),
  'broken.example AAAA': { rcode: 'SERVFAIL' },
  'mapped.example A': a('mapped.example', '192.0.2.4'),
  'mapped.example AAAA': aaaa('mapped.example', '::ffff:192.0.2.4'),
};

beforeAll(async () => {
  if (why !== undefined) return;
  const upstream = owned.add(
    await ScriptedNameServer.start(
      ({ name, type }) => ZONE[`${name.toLowerCase()} ${type}`] ?? { authorities: [SOA] },
    ),
  );
  const port = await freePort();
  const folder = owned.add(new TemporaryFolder());
  const config = folder.file(
    'unbound.conf',
    [
      'server:',
      ` interface: 127.0.0.1@${port}`,
      ' do-daemonize: no',
      ' username: ""',
      ' chroot: ""',
      ' pidfile: ""',
      ' use-syslog: no',
      ' do-not-query-localhost: no',
      ' module-config: "dns64 iterator"',
      ` dns64-prefix: ${PREFIX}`,
      ' dns64-ignore-aaaa: "mapped.example"',
      'forward-zone:',
      ' name: "."',
      ` forward-addr: 127.0.0.1@${upstream.port}`,
      'remote-control:',
      ' control-enable: no',
      '',
    ].join('\n'),
  );
  const server = owned.add(
    new RunningProgram('unbound', 'unbound', ['-d', '-d', '-c', config], { isForeign: true }),
  );
  await server.waitForLine(/start of service/, { limitMs: 30_000 });
  const own = await serve(['--no-resolv', `--dns64=${PREFIX}`, `--server=${upstream.text}`]);
  owned.add(own.process);
  ports = { unbound: port, own: own.port };
});
afterAll(() => owned.close());

unless(why, it).each(
  ['v4', 'v6', 'link', 'none', 'empty', 'broken', 'mapped'].map((name) => `${name}.example`),
)('AAAA of %s is what Unbound makes of it', async (name) => {
  const [own, unbound] = await Promise.all(
    [ports.own, ports.unbound].map(async (port) => {
      const { rcode, texts } = await ask(port, { name, type: 'AAAA' });
      return { rcode, texts: [...texts].sort() };
    }),
  );
  expect(own).toEqual(unbound);
});
