import { describe, expect, it } from '@jest/globals';
import { parseCorefile, writeCorefile } from '@kube-dns/node-cache/corefile';
import { Notes, STOCK_SETUP } from '../dns-setup.js';
import { configMapData, dnsmasqArguments, kubednsArguments } from '../pod/pod-writer.js';
import { forwardTargets } from './encrypted-targets.js';
import { fromCorefile } from './from-corefile.js';
import { toCorefile } from './to-corefile.js';

/** The servers of the pod for a `forward` with these words and options, and what the notes say. */
function carried(forward: string) {
  const notes = new Notes();
  const text = `. {\nkubernetes a.c\nforward . ${forward}\n}\n`;
  const setup = fromCorefile(parseCorefile(text, 'Corefile'), {}, notes);
  return { setup, servers: setup.upstreams, lines: notes.lines() };
}

/** The lines of `forward` that a Corefile has for these servers. */
function written(...upstreams: string[]): string[] {
  const setup = { ...STOCK_SETUP, upstreams, resolvFile: '', tlsCa: '/ca.pem' };
  const text = writeCorefile(toCorefile(setup, new Notes()));
  return [...text.matchAll(/^ *((?:forward|tls).*)$/gm)].map(([, line = '']) => line);
}

describe('the encrypted servers of CoreDNS', () => {
  it.each([
    ['tls://9.9.9.9', ['tls://9.9.9.9']],
    ['tls://9.9.9.9 {\ntls_servername dns.quad9.net\n}', ['tls://9.9.9.9%dns.quad9.net']],
    ['tls://9.9.9.9:8853 {\ntls\ntls_servername a.b\n}', ['tls://9.9.9.9#8853%a.b']],
    ['tls://1.1.1.1%a.b:8853 tls://8.8.8.8%c.d', ['tls://1.1.1.1#8853%a.b', 'tls://8.8.8.8%c.d']],
    ['tls://[2620:fe::fe%a.b]:8853', ['tls://2620:fe::fe#8853%a.b']],
    ['tls://2620:fe::fe%a.b', ['tls://2620:fe::fe%a.b']],
    ['https://9.9.9.9', ['https://9.9.9.9/dns-query']],
    ['https://9.9.9.9:8443 {\ntls_servername a.b\n}', ['https://9.9.9.9:8443%a.b/dns-query']],
  ])('are read from: forward . %s', (forward, servers) => {
    const found = carried(forward);
    expect(found.servers).toEqual(servers);
    expect(found.lines).toEqual([]);
  });

  it('have the authorities of one file, which the pod needs', () => {
    const { setup, lines } = carried('tls://9.9.9.9 {\ntls /ca.pem\n}');
    expect(lines).toEqual([expect.stringContaining('need this file')]);
    expect(dnsmasqArguments(setup)).toContain('--tls-ca=/ca.pem');
    expect(kubednsArguments(setup)).toContain('--tls-ca=/ca.pem');
    expect(configMapData(setup)).toEqual({ upstreamNameservers: '["tls://9.9.9.9"]' });
  });

  it('are servers by name in the ConfigMap, too', () => {
    const { setup, lines } = carried('tls://dns.quad9.net%dns.quad9.net');
    expect(configMapData(setup)).toEqual({ upstreamNameservers: '["tls://dns.quad9.net"]' });
    expect(lines).toEqual([expect.stringContaining('its certificate must have a name')]);
  });
});

describe('the encrypted servers of a pod', () => {
  it('have one tls_servername where all certificates have that name', () => {
    const servers = ['tls://9.9.9.9%a.b', 'tls://[::1]:8853%a.b', 'https://9.9.9.9%a.b/dns-query'];
    expect(written(...servers)).toEqual([
      'forward . tls://9.9.9.9 tls://[::1]:8853 https://9.9.9.9 {',
      'tls /ca.pem',
      'tls_servername a.b',
    ]);
  });

  it('have their own names where these differ', () => {
    expect(written('tls://9.9.9.9%a.b', 'tls://::1#8853%c.d', 'tls://1.1.1.1', '1.1.1.1')).toEqual([
      'forward . tls://9.9.9.9%a.b tls://[::1%c.d]:8853 tls://1.1.1.1 1.1.1.1 {',
      'tls /ca.pem',
    ]);
  });

  it('are named where CoreDNS has nothing like them', () => {
    const { targets, lost } = forwardTargets(
      ['https://9.9.9.9/q', 'https://8.8.8.8%a.b/dns-query', 'tls://9.9.9.9%c.d'],
      '',
    );
    expect(targets).toEqual(['tls://9.9.9.9%c.d']);
    expect(lost).toEqual([
      ['https://9.9.9.9/q', 'CoreDNS asks for /dns-query alone'],
      ['https://8.8.8.8%a.b/dns-query', expect.stringContaining('tls_servername holds for all')],
    ]);
  });
});
