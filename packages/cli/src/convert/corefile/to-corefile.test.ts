import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { writeCorefile } from '@kube-dns/node-cache/corefile';
import { splitLine } from '../convert.js';
import { readPodSource } from '../pod/pod-reader.js';
import { Notes } from '../dns-setup.js';
import { toCorefile } from './to-corefile.js';

const STANDARD = new URL('../../../test/fixtures/standard.Corefile', import.meta.url);

function converted(line: string | undefined, data: Record<string, string> = {}) {
  const notes = new Notes();
  const words = { kubedns: undefined, dnsmasq: line === undefined ? undefined : splitLine(line) };
  const configMap = new Map(Object.entries(data));
  const setup = readPodSource({ words, configMap, where: 'ConfigMap kube-dns' }, notes);
  return { text: writeCorefile(toCorefile(setup, notes)), lines: notes.lines() };
}

const oneSpaced = (text: string) => text.replace(/\s+/g, ' ');

describe('the Corefile of a kube-dns pod', () => {
  it('is the standard one but for the cache and the limit of queries, where nothing is configured', () => {
    const standard = oneSpaced(readFileSync(STANDARD, 'utf8'));
    const { text, lines } = converted(undefined);
    const cache = 'cache { success 1000 disable denial }';
    expect(oneSpaced(text)).toBe(
      standard.replace('cache 30', cache).replace('max_concurrent 1000', 'max_concurrent 1500'),
    );
    expect(lines).toEqual([]);
  });

  it('is the same whether negative answers are kept until they change or not', () => {
    const line = '--no-negcache --server=/cluster.local/127.0.0.1#10053';
    const { text, lines } = converted(`${line} --negcache=push --no-subscribe`);
    expect(lines).toEqual([]);
    expect(text).toBe(converted(line).text);
    expect(text).toContain('disable denial');
  });

  it('has the hosts of the ConfigMap, which kubedns answers', () => {
    const { text, lines } = converted(undefined, { hosts: '192.0.2.5 db.example.com db' });
    expect(oneSpaced(text)).toContain('192.0.2.5 db.example.com');
    expect(lines).toEqual([]);
  });

  it('forwards to the upstream servers of the ConfigMap in place of resolv.conf', () => {
    const { text } = converted(undefined, { upstreamNameservers: '["1.1.1.1","8.8.8.8:5353"]' });
    expect(text).toContain('    forward . 1.1.1.1 8.8.8.8:5353 {\n');
    expect(text).not.toContain('resolv.conf');
  });

  it('has a server block with all servers of a stub domain', () => {
    const { text } = converted(undefined, {
      stubDomains: '{"acme.local":["10.0.0.1","[fd00::1]:5353"]}',
    });
    expect(text).toMatch(/^acme\.local:53 \{$/m);
    expect(text).toContain('    forward . 10.0.0.1 [fd00::1]:5353 {\n');
  });

  it('serves the cluster in every block that has its names, also that of a parent', () => {
    const { text } = converted(undefined, { stubDomains: '{"local":["10.0.0.1"]}' });
    expect(text).toMatch(/^local:53 \{[^]*kubernetes cluster\.local \{/m);
  });

  it('caps TTLs for the cache and clients alike', () => {
    const { text, lines } = converted('--cache-size=500 --max-ttl=30 --max-cache-ttl=30');
    expect(text).toContain('success 500 30\n        denial 500 30\n');
    expect(lines).toEqual([]);
    expect(converted('--max-ttl=30').lines).toEqual([
      'differs: --max-ttl=30: one ceiling holds for the cache and for what clients see',
    ]);
  });

  it('has no cache where dnsmasq has none', () => {
    expect(converted('-c 0').text).not.toContain('cache');
  });

  it('answers local names and fixed addresses in the block of their domain', () => {
    const { text } = converted(
      '--server=/corp/10.0.0.1 --local=/no.corp/ --address=/x/1.2.3.4 --address=/x/::1 --local-ttl=9',
    );
    const [root = '', corp = ''] = text.split('\ncorp:53');
    expect(root).toContain('template IN A x {\n        answer "{{ .Name }} 9 IN A 1.2.3.4"\n');
    expect(root).toContain('template IN AAAA x {\n        answer "{{ .Name }} 9 IN AAAA ::1"\n');
    expect(corp).toContain('template IN ANY no.corp {\n        rcode NXDOMAIN\n');
  });

  it('has host records in the zone of each name', () => {
    const { text } = converted('--host-record=a.b,c.d,1.2.3.4,::1');
    expect(text).toContain('hosts {\n        1.2.3.4 a.b c.d\n        ::1 a.b c.d\n');
  });

  it.each([
    ['--server=/*wild/1.2.3.4', /--server=\/\*wild\/1\.2\.3\.4: \*wild is no zone/],
    ['--server=//1.2.3.4', /names without a dot are no zone/],
    ['--server=1.2.3.4@eth0', /queries cannot leave from eth0/],
    ['--server=ns.acme.com#54', /ns\.acme\.com#54 is no server that both sides know/],
    ['--bogus-priv', /--bogus-priv: the standard plugins of CoreDNS have no counterpart/],
    ['-D', /-D: the standard plugins/],
    ['--neg-ttl 5', /--neg-ttl 5: /],
    ['--local=/local/', /--local=\/local\/: a template would hide the names of the cluster/],
    ['--server=/cluster.local/1.2.3.4', /servers of cluster\.local: 1\.2\.3\.4: /],
    ['--local-ttl=5 --addn-hosts=/a --addn-hosts=/b', /--addn-hosts=\/b: /],
    ['stray', /stray: /],
  ])('says that it has nothing of %s', (line, message) => {
    const { lines } = converted(line);
    expect(lines).toEqual([expect.stringMatching(/^not carried over: /)]);
    expect(lines[0]).toMatch(message);
  });

  it('has a TTL for hosts that CoreDNS takes, and says when it is not the pod’s', () => {
    const { text, lines } = converted('--host-record=h.x,1.2.3.5');
    expect(text).toMatch(/hosts \{[^}]*ttl 1\n/);
    expect(lines).toEqual(['differs: --local-ttl=0: hosts takes 1 to 65535']);
  });

  it('names federations, unknown keys and servers that cannot be looked up', () => {
    const { lines } = converted(undefined, {
      federations: 'east=fed.example.com',
      other: '',
      stubDomains: '{"a.b":["ns.kube-system.svc.cluster.local","ns.example.com"]}',
    });
    expect(lines).toEqual([
      expect.stringMatching(/^not carried over: other: /),
      expect.stringMatching(/^not carried over: federations: east=fed\.example\.com: /),
      expect.stringMatching(
        /^not carried over: server ns\.kube-system\.svc\.cluster\.local of a\.b/,
      ),
      expect.stringMatching(
        /^differs: server ns\.example\.com of a\.b: CoreDNS 1\.14\.4 and newer look its address up/,
      ),
    ]);
  });

  it('takes the oldest line, where all is asked of kubedns, for the same', () => {
    const { text, lines } = converted('--cache-size=1000 --no-resolv --server=127.0.0.1#10053');
    expect(text).toContain('kubernetes cluster.local in-addr.arpa ip6.arpa {');
    expect(text).toContain('forward . /etc/resolv.conf {');
    expect(lines).toEqual([]);
  });

  it('takes the domain from the line where no flag of kubedns says it', () => {
    expect(converted('--server=/k8s.test./127.0.0.1#10053').text).toContain(
      'kubernetes k8s.test {',
    );
  });

  it('is refused for a ConfigMap that kube-dns would refuse, with every mistake', () => {
    const data = { stubDomains: '[]', upstreamNameservers: '["x"]' };
    expect(() => converted(undefined, data)).toThrow(
      /^ConfigMap kube-dns: stubDomains: not an object .*; upstreamNameservers: "x": /,
    );
  });
});
