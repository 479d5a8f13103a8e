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
const PREFIX = '2001:db8:64::/96';
let upstream: ScriptedNameServer;
let ownPort: number;

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
const lost = cnameRecord('gone.example', 'none.example', 100);

/** No zone of RFC 6303, which BIND has itself. */
const REVERSE = '1.0.18.198.in-addr.arpa';
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
  'refused.example A': a('refused.example', '192.0.2.3'),
  'refused.example AAAA': { rcode: 'REFUSED' },
  'gone.example A': { rcode: 'NXDOMAIN', answers: [lost], authorities: [SOA] },
  'gone.example AAAA': { rcode: 'NXDOMAIN', answers: [lost], authorities: [SOA] },
  'half.example A': { rcode: 'SERVFAIL' },
  'half.example AAAA': { authorities: [SOA] },
  'mapped.example A': a('mapped.example', '192.0.2.4'),
  [`${REVERSE} PTR`]: {
    answers: [{ name: REVERSE, type: 'PTR', ttl: 100, data: 'v4.example' }],
  },
  'mapped.example AAAA': aaaa('mapped.example', '::ffff:192.0.2.4'),
};

/** The prefix has no reverse zone. */
const NO_REVERSE: Response = { rcode: 'NXDOMAIN', authorities: [soaRecord(30, 'ip6.arpa', 30)] };
const REVERSE_PREFIX = '0.0.0.0.0.0.0.0.0.0.0.0.4.6.0.0.8.b.d.0.1.0.0.2.ip6.arpa';

/** A program that makes AAAA records, too: how it is started with a configuration, and the line that says it answers. */
interface Judge {
  readonly args: readonly string[];
  readonly started: RegExp;
  readonly config: (port: number, folder: string, upstreamPort: number) => readonly string[];
}

const JUDGES = {
  unbound: {
    args: ['-d', '-d', '-c'],
    started: /start of service/,
    config: (port, _folder, upstreamPort) => [
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
      ` forward-addr: 127.0.0.1@${upstreamPort}`,
      'remote-control:',
      ' control-enable: no',
    ],
  },
  named: {
    args: ['-g', '-4', '-n', '1', '-c'],
    started: / running$/m,
    config: (port, folder, upstreamPort) => [
      'options {',
      ` directory "${folder}";`,
      ` listen-on port ${port} { 127.0.0.1; };`,
      ' pid-file none;',
      ' session-keyfile none;',
      ' dnssec-validation no;',
      ` forwarders port ${upstreamPort} { 127.0.0.1; };`,
      ' forward only;',
      ` dns64 ${PREFIX} { exclude { ::ffff:0:0/96; }; };`,
      '};',
      'controls { };',
    ],
  },
} as const satisfies Readonly<Record<string, Judge>>;
type JudgeName = keyof typeof JUDGES;
const NAMES = Object.keys(JUDGES) as JudgeName[];
const ports = new Map<JudgeName, number>();

beforeAll(async () => {
  upstream = owned.add(
    await ScriptedNameServer.start(
      ({ name, type }) =>
        ZONE[`${name.toLowerCase()} ${type}`] ??
        (name.endsWith('ip6.arpa')
          ? NO_REVERSE
          : { authorities: [name === REVERSE ? soaRecord(30, '18.198.in-addr.arpa', 30) : SOA] }),
    ),
  );
  const own = await serve(['--no-resolv', `--dns64=${PREFIX}`, `--server=${upstream.text}`]);
  owned.add(own.process);
  ownPort = own.port;
  for (const name of NAMES) if (needsPrograms(name) === undefined) await start(name);
});
afterAll(() => owned.close());

async function start(name: JudgeName): Promise<void> {
  const { args, started, config }: Judge = JUDGES[name];
  const port = await freePort();
  const folder = owned.add(new TemporaryFolder());
  const lines = config(port, folder.path, upstream.port);
  const file = folder.file(`${name}.conf`, `${lines.join('\n')}\n`);
  const server = owned.add(new RunningProgram(name, name, [...args, file], { isForeign: true }));
  await server.waitForLine(started, { limitMs: 30_000 });
  ports.set(name, port);
}

const PASSED_ON = 'it passes on the error, which RFC 6147 section 5.1.2 takes as an empty answer';

/** The names, and where a judge differs: why RFC 6147 is on our side. */
const TABLE: readonly {
  readonly name: string;
  readonly differs?: Partial<Record<JudgeName, string>>;
}[] = [
  { name: 'v4' },
  { name: 'v6' },
  { name: 'link' },
  { name: 'none' },
  { name: 'empty' },
  {
    name: 'broken',
    differs: { named: PASSED_ON },
  },
  {
    name: 'refused',
    differs: { named: PASSED_ON },
  },
  { name: 'gone' },
  {
    name: 'half',
    differs: { unbound: 'it hides the error of A, which RFC 6147 section 5.1.6 passes on' },
  },
  { name: 'mapped' },
];
const rows = NAMES.flatMap((judge) =>
  TABLE.map(({ name, differs }) => ({ judge, name: `${name}.example`, reason: differs?.[judge] })),
);

for (const { judge, name, reason } of rows) {
  const verb = reason === undefined ? 'is what' : 'is not what';
  const why = reason === undefined ? '' : `: ${reason}`;
  unless(needsPrograms(judge), it)(
    `AAAA of ${name} ${verb} ${judge} makes of it${why}`,
    async () => {
      const [own, others] = await Promise.all(
        [ownPort, ports.get(judge)!].map(async (port) => {
          const { rcode, texts } = await ask(port, { name, type: 'AAAA' });
          return { rcode, texts: [...texts].sort() };
        }),
      );
      if (reason === undefined) expect(own).toEqual(others);
      else expect(own).not.toEqual(others);
    },
  );
}

for (const labels of ['', '0.', '2.0.0.0.0.c.']) {
  unless(needsPrograms('named'), it)(
    `the name ${labels}${REVERSE_PREFIX}, with names of addresses below it, exists as in BIND, and beside it there is none`,
    async () => {
      const all = await Promise.all(
        [ownPort, ports.get('named')!].map(async (port) => {
          const rcodeOf = async (name: string) => (await ask(port, { name, type: 'PTR' })).rcode;
          return [
            await rcodeOf(`${labels}${REVERSE_PREFIX}`),
            await rcodeOf(`${labels}1.${REVERSE_PREFIX.slice(2)}`),
          ];
        }),
      );
      expect(all).toEqual([
        ['NOERROR', 'NXDOMAIN'],
        ['NOERROR', 'NXDOMAIN'],
      ]);
    },
  );
}

for (const type of ['PTR', 'CNAME', 'ANY', 'TXT', 'A', 'AAAA', 'NS', 'SOA', 'DS'] as const) {
  unless(needsPrograms('named'), it)(
    `${type} of the name of an address below the prefix is the CNAME that BIND has, and what that leads to`,
    async () => {
      const name = `1.0.0.0.2.1.6.c.${REVERSE_PREFIX}`;
      const [own, others] = await Promise.all(
        [ownPort, ports.get('named')!].map(async (port) => {
          const { rcode, texts } = await ask(port, { name, type });
          return { rcode, texts };
        }),
      );
      expect(own).toEqual(others);
      expect(own!.texts).toContain(`CNAME ${REVERSE}`);
    },
  );
}
