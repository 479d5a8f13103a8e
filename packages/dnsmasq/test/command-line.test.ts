import { createSocket } from 'node:dgram';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  ask,
  decodeMessage,
  encodeQuery,
  endPrograms,
  exchange,
  freePort,
  needsIpv6,
  ScriptedNameServer,
  unless,
  until,
} from '@kube-dns/testkit';
import { messagesOf, runDnsmasq, serve } from './processes.js';

const itWithIpv6 = unless(needsIpv6(), it);

afterEach(() => endPrograms());

describe('the stock manifest’s command line', () => {
  let upstream: ScriptedNameServer;

  async function serveStock() {
    upstream = await ScriptedNameServer.start(() => ({ answers: addressRecords(30, '10.0.0.1') }));
    const run = runDnsmasq(
      ...['-v=2', '-logtostderr', '-configDir=/nonexistent', '-restartDnsmasq=true', '--'],
      ...['-k', '--cache-size=1000', '--no-negcache', '--dns-loop-detect', '--log-facility=-'],
      ...['cluster.local', 'in-addr.arpa', 'ip6.arpa'].map(
        (domain) => `--server=/${domain}/${upstream.text}`,
      ),
      ...['--no-resolv', '--port=0'],
    );
    await run.waitForLine('serving on port');
    return { run, port: Number(/serving on port (\d+)/.exec(run.stderr)![1]) };
  }

  afterEach(() => upstream.close());

  it('starts, and answers for its domains', async () => {
    const { run, port } = await serveStock();
    const name = 'kubernetes.default.svc.cluster.local';
    expect((await ask(port, name)).texts).toEqual(['A 10.0.0.1']);
    expect((await ask(port, 'example.com')).rcode).toBe('REFUSED');
    expect(upstream.names).toEqual([name]);
    expect(messagesOf(run)).toContain(`using nameserver ${upstream.text} for domain cluster.local`);
    expect(messagesOf(run)).toContain('started, version 2.90 cachesize 1000');
  });

  itWithIpv6('serves both families on every address', async () => {
    const { port } = await serveStock();
    const query = encodeQuery({ name: 'x.cluster.local' });
    const answers = await Promise.all(
      ['127.0.0.1', '::1'].map((address) => exchange(port, query, { address })),
    );
    expect(answers.map((answer) => decodeMessage(answer).texts)).toEqual([
      ['A 10.0.0.1'],
      ['A 10.0.0.1'],
    ]);
  });
});

describe('a command line without --', () => {
  it('may be dnsmasq’s own, as before the nanny', async () => {
    const run = runDnsmasq('--no-resolv', '--port=0', '--listen-address=127.0.0.1', '-k');
    await run.waitForLine('serving on port');
    expect(messagesOf(run)).toContain('warning: no upstream servers configured');
  });
});

describe('a command line that cannot be obeyed', () => {
  it.each([
    [
      ['--', '--cache-szie=5'],
      'try --help (unknown option --cache-szie; did you mean --cache-size?)',
    ],
    [['-k', '--frobnicate'], 'try --help (unknown option --frobnicate)'],
  ])('ends with 1 and one line for dnsmasq’s half: %j', async (argv, reason) => {
    const run = runDnsmasq(...argv);
    expect(await run.ended).toBe(1);
    expect(run.stderr).toBe(`dnsmasq: bad command line options: ${reason}\n`);
  });

  it('ends with 3 for a configuration file that is not there', async () => {
    const run = runDnsmasq('--', '-C', '/nonexistent');
    expect(await run.ended).toBe(3);
    expect(run.stderr).toBe('dnsmasq: cannot read /nonexistent: No such file or directory\n');
  });

  it('ends with 2 and one line for the nanny’s half', async () => {
    const run = runDnsmasq('--syncIntreval=1s', '--', '-k');
    expect(await run.ended).toBe(2);
    expect(run.stderr).toBe('dnsmasq: unknown flag --syncIntreval; did you mean --syncInterval?\n');
  });

  it('does the same where there is no --', async () => {
    const run = runDnsmasq('-metric-addr=:1');
    expect(await run.ended).toBe(2);
    expect(run.stderr).toBe('dnsmasq: unknown flag -metric-addr; did you mean --metrics-addr?\n');
  });

  it('says so in JSON where the line asks for it', async () => {
    const run = runDnsmasq('--syncIntreval=1s', '--logging-format=json', '--', '-k');
    expect(await run.ended).toBe(2);
    expect(JSON.parse(run.stderr)).toMatchObject({
      msg: 'unknown flag --syncIntreval; did you mean --syncInterval?',
    });
  });
});

