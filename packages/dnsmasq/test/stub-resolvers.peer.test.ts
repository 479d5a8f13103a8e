import { writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  endPrograms,
  needsNamespaces,
  needsPrograms,
  outputOf,
  ScriptedNameServer,
  TemporaryFolder,
  unless,
} from '@kube-dns/testkit';
import { RCODE } from '@kube-dns/wire';
import { PROGRAM, serve } from './processes.js';

const MANY = Array.from({ length: 100 }, (_, i) => `10.1.0.${i}`);
/** An upstream server's own cookie, for any client's (RFC 7873 section 4). */
const UPSTREAM_COOKIE = `10 ${'c0'.repeat(24)}`;

let upstream: ScriptedNameServer;
let folder: TemporaryFolder;

beforeAll(async () => {
  folder = new TemporaryFolder();
  upstream = await ScriptedNameServer.start(({ name, protocol }) => {
    if (name.startsWith('no')) return { rcode: RCODE.NXDOMAIN };
    const isTruncated = name.startsWith('many') && protocol === 'udp';
    const addresses = name.startsWith('many') ? MANY : ['10.0.0.1'];
    const answers = isTruncated ? [] : addressRecords(60, ...addresses);
    return { answers, isTruncated, options: [UPSTREAM_COOKIE] };
  });
});
afterEach(() => endPrograms());
afterAll(async () => {
  await upstream.close();
  await folder.close();
});

const itWithDig = unless(needsPrograms('dig'), it);

itWithDig(
  'a client is known by its cookie to each replica that shares the secret, which is read again on SIGHUP',
  async () => {
    const path = folder.file('secrets', `${'ab'.repeat(16)}\n`);
    const line = [`--server=${upstream.text}`, `--cookie-secret-file=${path}`];
    const [one, other] = await Promise.all([serve(['-R', ...line]), serve(['-R', ...line])]);
    const cookieFrom = async ({ port }: typeof one, cookie: string) => {
      const words = ['-p', String(port), `+cookie=${cookie}`, '+noall', '+comments', 'web.example'];
      const text = await outputOf('dig', ['@127.0.0.1', ...words]);
      return /COOKIE: ([0-9a-f]+) \(good\)/.exec(text)?.[1];
    };
    const cookie = await cookieFrom(one, '0102030405060708');
    expect(await cookieFrom(other, cookie!)).toBe(cookie);
    writeFileSync(path, `${'cd'.repeat(16)}\n${'ab'.repeat(16)}\n`);
    other.process.signal('SIGHUP');
    await other.process.waitForLine(/the cookie secrets of .* changed/);
    const next = await cookieFrom(other, cookie!);
    expect(next).not.toBe(cookie);
    // The last secret is still taken; the one behind it is not known yet.
    expect(await cookieFrom(one, next!)).not.toBe(next);
  },
);

itWithDig('dig finds a good cookie in every kind of answer', async () => {
  const options = ['-R', '-h', `--server=${upstream.text}`, '--address=/own.example/10.0.0.9'];
  const { port } = await serve(options);
  const asked: readonly (readonly [words: string, status: string])[] = [
    ['a.example', 'NOERROR'],
    ['a.example', 'NOERROR'],
    ['own.example', 'NOERROR'],
    ['no.example', 'NXDOMAIN'],
    ['+ignore many.example', 'NOERROR'],
    ['+tcp many.example', 'NOERROR'],
    ['+norecurse -c CH -t TXT none.bind', 'NOTIMP'],
    ['+edns=1 +noednsnegotiation a.example', 'BADVERS'],
  ];
  for (const [words, status] of asked) {
    const text = await outputOf('dig', ['@127.0.0.1', '-p', String(port), ...words.split(' ')]);
    expect(text).toContain(`status: ${status},`);
    expect(text).toMatch(/; COOKIE: [0-9a-f]{48} \(good\)/);
  }
});

const noGlibc = needsPrograms('unshare', 'getent', 'ip', 'mount') ?? needsNamespaces();
unless(noGlibc, describe)('glibc', () => {
  it.each(['', 'options edns0 trust-ad', 'options single-request', 'options use-vc'])(
    'finds addresses with %j',
    async (options) => {
      const resolvConf = folder.file('resolv.conf', `nameserver 127.0.0.1\n${options}\n`);
      const hosts = folder.file('hosts', '');
      const nsswitch = folder.file('nsswitch.conf', 'hosts: dns\n');
      // Empty: the line of an earlier server is not this one's.
      const log = folder.file('log', '');
      const script = [
        'set -e',
        'ip link set lo up',
        `mount --bind ${resolvConf} /etc/resolv.conf`,
        `mount --bind ${hosts} /etc/hosts`,
        `mount --bind ${nsswitch} /etc/nsswitch.conf`,
        `"$0" "$1" -- --port=53 -R -h --address=/web.example/10.0.0.9 --address=/web.example/fd00::9 2>${log} &`,
        `until grep -q "serving on port" ${log}; do sleep 0.05; done`,
        'getent ahosts web.example',
        'kill $!',
      ].join('\n');
      const argv = ['-rmn', '--', 'sh', '-c', script, process.execPath, PROGRAM];
      const text = await outputOf('unshare', argv);
      expect(text).toMatch(/^10\.0\.0\.9 +STREAM/m);
      expect(text).toMatch(/^fd00::9 +STREAM/m);
    },
  );
});
