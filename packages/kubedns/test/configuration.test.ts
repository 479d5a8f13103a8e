import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { endPrograms, freePort, ScriptedNameServer, until } from '@kube-dns/testkit';
import { startKubedns } from './support/kubedns-process.js';
import { namespaceObject, serviceObject } from './support/objects.js';

const ALIAS = serviceObject({ name: 'ext', externalName: 'db.acme.local' });

let api: ApiServer;
let upstream: ScriptedNameServer;
let stub: ScriptedNameServer;
let folder: string;
beforeEach(async () => {
  api = await createApiServer();
  await api.apply(ALIAS);
  upstream = await ScriptedNameServer.start();
  stub = await ScriptedNameServer.start();
  stub.respond('db.acme.local A', {
    answers: [{ type: 'A', name: 'db.acme.local', ttl: 60, data: '192.0.2.7' }],
  });
  folder = await mkdtemp(join(tmpdir(), 'kubedns-'));
});
afterEach(async () => {
  await endPrograms();
  await upstream.close();
  await stub.close();
  await api.close();
  await rm(folder, { recursive: true });
});

const start = (...args: string[]) => startKubedns(api, upstream, args);
const put = (key: string, value: unknown) =>
  writeFile(join(folder, key), typeof value === 'string' ? value : JSON.stringify(value));

function configMap(data: Record<string, unknown>, name = 'kube-dns', namespace = 'kube-system') {
  const texts = Object.entries(data).map(([key, value]) => [key, JSON.stringify(value)]);
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace },
    data: Object.fromEntries(texts) as Record<string, string>,
  };
}

describe('the directory of the ConfigMap', () => {
  it('names the upstream servers, from its next change on, and stays good when that is wrong', async () => {
    await put('upstreamNameservers', ['127.0.0.1:1']);
    const kubedns = await start(`--config-dir=${folder}`, '--config-period=100ms').ready();
    const rcode = async () => (await kubedns.ask('example.com', 'A')).rcode;
    expect(await rcode()).toBe('SERVFAIL');
    await put('upstreamNameservers', [upstream.hostPort]);
    await until('the change', async () => (await rcode()) === 'NXDOMAIN');
    await put('upstreamNameservers', 'nonsense');
    await kubedns.waitForLine(/E.*config: upstreamNameservers: not JSON.*keeping the previous/);
    expect(await rcode()).toBe('NXDOMAIN');
  });

  it('may have keys that are not known, and the log says which one was meant', async () => {
    await put('stubDomain', '{}');
    await put('upstreamNameservers', [upstream.hostPort]);
    const kubedns = await start(`--config-dir=${folder}`).ready();
    await kubedns.waitForLine(/W.*config: the key "stubDomain" .*; did you mean stubDomains\?/);
    expect((await kubedns.ask('example.com', 'A')).rcode).toBe('NXDOMAIN');
  });

  it('turns the query log on and off, and is stronger than the flag', async () => {
    await put('queryLog', 'off');
    const flags = [`--config-dir=${folder}`, '--config-period=100ms', '--query-log=text'];
    const kubedns = await start(...flags).ready();
    const { program } = kubedns;
    await kubedns.ask('example.com', 'A');
    await put('queryLog', 'json,class=denial\n');
    await until('a line', async () => {
      await kubedns.ask('no-such-service.default.svc.cluster.local', 'A');
      return program.stdout.endsWith('\n');
    });
    const line = JSON.parse(program.stdout.split('\n')[0]!) as Record<string, unknown>;
    expect(line).toMatchObject({
      client_ip: '127.0.0.1',
      qname: 'no-such-service.default.svc.cluster.local.',
      rcode: 'NXDOMAIN',
      source: 'zone',
    });
    await put('queryLog', 'yaml');
    await kubedns.waitForLine(/config: queryLog: "yaml" is not a format.*keeping the previous/);
  });

  it('names the servers of stub domains, for direct questions and for CNAMEs', async () => {
    await put('upstreamNameservers', [upstream.hostPort]);
    await put('stubDomains', { 'acme.local': [stub.hostPort] });
    const kubedns = await start(`--config-dir=${folder}`).ready();
    expect((await kubedns.ask('db.acme.local', 'A')).answers).toEqual([
      'db.acme.local A 192.0.2.7',
    ]);
    expect((await kubedns.ask('ext.default.svc.cluster.local', 'A')).answers).toEqual([
      'ext.default.svc.cluster.local CNAME db.acme.local',
      'db.acme.local A 192.0.2.7',
    ]);
    await kubedns.ask('example.com', 'A');
    // A reply that is late is asked for again.
    expect(new Set(upstream.asked)).toEqual(new Set(['example.com A']));
    expect(new Set(stub.asked)).toEqual(new Set(['db.acme.local A']));
    expect(stub.asked.length).toBeGreaterThanOrEqual(2);
  });

  it('may name servers of stub domains by name', async () => {
    // A server by name has no port, so it answers on 53, where a test has none: that it is asked for
    // and known is what there is to see.
    upstream.respond('ns.example.com A', {
      answers: [{ type: 'A', name: 'ns.example.com', ttl: 60, data: '127.0.0.1' }],
    });
    await put('upstreamNameservers', [upstream.hostPort]);
    await put('stubDomains', { 'acme.local': ['ns.example.com'] });
    const kubedns = await start(`--config-dir=${folder}`).ready();
    await kubedns.waitForLine(/the server ns\.example\.com is at 127\.0\.0\.1$/m);
  });

  it('is not asked to forward to this server itself', async () => {
    const port = await freePort();
    await put('upstreamNameservers', [`127.0.0.1:${port}`]);
    const kubedns = await start(`--config-dir=${folder}`, `--dns-port=${port}`).ready();
    await kubedns.waitForLine(
      /upstreamNameservers: 127\.0\.0\.1#\d+ is this server itself; left out/,
    );
    expect((await kubedns.ask('a.example.com', 'A')).rcode).toBe('SERVFAIL');
  });
});