describe('--log-facility with a file', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'dnsmasq-log-'));
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  it('has the log to its end, and continues in a new file after SIGUSR2', async () => {
    const path = join(folder, 'log');
    const run = runDnsmasq('--', '-R', '-p0', '-a', '127.0.0.1', `--log-facility=${path}`);
    await until(() => existsSync(path) && readFileSync(path, 'utf8').includes('serving on port'));
    renameSync(path, `${path}.1`);
    run.signal('SIGUSR2');
    await until(() => existsSync(path));
    run.signal('SIGTERM');
    expect(await run.ended).toBe(0);
    expect(readFileSync(path, 'utf8')).toContain('SIGTERM, closing');
    expect(run.stderr).toBe('');
  });

  it('is not needed for SIGUSR2 to do no harm', async () => {
    const { process, port } = await serve(['-R']);
    process.signal('SIGUSR2');
    process.signal('SIGHUP');
    await process.waitForLine('cleared cache');
    expect((await ask(port, 'x.example')).rcode).toBe('REFUSED');
  });
});

describe('--bind-dynamic', () => {
  it('waits for an address that is not there, and serves the others', async () => {
    const { process, port } = await serve(['-R', '--bind-dynamic', '--listen-address=192.0.2.250']);
    expect((await ask(port, 'x.example')).rcode).toBe('REFUSED');
    expect(process.stderr).toContain('cannot listen on 192.0.2.250');
    process.signal('SIGTERM');
    expect(await process.ended).toBe(0);
  });
});

describe('a port that is in use', () => {
  const argv = (port: number) => ['--', '-R', `--port=${port}`, '--listen-address=127.0.0.1'];

  it('over UDP ends it with 2 and names address, port and reason', async () => {
    const taken = createSocket('udp4');
    taken.bind(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address();
    const run = runDnsmasq(...argv(port));
    expect(await run.ended).toBe(2);
    expect(run.stderr.trimEnd().split('\n').at(-1)).toBe(
      `dnsmasq: cannot listen on 127.0.0.1:${port} over UDP: address already in use`,
    );
    taken.close();
  });

  it('over TCP ends it with 2 and names address, port and reason', async () => {
    const taken = createServer();
    // Free for UDP, too.
    const port = await freePort();
    taken.listen(port, '127.0.0.1');
    await once(taken, 'listening');
    const run = runDnsmasq(...argv(port));
    expect(await run.ended).toBe(2);
    expect(run.stderr.trimEnd().split('\n').at(-1)).toBe(
      `dnsmasq: cannot listen on 127.0.0.1:${port} over TCP: address already in use`,
    );
    taken.close();
  });

  it('ends it although another address could be served', async () => {
    const { process, port } = await serve(['--no-resolv']);
    const second = runDnsmasq('--', '-R', `--port=${port}`, '--listen-address=127.0.0.2,127.0.0.1');
    expect(await second.ended).toBe(2);
    process.signal('SIGTERM');
    expect(await process.ended).toBe(0);
  });
});

describe('asking without serving', () => {
  it('--test checks the options, and the files that a start would end with', async () => {
    const lines: readonly (readonly [line: string, code: number])[] = [
      ['--cache-size=5', 0],
      ['--dns64=::/96', 1],
      ['--tls-ca=/nonexistent/file', 3],
      ['--cookie-secret-file=/dev/null', 3],
      ['--notify-key=/nonexistent/file', 3],
    ];
    const runs = lines.map(([line]) => runDnsmasq('--', '--test', line));
    const codes = await Promise.all(runs.map(({ ended }) => ended));
    expect(codes).toEqual(lines.map(([, code]) => code));
    expect(runs[0]!.stderr).toBe('dnsmasq: syntax check OK.\n');
    expect(runs[1]!.stderr).toContain('addresses of ::/96, which no NAT64 can have');
    for (const [i, { stderr }] of runs.entries()) {
      if (i > 0) expect(stderr).not.toContain('OK');
      if (codes[i] === 3) expect(stderr).toContain(lines[i]![0].split('=')[1]);
    }
  });

  it('--help lists the flags of both halves, or those of dnsmasq, and --version prints the version', async () => {
    const runs = [['--help'], ['--', '--help'], ['--', '-v', '--nonsense'], ['--version']].map(
      (argv) => runDnsmasq(...argv),
    );
    expect(await Promise.all(runs.map(({ ended }) => ended))).toEqual([0, 0, 0, 0]);
    const [both, own, ownVersion, version] = runs.map(({ stdout }) => stdout);
    expect(both).toMatch(/^Usage: dnsmasq \[flags\] \[-- options of dnsmasq\]\n/);
    expect(both).toContain('--configDir');
    expect(both).toMatch(/-c, --cache-size/);
    expect(own).toMatch(/^Usage: dnsmasq .*-S, --server=<value>/s);
    expect(ownVersion).toMatch(/^Kube-DNS /);
    expect(version).toMatch(/^Kube-DNS \d+\.\d+\.\d+\n$/);
  });
});
