import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import {
  ask,
  encodeQuery,
  endPrograms,
  heldReply,
  type Question,
  type Script,
  ScriptedNameServer,
  unless,
  until,
} from '@kube-dns/testkit';
import { respond } from './oracle-zone.js';
import { serve, type Serving } from './processes.js';
import { describeBesideReal, needsSourceDevice, serveReal } from './real-dnsmasq.js';

const itFromDevice = unless(needsSourceDevice(), it);

// Without the real dnsmasq there is nothing to compare with; Debian has it in dnsmasq-base.

const FD00_5 = `5.${'0.'.repeat(29)}d.f.ip6.arpa`;

const zone = (label: string, type = 'A'): Question => ({ name: `${label}.cluster.local`, type });
const twice = (question: Question): Question[] => [question, question];

/** Asked of both, in this order; the lines of the log must be the same. */
const SAME: Readonly<Record<string, readonly Question[]>> = {
  'an address, forwarded and cached': twice(zone('one')),
  'a set': twice(zone('set')),
  'CNAMEs and their end': twice(zone('alias')),
  'a CNAME without its end': [zone('lone')],
  'a CNAME to a name that does not exist': [zone('dangling')],
  'records that were not asked for': [zone('planted')],
  'records of another type': [zone('text'), { name: '2.1.1.11.in-addr.arpa', type: 'PTR' }],
  'an IPv6 address': twice(zone('six', 'AAAA')),
  'SRV and TXT': [...twice(zone('service', 'SRV')), zone('text', 'TXT')],
  ANY: [zone('one', 'ANY')],
  NODATA: [...twice(zone('empty')), ...twice(zone('empty', 'AAAA')), zone('empty', 'MX')],
  NXDOMAIN: [...twice(zone('missing')), zone('missing', 'MX'), zone('bare')],
  'NOTIMP from upstream': [zone('strange')],
  'a reverse name': twice({ name: '1.2.3.4.in-addr.arpa', type: 'PTR' }),
  'hosts files': [
    ...[{ name: 'host.x' }, { name: 'HOST.x' }, { name: 'host.x', type: 'AAAA' }],
    ...[
      { name: 'host.x', type: 'ANY' },
      { name: '1.1.1.10.in-addr.arpa', type: 'PTR' },
    ],
    { name: FD00_5, type: 'PTR' },
  ],
  'static records': [
    ...[{ name: 'rec.x' }, { name: 'al.x' }, { name: 'al.x', type: 'CNAME' }],
    ...[
      { name: 'txt.x', type: 'TXT' },
      { name: '_s._tcp.x', type: 'SRV' },
    ],
    ...[
      { name: 'mx.x', type: 'MX' },
      { name: '2.2.2.10.in-addr.arpa', type: 'PTR' },
    ],
    { name: '9.9.9.9.in-addr.arpa', type: 'PTR' },
  ],
  'addresses of domains': [
    { name: 'a.addr.x' },
    { name: 'zero.x' },
    { name: 'zero.x', type: 'AAAA' },
  ],
  'local domains': [{ name: 'a.loc.x' }, { name: 'a.loc.x', type: 'TXT' }],
  'private reverse names': [{ name: '9.1.168.192.in-addr.arpa', type: 'PTR' }],
  statistics: [{ name: 'version.bind', type: 'TXT', class: 'CH' }],
  'no server': [{ name: 'nowhere.test' }, { name: '.', type: 'NS' }],
  'every server that is asked': ['n1', 'n2', 'n1'].map((label) => ({
    name: `${label}.two.test`,
  })),
};

interface Difference {
  readonly questions: readonly Question[];
  /** The last lines of each, of which the README's table has the reason. */
  readonly real: readonly string[];
  readonly ours: readonly string[];
}

const DIFFERENT: Readonly<Record<string, Difference>> = {
  'what is cached of a CNAME to a name that does not exist': {
    questions: [zone('dangling')],
    real: ['cached gone.cluster.local is NODATA-IPv4'],
    ours: ['cached gone.cluster.local is NXDOMAIN'],
  },
  'the target of a CNAME of the command line': {
    questions: [{ name: 'al2.x' }],
    real: ['config al2.x is <CNAME>', 'cached one.cluster.local is 10.0.0.1'],
    ours: ['query[A] al2.x from 127.0.0.1', 'config al2.x is <CNAME>'],
  },
};

let folder: string;
let upstreams: ScriptedNameServer[];
let servings: readonly [real: Serving, ours: Serving];
let asked = 0;

const waiting = heldReply('10.0.0.9');
const script: Script = (request) =>
  request.name === 'held.two.test' ? waiting.script(request) : respond(request);

/** The lines of a log without their prefixes. */
function linesOf({ process }: Serving): string[] {
  const lines = process.stderr.matchAll(
    /^(?:dnsmasq\[\d+\]: |[IWE]\d{4} .*? dnsmasq\] )(.*?) *$/gm,
  );
  return [...lines].map((match) => match[1]!);
}

