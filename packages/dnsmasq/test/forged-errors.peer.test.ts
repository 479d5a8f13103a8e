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

const SERVER = '127.0.0.2';
const ASKED = '127.0.0.1';
/**
 * Of 100 packets (with one query each, or several that leave together) so many come back as "port unreachable", although their server
 * listens: what someone does who forges such errors for each port in turn, ten times as often as 60,000 a second hit the questions of
 * a server that takes 10 ms.
 */
const HITS = 10;
const RULES = `table ip errors {
  chain input {
    type filter hook input priority 0;
    ip daddr ${SERVER} udp dport 53 counter
    ip daddr ${SERVER} udp dport 53 numgen random mod 100 < ${HITS} counter reject with icmp port-unreachable
  }
}`;
const QUESTIONS = 2_000;

const needed = needsNamespaces() ?? needsPrograms('nsenter', 'ip', 'nft', 'dnsperf');
unless(needed, it)(
  'finding 3, attack 8: errors for queries to a server that listens end no question and do not take it down',
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
    await namespace.run('nft', '-f', folder.file('rules', RULES));
    await start(SERVER, '--address=/example/10.0.0.1');
    const asked = await start(ASKED, `--server=${SERVER}`, '--no-subscribe');
    const names = Array.from({ length: QUESTIONS }, (_, i) => `n${i}.example A\n`);
    const file = folder.file('names', names.join(''));
    const limits = ['-n', '1', '-Q', '2000', '-t', '30', '-l', '60'];
    const output = await namespace.run('dnsperf', '-s', ASKED, '-d', file, ...limits);
    expect(parseDnsperf(output)).toMatchObject({ lost: 0, rcodes: { NOERROR: QUESTIONS } });
    expect(Object.keys(parseDnsperf(output).rcodes)).toEqual(['NOERROR']);
    const counted = await namespace.run('nft', 'list', 'ruleset');
    const [all, hits] = Array.from(counted.matchAll(/counter packets (\d+)/g), ([, n]) =>
      Number(n),
    );
    expect(hits).toBeGreaterThan((all! * HITS) / 200);
    expect(asked.stderr).not.toMatch(/does not reply/);
  },
);
