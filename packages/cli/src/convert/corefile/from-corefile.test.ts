import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parseCorefile } from '@kube-dns/node-cache/corefile';
import { configMapData, dnsmasqArguments, kubednsArguments } from '../pod/pod-writer.js';
import { InputError } from '../../manifests/objects.js';
import { Notes } from '../dns-setup.js';
import { COREDNS_PLUGINS, fromCorefile } from './from-corefile.js';

const STANDARD = new URL('../../../test/fixtures/standard.Corefile', import.meta.url);

/** `files` are what imports find, by their pattern. */
function converted(
  text: string,
  env: NodeJS.ProcessEnv = {},
  files: Readonly<Record<string, string>> = {},
) {
  const notes = new Notes();
  const find = (pattern: string) =>
    pattern in files ? [{ name: pattern, text: files[pattern]! }] : [];
  const setup = fromCorefile(parseCorefile(text, 'Corefile'), env, notes, find);
  return {
    setup,
    data: configMapData(setup),
    words: [...kubednsArguments(setup), ...dnsmasqArguments(setup)],
    lines: notes.lines(),
  };
}

/** A Corefile with these lines in the block for all names. */
const withLines = (...lines: readonly string[]) =>
  `.:53 {\nkubernetes cluster.local\nforward . 1.1.1.1\n${lines.join('\n')}\n}\n`;

describe('k8s_external', () => {
  it('is --external-domain of kubedns, and a domain that dnsmasq asks it for', () => {
    const { words, lines } = converted(withLines('k8s_external Apps.Example.com.'));
    expect(words).toContain('--external-domain=apps.example.com');
    expect(words).toContain('--server=/apps.example.com/127.0.0.1#10053');
    expect(lines).toEqual([]);
  });

  it('is named with its options, and with a second zone', () => {
    const { setup, lines } = converted(
      withLines('k8s_external a.example {', 'headless', '}', 'k8s_external b.example'),
    );
    expect(setup.externalDomain).toBe('a.example');
    expect(lines.join('\n')).toMatch(/headless[^]*kubedns has one zone of --external-domain/);
  });
});

describe('transfer', () => {
  const to = (...lines: readonly string[]) =>
    converted(withLines('transfer {', ...lines.map((line) => `to ${line}`), '}'));

  it('is --transfer-to of kubedns, with the port that secondaries ask', () => {
    const { setup, words, lines } = to('192.0.2.1 2001:db8::1', '[2001:db8::2]:53');
    expect(setup.transferTo).toEqual(['192.0.2.1', '2001:db8::1', '2001:db8::2']);
    expect(words).toContain('--transfer-to=192.0.2.1,2001:db8::1,2001:db8::2');
    expect(lines).toEqual([
      expect.stringMatching(/^differs: line 4: transfer .*port 10053 of each pod/),
    ]);
  });

  it('to * is for every address', () => {
    const { words, lines } = to('*');
    expect(words).toContain('--transfer-to=0.0.0.0/0,::/0');
    expect(lines.join()).toContain('every address may transfer the zones');
  });

  it('names the port of a NOTIFY, and what is no address', () => {
    const { setup, lines } = to('192.0.2.1:5300 ns.example');
    expect(setup.transferTo).toEqual(['192.0.2.1']);
    expect(lines.join('\n')).toMatch(/not carried over: line 5: .*ns\.example is no address/);
    expect(lines.join('\n')).toMatch(/192\.0\.2\.1:5300 gets a NOTIFY at its port with --notify/);
  });

  it.each([
    ['of another zone', withLines('transfer example.org {', 'to 192.0.2.1', '}')],
    [
      'of a block without the cluster',
      `${withLines()}example.org {\nfile db\ntransfer {\nto 192.0.2.1\n}\n}\n`,
    ],
  ])('%s discloses nothing of the cluster', (_, text) => {
    const { setup, lines } = converted(text);
    expect(setup.transferTo).toEqual([]);
    expect(lines.join()).toContain('kubedns transfers the zones of the cluster alone');
  });
});

