import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { EMPTY_DNS_CONFIG, parseDnsConfig, type DnsConfig } from '@kube-dns/daemon';
import {
  findRealNodeCache,
  needsRealNodeCache,
  RunningProgram,
  TemporaryFolder,
  unless,
} from '@kube-dns/testkit';
import { checkServers } from '../src/template/check-servers.js';
import { renderTemplate } from '../src/template/render-template.js';
import { lookupInEnvironment, serviceVariable } from '../src/template/service-address.js';
import { TEMPLATE_CASES, type TemplateCase } from './support/template-cases.js';

const SERVICE = 'kube-dns-upstream';
const TIMEOUT_MS = 120_000;
/** The original ends with the first line that it does not know, before it opens a port. */
const ENDS = 'nosuch.example {\n    nosuchdirective\n}\n';

const folder = new TemporaryFolder();
afterAll(() => folder.close());

const LOCAL = '169.254.20.10,10.96.0.10';
const env = ({ clusterDns = '10.96.0.20' }: TemplateCase) => ({
  [serviceVariable(SERVICE)]: clusterDns,
});

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
    localAddresses: (each.localAddresses ?? LOCAL).split(','),
    port: each.port ?? 53,
    prometheusAddress: ':9253',
    clusterDns: lookupInEnvironment(env(each))(SERVICE),
  }).text;
}

async function writtenByOriginal(each: TemplateCase, name: string): Promise<string> {
  // The original reads both folders whole, so the file that it writes is in neither.
  const folders = ['config-map', 'template'].map((kind) => join(folder.path, name, kind));
  for (const path of folders) mkdirSync(path, { recursive: true });
  const [configMap = '', templates = ''] = folders;
  for (const [key, text] of Object.entries(each.configMap ?? {})) {
    writeFileSync(join(configMap, key), text);
  }
  const template = join(templates, 'Corefile.base');
  writeFileSync(template, ENDS + each.template);
  const conf = join(folder.path, name, 'Corefile');
  const program = new RunningProgram(
    'node-cache',
    findRealNodeCache()!,
    [
      ...['-setupinterface=false', '-setupiptables=false', '-metrics-listen-address=127.0.0.1:0'],
      ...['-localip', each.localAddresses ?? LOCAL, '-dns.port', String(each.port ?? 53)],
      ...['-basecorefile', template, '-conf', conf, '-kubednscm', configMap],
      ...['-upstreamsvc', SERVICE],
    ],
    { env: env(each) },
  );
  try {
    await program.ended;
    return readFileSync(conf, 'utf8').slice(ENDS.length);
  } finally {
    await program.close();
  }
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

  unless(needsRealNodeCache(), it)(
    'is what the real node-cache writes',
    async () => {
      const written = await Promise.all(
        TEMPLATE_CASES.map((each, at) => writtenByOriginal(each, String(at))),
      );
      expect(written).toEqual(TEMPLATE_CASES.map((each) => each.written));
    },
    TIMEOUT_MS,
  );
});
