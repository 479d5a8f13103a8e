import { describe, expect, it } from '@jest/globals';
import { EMPTY_DNS_CONFIG, parseDnsConfig, type DnsConfig } from '@kube-dns/daemon';
import { checkServers, renderTemplate } from '../src/config/template.js';
import { lookupInEnvironment } from '../src/config/cluster-service.js';
import { TEMPLATE_CASES, type TemplateCase } from './support/template-cases.js';
import { CLUSTER_SERVICE, environmentOf, LOCAL_ADDRESSES } from './support/template-start.js';

function config({ configMap = {} }: TemplateCase): DnsConfig {
  try {
    const parsed = parseDnsConfig(new Map(Object.entries(configMap)));
    checkServers(parsed);
    return parsed;
  } catch {
    return EMPTY_DNS_CONFIG; // as at the start, with nothing before it
  }
}

function writtenHere(each: TemplateCase): string {
  return renderTemplate(each.template, config(each), {
    localAddresses: (each.localAddresses ?? LOCAL_ADDRESSES).split(','),
    port: each.port ?? 53,
    prometheusAddress: ':9253',
    clusterDns: lookupInEnvironment(environmentOf(each))(CLUSTER_SERVICE),
  }).text;
}

describe('the template', () => {
  it.each(TEMPLATE_CASES)('$title', (each) => {
    expect(writtenHere(each)).toBe(each.written);
  });

  it('has the address of prometheus, as later releases do', () => {
    const template = '.:53 {\n    prometheus __PROMETHEUS__ENDPOINT__\n}\n';
    expect(writtenHere({ title: '', template, written: '' })).toContain('prometheus :9253\n');
  });

  it('has the stub domains in the order of their names', () => {
    const stubDomains = '{"b.example": ["192.0.2.2"], "a.example": ["192.0.2.1"]}';
    const text = writtenHere({ title: '', template: '', configMap: { stubDomains }, written: '' });
    expect(text.match(/^\S+:53/gm)).toEqual(['a.example:53', 'b.example:53']);
  });

  it('says when force_tcp may have stayed', () => {
    const values = { localAddresses: ['::1'], port: 53, prometheusAddress: '', clusterDns: '' };
    const own = { ...EMPTY_DNS_CONFIG, upstreamNameservers: ['192.0.2.1'] };
    const tcp =
      'a {\n    forward . __PILLAR__UPSTREAM__SERVERS__ {\n            force_tcp\n    }\n';
    expect(renderTemplate(tcp, own, values).mayForceTcp).toBe(false);
    expect(renderTemplate(`${tcp}  ${tcp}`, own, values).mayForceTcp).toBe(false);
    expect(renderTemplate(tcp.replace('    f', '  f'), own, values).mayForceTcp).toBe(true);
    expect(renderTemplate(tcp, EMPTY_DNS_CONFIG, values).mayForceTcp).toBe(false);
  });

  it('refuses servers that a Corefile cannot have', () => {
    const stubDomains = new Map([
      ['a.example', []],
      ['b.example', ['ns.example']],
    ]);
    expect(() => checkServers({ ...EMPTY_DNS_CONFIG, stubDomains })).toThrow(
      /^no nameservers for the stub domain a\.example; invalid nameservers \[ns\.example\] for the stub domain b\.example: not an IP address or file/,
    );
  });
});