describe('multicluster of the plugin kubernetes', () => {
  const multicluster = (zones: string, options: string) =>
    converted(`.:53 {\nkubernetes ${zones} {\n${options}\n}\nforward . 1.1.1.1\n}\n`);

  it('is --clusterset-domain of kubedns, and a domain that dnsmasq asks it for; what differs is named', () => {
    const zones = 'k8s.example Clusterset.local. in-addr.arpa';
    const { setup, words, lines } = multicluster(zones, 'multicluster clusterset.local');
    expect(setup.domain).toBe('k8s.example');
    expect(words).toContain('--clusterset-domain=clusterset.local');
    expect(words).toContain('--server=/clusterset.local/127.0.0.1#10053');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /multicluster clusterset\.local.*v1beta1.*clusters with a dot.*1\.0\.0.*component clusterset/,
    );
  });

  it('is not a second domain in a block of its own', () => {
    const { setup, lines } = converted(
      '.:53 {\nkubernetes cluster.local\nforward . 1.1.1.1\n}\n' +
        'clusterset.local {\nkubernetes {\nmulticluster clusterset.local\n}\n}\n',
    );
    expect([setup.domain, setup.clustersetDomain]).toEqual(['cluster.local', 'clusterset.local']);
    expect(lines.join('\n')).not.toContain('one domain');
  });

  it.each([
    [
      'cluster.local a.example b.example',
      'multicluster a.example b.example',
      'one zone of --clusterset-domain',
    ],
    [
      'cluster.local',
      'multicluster clusterset.local',
      'clusterset.local is not a zone of this kubernetes',
    ],
  ])('of %s with %s is named with its reason', (zones, option, reason) => {
    expect(multicluster(zones, option).lines.join('\n')).toContain(reason);
  });

  it('without a zone does nothing', () => {
    const { setup, lines } = multicluster('cluster.local', 'multicluster');
    expect([setup.clustersetDomain, lines]).toEqual(['', []]);
  });
});

describe('each plugin of CoreDNS', () => {
  it.each([...COREDNS_PLUGINS].filter((name) => name !== 'import'))(
    'is carried or named with an option that is not known: %s',
    (name) => {
      const [line, option] = ['zzz.test', 'zzoption zzvalue'];
      const { lines } = converted(withLines(`${name} ${line} {`, option, '}'));
      expect(lines.filter((each) => /zzoption|line 4/.test(each))).not.toEqual([]);
    },
  );

  it.each(['reload 15s', 'errors x', 'loop x', 'pprof :6053', 'log {\nclass denial\n}'])(
    'is named when its setting has no counterpart: %s',
    (line) => {
      expect(converted(withLines(line)).lines.join()).toMatch(/(?:line 4|line 5): /);
    },
  );

  it('is not named where the pod does the same', () => {
    const same = ['errors', 'reload', 'loop', 'ready', 'log', 'pprof'];
    const { lines } = converted(
      `.:53 {\nkubernetes cluster.local\nforward . 1.1.1.1 {\nprefer_udp\n}\n${same.join('\n')}\n}\n`,
    );
    expect(lines).toEqual([]);
  });
});

