import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { configMapData, dnsmasqArguments, kubednsArguments } from '../pod/pod-writer.js';
import { Notes } from '../notes.js';
import { parseCorefile } from './corefile.js';
import { fromCorefile } from './from-corefile.js';

const STANDARD = new URL('../../../test/fixtures/standard.Corefile', import.meta.url);

function converted(text: string, env: NodeJS.ProcessEnv = {}) {
  const notes = new Notes();
  const setup = fromCorefile(parseCorefile(text, 'Corefile'), env, notes);
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

describe('the pod of a Corefile', () => {
  it('has all of the standard one', () => {
    const { data, words, lines } = converted(readFileSync(STANDARD, 'utf8'));
    expect(data).toEqual({});
    expect(words).toEqual(expect.arrayContaining(['--cache-size=9984', '--max-ttl=30']));
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

  it('has variables filled in, and names those that are not set', () => {
    const text = withLines('hosts {\n{$ADDRESS} a.b\nfallthrough\n}');
    expect(converted(text, { ADDRESS: '1.2.3.4' }).words).toContain('--host-record=a.b,1.2.3.4');
    expect(converted(text).lines.join('\n')).toContain('the variable ADDRESS is not set here');
  });

  it.each([
    ['rewrite name a b', 'line 4: rewrite name a b (in .): kube-dns has nothing like it'],
    ['autopath @kubernetes', 'line 4: autopath @kubernetes'],
    ['import common', 'line 4: import common (in .): imports are not followed'],
    ['cache {\nprefetch 10\n}', 'line 5: prefetch 10 (in .): dnsmasq has nothing like it'],
    ['cache 30 a.b', 'line 4: cache 30 a.b (in .): dnsmasq has one cache for all'],
    ['cache {\nsuccess 10 20\ndenial 10 5\n}', 'line 6: denial 10 5 (in .): dnsmasq has one size'],
    ['template ANY ANY {\nrcode REFUSED\n}', 'line 4: template ANY ANY (in .): '],
    ['health {\nlameduck soon\n}', 'line 5: lameduck soon'],
    ['forward a.b tls://9.9.9.9', 'tls://9.9.9.9 is no server that dnsmasq can ask'],
    ['forward a.b 9.9.9.9 {\nexpire 10s\n}', 'line 5: expire 10s'],
    ['forward . 9.9.9.9', 'line 4: forward . 9.9.9.9 (in .): there is another forward'],
    ['bufsize many', 'line 4: bufsize many (in .): not a number'],
    ['kubernetes b.c', 'line 4: kubernetes b.c (in .): kubedns serves one domain, not b.c'],
  ])('lacks %j, and says so', (lines, message) => {
    const found = converted(withLines(lines)).lines;
    expect(found).toEqual([expect.stringMatching(/^not carried over: /)]);
    expect(found[0]).toContain(message);
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
    ['(common) {\nerrors\n}', 'snippet (common): snippets are not read'],
    ['import x.conf', 'line 6: import x.conf: imports are not followed'],
    ['a.b {\nfile db.a.b\n}', 'file db.a.b (in a.b): kube-dns has nothing like it'],
    ['a.b {\nforward . /etc/other\n}', 'forward /etc/other in a.b: a domain has servers'],
  ])('lacks the block %j, and says so', (block, message) => {
    const { lines } = converted(withLines() + block);
    expect(lines.join('\n')).toContain(message);
    expect(lines[0]).toMatch(/^not carried over: /);
  });
});