/** Which of two servers answers first, and is then queried next, depends on the machine. */
function withoutChoice(line: string): string {
  return line.replace(/^(forwarded (?:n2|held)\.two\.test to 127\.0\.0\.1)#\d+$/, '$1');
}

/** What both log about these questions, one after the other: a separate question marks the end. */
async function logged(
  act: (serving: Serving) => Promise<unknown>,
): Promise<[real: string[], ours: string[]]> {
  const end = `end-${asked++}.loc.x`;
  const all: string[][] = [];
  for (const serving of servings) {
    const { length } = linesOf(serving);
    await act(serving);
    await ask(serving.port, end);
    await until(() => linesOf(serving).includes(`config ${end} is NXDOMAIN`));
    const own = linesOf(serving).slice(length);
    all.push(own.filter((line) => !line.includes(end)).map(withoutChoice));
  }
  const [real = [], ours = []] = all;
  return [real, ours];
}

async function askAll({ port }: Serving, questions: readonly Question[]): Promise<void> {
  for (const question of questions) await ask(port, question);
}

describeBesideReal('the log of queries, beside the real dnsmasq', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'dnsmasq-log-'));
    const hosts = join(folder, 'hosts');
    writeFileSync(hosts, '10.1.1.1 host.x second.x\nfd00::5 host.x\n');
    upstreams = await Promise.all([1, 2].map(() => ScriptedNameServer.start(script)));
    const [first, second] = upstreams.map(({ text }) => text);
    const options = [
      ...['-k', '--no-resolv', '--log-queries', '--log-facility=-', '--bogus-priv'],
      ...[`--server=/cluster.local/in-addr.arpa/${first}`, `--addn-hosts=${hosts}`],
      ...[`--server=/two.test/${first}`, `--server=/two.test/${second}`],
      ...['--local=/loc.x/', '--address=/addr.x/1.2.3.4', '--address=/zero.x/#'],
      ...['--host-record=rec.x,10.2.2.2', '--cname=al.x,rec.x', '--cname=al2.x,one.cluster.local'],
      ...['--txt-record=txt.x,hello', '--srv-host=_s._tcp.x,rec.x,80', '--mx-host=mx.x,rec.x'],
      '--ptr-record=9.9.9.9.in-addr.arpa,ptr.x',
    ];
    const own = ['--no-hosts', '--no-subscribe'];
    servings = [await serveReal(options), await serve([...own, ...options])];
  });

  afterAll(async () => {
    await endPrograms();
    await Promise.all(upstreams.map((upstream) => upstream.close()));
    rmSync(folder, { recursive: true });
  });

  it.each(Object.entries(SAME))('has the same lines: %s', async (_what, questions) => {
    const [real, ours] = await logged((serving) => askAll(serving, questions));
    expect(real.length).toBeGreaterThan(questions.length);
    expect(ours).toEqual(real);
  });

  it.each(Object.entries(DIFFERENT))('differs: %s', async (_what, { questions, real, ours }) => {
    const [theirs, own] = await logged((serving) => askAll(serving, questions));
    expect(theirs.slice(-real.length)).toEqual(real);
    expect(own.slice(-ours.length)).toEqual(ours);
  });

  it('has the same static records and hosts in the dump of SIGUSR1', async () => {
    const rows: string[][] = [];
    for (const serving of servings) {
      const { process } = serving;
      process.signal('SIGUSR1');
      await process.waitForLine(/^.*\bal2\.x .* CF I/m);
      await process.waitForLine(/^.*\brec\.x .*config/m);
      await process.waitForLine(/^.*\bsecond\.x .* H +\//m);
      await process.waitForLine(/^.*\bhost\.x .*fd00::5 .* H +\//m);
      await process.waitForLine(/^.*\bhost\.x .*10\.1\.1\.1 .* H +\//m);
      rows.push(
        linesOf(serving)
          .filter((line) => /^(?:al|rec|host\.|second)\S* +\S+ +[46C]F[ R]I/.test(line))
          // The real one cuts the path of the file after 40 characters.
          .map((line) => line.replace(/ (\/.{39}).*$/, ' $1')),
      );
    }
    const [real = [], ours = []] = rows;
    expect(ours.toSorted()).toEqual(real.toSorted());
    expect(ours).toHaveLength(6);
  });

  it('has the same lines: a query that joins one in flight', async () => {
    const [real, ours] = await logged(async ({ port }) => {
      const clients = [createSocket('udp4'), createSocket('udp4')];
      const answers = clients.map((client) => once(client, 'message'));
      const askedOf = () => upstreams.reduce((sum, upstream) => sum + upstream.requests.length, 0);
      const before = askedOf();
      for (const [at, client] of clients.entries()) {
        client.send(encodeQuery({ name: 'held.two.test', id: at }), port, '127.0.0.1');
        await until(() => askedOf() > before);
      }
      // Both have been read when a third, later query is answered.
      await ask(port, 'order.loc.x');
      waiting.release();
      await Promise.all(answers);
      for (const client of clients) client.close();
    });
    expect(ours).toEqual(real);
  });
});

describeBesideReal('the first lines of the log', () => {
  const resolvFile = join(mkdtempSync(join(tmpdir(), 'dnsmasq-resolv-')), 'resolv.conf');

  afterEach(() => endPrograms());
  afterAll(() => rmSync(join(resolvFile, '..'), { recursive: true }));

  async function expectSame(options: readonly string[], last: string): Promise<void> {
    const lines = ['nameserver 192.0.2.1', ' server\t192.0.2.2 x', 'server=192.0.2.3'];
    writeFileSync(resolvFile, [...lines, 'SERVER 192.0.2.4', 'server 192.0.2.5'].join('\n'));
    const all = ['-k', '--log-facility=-', ...options];
    const both = [await serveReal(all), await serve(['--no-hosts', ...all])];
    for (const { process } of both) await process.waitForLine(last);
    const [real, ours] = both.map((serving) =>
      linesOf(serving).filter((line) => /^(?:started|cache|warning|reading|using)/.test(line)),
    );
    expect(ours).toEqual(real);
  }

  it.each([
    [['--no-resolv'], 'warning: no upstream servers configured'],
    [['--no-resolv', '--cache-size=0'], 'warning: no upstream servers configured'],
    [['--no-resolv', '--cache-size=10001'], 'warning: no upstream servers configured'],
    [['--no-resolv', `--resolv-file=${resolvFile}`, '--server=192.0.2.1'], '192.0.2.1#53'],
    [[`--resolv-file=${resolvFile}`], '192.0.2.5#53'],
  ])('are the same: %j', expectSame);

  itFromDevice.each([
    [['--no-resolv', '--server=192.0.2.2@lo', '--server=/a.x/192.0.2.1@lo'], 'for domain a.x'],
    [['--no-resolv', '--server=192.0.2.2@127.0.0.1', '--server=192.0.2.3@lo'], '192.0.2.3#53'],
  ])('are the same with the device of a server: %j', expectSame);
});

describeBesideReal('a source of queries that this machine does not have', () => {
  afterEach(() => endPrograms());

  async function expectRefused(source: string, line: string): Promise<void> {
    const server = `--server=127.0.0.1@${source}`;
    const options = ['-k', '--no-resolv', '--log-queries', '--log-facility=-', server];
    for (const { process, port } of [await serveReal(options), await serve(options)]) {
      expect((await ask(port, 'a.example')).rcode).toBe('REFUSED');
      await process.waitForLine(line);
      await process.waitForLine('config error is REFUSED (EDE: network error)');
    }
  }

  it('is logged, and the question refused, by both: an address', () =>
    expectRefused(
      '192.0.2.77',
      'failed to bind server socket to 192.0.2.77: Cannot assign requested address',
    ));

  itFromDevice('is logged, and the question refused, by both: a device', () =>
    expectRefused('nope', 'failed to bind server socket to nope: No such device'),
  );
});

describeBesideReal('the log of a servers file', () => {
  const LINES = [
    ...['server=/a.x/1.2.3.4#53 # here', 'port=5', 'frob=1', 'server', 'server=1.2.3.4#x'],
    ...['no-resolv', 'no-resolv=1', 'local=/l.x/', 'address=/x/1.2.3.4', 'server="', 'port'],
    ...['rev-server=10.0.0.0/99,1.1.1.1', 'rev-server=frob', 'dhcp-range=1', '  # blank', ''],
    ...['conf-file=/x', 'rev-server=10.0.0.0/8,1.2.3.5', 'server = "/q.x/1.2.3.6#54"'],
  ];

  it('is the same, and the same servers are active', async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'dnsmasq-servers-')), 'servers');
    writeFileSync(path, LINES.join('\n'));
    try {
      const options = ['-k', '--no-resolv', '--log-facility=-', `--servers-file=${path}`];
      const both = [await serveReal(options), await serve(['--no-hosts', ...options])];
      const last = 'using nameserver 1.2.3.6#54 for domain q.x';
      for (const serving of both) await serving.process.waitForLine(last);
      const [real, ours] = both.map((serving) => {
        const lines = linesOf(serving).filter((line) => /at line|using/.test(line));
        // Here the reason follows dnsmasq's words; dnsmasq lists the servers twice at its start.
        return [...new Set(lines.map((line) => line.replace(/ \(.*/, '')))];
      });
      expect(real).toHaveLength(17);
      expect(ours).toEqual(real);
    } finally {
      await endPrograms();
      rmSync(join(path, '..'), { recursive: true });
    }
  });
});
