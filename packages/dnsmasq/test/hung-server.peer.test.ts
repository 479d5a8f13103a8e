import { afterEach, expect, it } from '@jest/globals';
import {
  endPrograms,
  needsNamespaces,
  needsPrograms,
  NetworkNamespace,
  ownedBy,
  parseDnsperf,
  startBundle,
  TemporaryFolder,
  unless,
} from '@kube-dns/testkit';

const opened = ownedBy(afterEach);
afterEach(() => endPrograms());

const SERVICE = '10.96.0.10';
const BACKENDS = ['10.1.0.2', '10.1.0.3'] as const;
const ASKED = '127.0.0.1';
/** What kube-proxy makes of a Service: conntrack leads each port of a client to the backend of its first datagram. */
const RULES = `table ip nat {
  chain output {
    type nat hook output priority -100;
    ip daddr ${SERVICE} udp dport 53 dnat ip to numgen random mod 2 map { 0 : ${BACKENDS[0]}, 1 : ${BACKENDS[1]} }
  }
}`;
const QUESTIONS = 200;

const needed = needsNamespaces() ?? needsPrograms('nsenter', 'ip', 'nft', 'dnsperf');
unless(needed, it)(
  'one of two servers behind a Service hangs: no question fails, and each waits a second at most once',
  async () => {
    const folder = opened(new TemporaryFolder());
    const namespace = opened(await NetworkNamespace.create());
    const through = namespace.entrance;
    const start = async (address: string, ...args: string[]) => {
      const options = ['-R', '-h', '--port=53', `--listen-address=${address}`, '--cache-size=0'];
      const program = startBundle('dnsmasq', ['--', ...options, ...args], { through });
      await program.waitForLine(/serving on port 53/);
      return program;
    };
    await namespace.run('ip', 'link', 'set', 'lo', 'up');
    for (const address of BACKENDS) {
      await namespace.run('ip', 'address', 'add', `${address}/32`, 'dev', 'lo');
    }
    await namespace.run('ip', 'route', 'add', '10.96.0.0/16', 'dev', 'lo');
    await namespace.run('nft', '-f', folder.file('rules', RULES));
    const hung = await start(BACKENDS[0], '--address=/example/10.0.0.1');
    await start(BACKENDS[1], '--address=/example/10.0.0.1');
    await start(ASKED, `--server=${SERVICE}`, '--no-subscribe');
    const ask = async (what: string) => {
      const names = Array.from({ length: QUESTIONS }, (_, i) => `${what}${i}.example A\n`);
      const limits = ['-n', '1', '-Q', '20', '-t', '30', '-l', '60'];
      const file = folder.file(what, names.join(''));
      return parseDnsperf(await namespace.run('dnsperf', '-s', ASKED, '-d', file, ...limits));
    };
    hung.signal('SIGSTOP');
    const result = await ask('n');
    expect(result).toMatchObject({ lost: 0, rcodes: { NOERROR: QUESTIONS } });
    expect(Object.keys(result.rcodes)).toEqual(['NOERROR']);
    hung.signal('SIGCONT');
  },
);