describe('the ConfigMap by the API', () => {
  const args = ['--config-map=dns', '--config-map-namespace=infra'];

  it('is the one that is named, and its deletion leaves the defaults', async () => {
    const stubDomains = { 'acme.local': [stub.hostPort] };
    await api.apply([
      namespaceObject('infra'),
      configMap({ upstreamNameservers: [upstream.hostPort], stubDomains }, 'dns', 'infra'),
      configMap({ upstreamNameservers: ['127.0.0.1:1'] }, 'other', 'infra'),
    ]);
    const kubedns = await start(...args).ready();
    await until('ready', async () => (await kubedns.get('/readiness'))[0] === 200);
    await until('the configuration', async () => {
      return (await kubedns.ask('db.acme.local', 'A')).answers.length === 1;
    });
    expect((await kubedns.ask('example.com', 'A')).rcode).toBe('NXDOMAIN');
    await until('the watch', () => api.watchCount('configmaps') > 0);
    await api.apply(configMap({ upstreamNameservers: [upstream.hostPort] }, 'dns', 'infra'));
    await until('the change', async () => {
      return (await kubedns.ask('db.acme.local', 'A')).rcode === 'NXDOMAIN';
    });
    await api.apply(configMap({ upstreamNameservers: 7 }, 'dns', 'infra'));
    await kubedns.waitForLine(
      /config: upstreamNameservers: not an array of strings: write it as .*; keeping the previous/,
    );
    expect((await kubedns.ask('example.com', 'A')).rcode).toBe('NXDOMAIN');
  });

  it('is replaced by the defaults while it is denied', async () => {
    api.failRequests({ status: 403, resource: 'configmaps' });
    const kubedns = await start(...args).ready();
    await kubedns.waitForLine(/W.* ConfigMap infra\/dns could not be read yet; using the defaults/);
    await until('ready', async () => (await kubedns.get('/readiness'))[0] === 200);
    const { answers } = await kubedns.ask('ext.default.svc.cluster.local', 'CNAME');
    expect(answers).toHaveLength(1);
  });

  it('does not prevent the end of the program while the API server hangs', async () => {
    api.hang();
    const kubedns = start(...args, '--initial-sync-timeout=50ms');
    expect(await kubedns.program.ended).toBe(255);
    expect(kubedns.fatalErrors).toEqual([
      'kubedns: no complete list of services, endpointslices, namespaces within 50 ms',
    ]);
  });
});

describe('SIGHUP', () => {
  it('applies the configuration again and ends nothing', async () => {
    const kubedns = await start().ready();
    await kubedns.waitForLine(/name servers: 127/);
    kubedns.program.signal('SIGHUP');
    await kubedns.waitForLine(/name servers: 127[^]*name servers: 127/);
    expect((await kubedns.ask('example.com', 'A')).rcode).toBe('NXDOMAIN');
  });
});