describe('the pod of a Corefile', () => {
  it('has all of the standard one', () => {
    const { data, words, lines } = converted(readFileSync(STANDARD, 'utf8'));
    expect(data).toEqual({});
    expect(words).toEqual(
      expect.arrayContaining(['--cache-size=9984', '--max-ttl=30', '--dns-forward-max=1000']),
    );
    expect(words).not.toContain('--no-negcache');
    expect(lines).toEqual([]);
  });

  it('has servers of all names and of domains in the ConfigMap', () => {
    const { data } = converted(
      `${withLines()}\nacme.local:53 acme.test {\nforward . 10.0.0.1 [fd00::1]:54\n}\n`,
    );
    const servers = ['10.0.0.1', '[fd00::1]:54'];
    expect(JSON.parse(data.stubDomains ?? '')).toEqual({
      'acme.local': servers,
      'acme.test': servers,
    });
    expect(data.upstreamNameservers).toBe('["1.1.1.1"]');
  });

  it('has more upstream servers than the ConfigMap takes as arguments', () => {
    const { data, words } = converted(
      '. {\nkubernetes a.b\nforward . 1.1.1.1 1.1.1.2 1.1.1.3 1.1.1.4\n}\n',
    );
    expect(data).toEqual({});
    expect(words).toEqual(expect.arrayContaining(['--server=1.1.1.4', '--no-resolv']));
  });

  it('sends the block of a network to its servers', () => {
    const { data } = converted(`${withLines()}\n10.0.0.0/8 {\nforward . 10.0.0.1\n}\n`);
    expect(data.stubDomains).toBe('{"10.in-addr.arpa":["10.0.0.1"]}');
  });

  it('is that of a cluster zone with a block of its own', () => {
    const { words, lines } = converted(
      'k8s.test:53 {\nkubernetes k8s.test\ncache 30\n}\n.:53 {\nforward . /etc/resolv.conf\ncache 30\n}\n',
    );
    expect(words).toContain('--domain=k8s.test.');
    expect(lines).toEqual([]);
  });

  it('has variables filled in', () => {
    const text = withLines('hosts {\n{$ADDRESS} a.b\nfallthrough\n}');
    expect(converted(text, { ADDRESS: '1.2.3.4' }).words).toContain('--host-record=a.b,1.2.3.4');
  });

  it('is refused with the name and line of each variable that is not set', () => {
    const text = withLines('forward a.b {$ONE}:53', 'forward c.d {%TWO%} {$ONE}');
    expect(() => converted(text)).toThrow(InputError);
    expect(() => converted(text)).toThrow(
      'Corefile: line 4: {$ONE} is not set, line 5: {%TWO%} is not set: ' +
        'set it in the environment as the pod of CoreDNS has it',
    );
  });

  it('has what snippets and imported files have, in blocks, plugins and outside of them', () => {
    const text = [
      '(common) {\nimport more\ncache 20\n}',
      '(more) {\nlog\n}',
      '.:53 {\nimport common\nkubernetes cluster.local\nforward . 1.1.1.1\nimport {$PART}\n}',
      'import *.server',
    ];
    const { data, words, lines } = converted(
      text.join('\n'),
      { PART: 'own.override' },
      {
        'own.override': 'hosts {\nimport own.hosts\nfallthrough\n}',
        'own.hosts': '1.2.3.4 a.b',
        '*.server': 'import common.snippet\nacme.test:53 {\nimport acme\n}',
        'common.snippet': '(acme) {\nlog\ncache 20\nforward . 10.0.0.1\n}',
      },
    );
    expect(data.stubDomains).toBe('{"acme.test":["10.0.0.1"]}');
    expect(words).toEqual(
      expect.arrayContaining(['--log-queries', '--max-ttl=20', '--host-record=a.b,1.2.3.4']),
    );
    expect(lines).toEqual([]);
  });

  it.each([
    ['a snippet that imports itself', '(a) {\nimport a\n}\n. {\nimport a\n}'],
    ['snippets that import each other', '(a) {\nimport b\n}\n(b) {\nimport a\n}\n. {\nimport a\n}'],
    [
      'ever more imports',
      `${'abcdefgh'.replace(/./g, (n) => `(${n}) {\n${`import ${String.fromCharCode(n.charCodeAt(0) + 1)}\n`.repeat(9)}}\n`)}. {\nimport a\n}`,
    ],
  ])('is refused for %s', (_, text) => {
    expect(() => converted(text)).toThrow(/too many imports in imports$/);
  });

  it('names the file and the line of what an imported file loses', () => {
    const { lines } = converted(
      withLines('import x.conf'),
      {},
      { 'x.conf': '\nrewrite name a b\n' },
    );
    expect(lines).toEqual([
      'not carried over: x.conf: line 2: rewrite name a b (in .): kube-dns has nothing like it, but node-cache, in front of it',
    ]);
  });

  it.each([
    ['forward . 9.9.9.9 {\nmax_concurrent 1000\n}', '--dns-forward-max=1000', []],
    ['forward . 9.9.9.9 {\nmax_concurrent 300\n}', '--dns-forward-max=300', []],
    [
      'forward . 9.9.9.9\nforward a.b 9.9.9.8 {\nmax_concurrent 300\n}',
      '--dns-forward-max=300',
      ['differs: no max_concurrent in .: one limit, 300, holds for every domain'],
    ],
    [
      'forward . 9.9.9.9 {\nmax_concurrent 200\n}\nforward a.b 9.9.9.8 {\nmax_concurrent 300\n}',
      '--dns-forward-max=200',
      ['differs: max_concurrent in a.b: one limit, 200, holds for every domain'],
    ],
  ])('has the limit of %j', (lines, word, notes) => {
    const found = converted(`. {\nkubernetes a.c\n${lines}\n}\n`);
    expect(found.words).toContain(word);
    expect(found.lines).toEqual(notes);
  });

  it.each([
    ['disable denial', ['--no-negcache', '--negcache=push'], []],
    [
      'disable success',
      ['--cache-size=0'],
      [/^differs: line 5: disable success \(in \.\): dnsmasq has no/],
    ],
    [
      'disable success cluster.local\ndisable denial cluster.local',
      ['--cache-size=9984'],
      [
        /^differs: line 5: disable success cluster\.local \(in \.\): dnsmasq caches the names of every/,
        /^differs: line 6: disable denial cluster\.local/,
      ],
    ],
    ['disable all', ['--cache-size=9984'], [/^not carried over: line 5: disable all/]],
  ])('has, or names, %j of cache', (options, words, notes) => {
    const found = converted(withLines(`cache 30 {\n${options}\n}`));
    expect(found.words).toEqual(expect.arrayContaining(words));
    expect(found.lines).toEqual(notes.map((each) => expect.stringMatching(each)));
  });

  it.each([
    ['hello world', 'Corefile: this is no Corefile: there is no plugin of CoreDNS in it'],
    ['. {\n}', /no plugin of CoreDNS in it$/],
    ['{{ template }}\n', /no plugin of CoreDNS in it$/],
    ['\u0000\u0001\u0002\n\u0003 log\n', /no plugin of CoreDNS in it$/],
    ['# Title\n\nSome text, with words.\nAnd more of it: log, cache.\n', /no plugin of CoreDNS/],
    ['<html>\n<body>\nlog\n</body>\n', 'Corefile: line 2: <body> is no plugin of CoreDNS'],
  ])('is refused for %j, which is no Corefile', (text, message) => {
    expect(() => converted(text)).toThrow(InputError);
    expect(() => converted(text)).toThrow(message);
  });

  it.each([
    [
      'rewrite name a b',
      'line 4: rewrite name a b (in .): kube-dns has nothing like it, but node-cache, in front of it',
    ],
    ['rewrite edns0 local set 0xffee 1', '(in .): kube-dns has nothing like it'],
    ['forwrad . 9.9.9.9', '(in .): CoreDNS has no plugin of this name; did you mean forward?'],
    ['unbound', '(in .): CoreDNS has no plugin of this name'],
    ['autopath @kubernetes', 'line 4: autopath @kubernetes'],
    ['import common', 'line 4: import common: it is not here: put its text in its place'],
    ['cache {\nprefetch x\n}', 'line 5: prefetch x (in .): not AMOUNT [DURATION [PERCENTAGE%]]'],
    ['cache 30 a.b', 'line 4: cache 30 a.b (in .): dnsmasq has one cache for all'],
    ['cache {\nsuccess 10 20\ndenial 10 5\n}', 'line 6: denial 10 5 (in .): dnsmasq has one size'],
    ['template ANY ANY {\nrcode REFUSED\n}', 'line 4: template ANY ANY (in .): '],
    ['health {\nlameduck soon\n}', 'line 5: lameduck soon'],
    ['forward a.b quic://9.9.9.9', 'quic://9.9.9.9 is no server that dnsmasq can ask'],
    [
      'forward a.b tls://9.9.9.9 {\ntls c.crt c.key\n}',
      'line 5: tls c.crt c.key (in .): dnsmasq has no certificate of its own for servers',
    ],
    ['forward a.b 9.9.9.9 {\nexpire 10s\n}', 'line 5: expire 10s'],
    ['forward . 9.9.9.9', 'line 4: forward . 9.9.9.9 (in .): there is another forward'],
    ['bufsize many', 'line 4: bufsize many (in .): not a number'],
    ['kubernetes b.c', 'line 4: kubernetes b.c (in .): kubedns serves one domain, not b.c'],
  ])('lacks %j, and says so', (lines, message) => {
    const found = converted(withLines(lines)).lines;
    expect(found).toEqual([expect.stringMatching(/^not carried over: /)]);
    expect(found[0]).toContain(message);
  });

  it('carries a domain without names, and says nothing', () => {
    const { lines, words } = converted(
      `${withLines()}a.b {\ntemplate ANY ANY {\nrcode NXDOMAIN\n}\n}\n`,
    );
    expect(words).toContain('--local=/a.b/');
    expect(lines).toEqual([]);
  });

  it('carries nothing of a server block with a view, which is for some queries only', () => {
    const { lines, words } = converted(
      '. {\nview lan {\nexpr 1\n}\ntemplate IN A {\nanswer "{{ .Name }} 60 IN A 10.0.0.1"\n}\nforward . 9.9.9.9\n}\n' +
        withLines(),
    );
    expect(words.join()).not.toMatch(/10\.0\.0\.1|9\.9\.9\.9/);
    expect(lines).toEqual([
      'not carried over: line 2: view lan (in .): kube-dns has no views',
      'not carried over: line 5: template IN A (in .): it is for the queries of the view lan alone',
      'not carried over: line 8: forward . 9.9.9.9 (in .): it is for the queries of the view lan alone',
    ]);
  });

  it('does not send the names of the cluster to the service of its own pods', () => {
    const { lines, words, data } = converted(
      'cluster.local:53 {\nforward . 10.96.0.10\n}\nin-addr.arpa:53 {\nforward . 10.96.0.10\n}\n.:53 {\nforward . 9.9.9.9\n}\n',
    );
    expect(data.stubDomains).toBeUndefined();
    expect(words).toContain('--server=/in-addr.arpa/127.0.0.1#10053');
    expect(lines.join('\n')).toContain(
      'not carried over: forward 10.96.0.10 in cluster.local: the pod answers these names itself; node-cache takes',
    );
  });

  it.each([
    ['pods verified', 'kubedns does not look for the pods'],
    ['namespaces a b', 'kubedns has nothing like it'],
    ['fallthrough', 'names of the domain end in kubedns'],
  ])('lacks the option %s of kubernetes, and says so', (option, message) => {
    const { lines } = converted(`. {\nkubernetes a.b {\n${option}\n}\nforward . 1.1.1.1\n}\n`);
    expect(lines).toEqual([`not carried over: line 3: ${option} (in .): ${message}`]);
  });

  it.each([
    ['tls://a.b {\nforward . 1.1.1.1\n}', 'server block tls://a.b: kube-dns does not speak tls'],
    ['import x.conf', 'line 6: import x.conf: it is not here'],
    ['a.b {\nfile db.a.b\n}', 'file db.a.b (in a.b): kube-dns has nothing like it'],
    ['a.b {\nforward . /etc/other\n}', 'forward /etc/other in a.b: a domain has servers'],
  ])('lacks the block %j, and says so', (block, message) => {
    const { lines } = converted(withLines() + block);
    expect(lines.join('\n')).toContain(message);
    expect(lines[0]).toMatch(/^not carried over: /);
  });
});
