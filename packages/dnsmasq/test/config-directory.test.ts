import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { addressRecords, ask, endPrograms, ScriptedNameServer, until } from '@kube-dns/testkit';
import { serve } from './processes.js';

let folder: string;
let upstreams: ScriptedNameServer[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dnsmasq-config-'));
  upstreams = await Promise.all(
    [1, 2, 3].map((n) =>
      ScriptedNameServer.start(() => ({ answers: addressRecords(100, `10.0.0.${n}`) })),
    ),
  );
});

afterEach(async () => {
  await endPrograms();
  await Promise.all(upstreams.map((upstream) => upstream.close()));
  await rm(folder, { recursive: true });
});

/** An upstream as the ConfigMap writes it. */
const server = (index: number) => `127.0.0.1:${upstreams[index]!.port}`;

/** Replaces a file of the directory atomically. */
async function write(key: string, text: string): Promise<void> {
  const draft = join(folder, `.${key}`);
  await writeFile(draft, text);
  await rename(draft, join(folder, key));
}

const serveWith = (restart: boolean) =>
  serve(
    ['--no-resolv'],
    [`-configDir=${folder}`, '-syncInterval=100ms', `-restartDnsmasq=${restart}`],
  );

describe('the configuration directory', () => {
  it('is read at the start', async () => {
    await write('stubDomains', JSON.stringify({ 'corp.example': [server(0)] }));
    await write('upstreamNameservers', JSON.stringify([server(1)]));
    const { port } = await serveWith(false);
    expect((await ask(port, 'a.corp.example')).texts).toEqual(['A 10.0.0.1']);
    expect((await ask(port, 'a.example')).texts).toEqual(['A 10.0.0.2']);
  });

  it('loses no query at a change: a waiting client gets the answer of the server that was asked', async () => {
    let release = (): void => undefined;
    upstreams[0]!.script = async () => {
      await new Promise<void>((resolve) => (release = resolve));
      return { answers: addressRecords(100, '10.0.0.1') };
    };
    await write('stubDomains', JSON.stringify({ 'corp.example': [server(0)] }));
    const { port, process } = await serveWith(true);
    const waiting = ask(port, 'a.corp.example');
    await until(() => upstreams[0]!.requests.length > 0);
    await write('stubDomains', JSON.stringify({ 'corp.example': [server(2)] }));
    await process.waitForLine(`using nameserver ${upstreams[2]!.text} for domain corp.example`);
    release();
    expect((await waiting).texts).toEqual(['A 10.0.0.1']);
    // And it did not go to the cache.
    expect((await ask(port, 'a.corp.example')).texts).toEqual(['A 10.0.0.3']);
  });

  it('may name servers: they are resolved by -kubednsServer, and then asked', async () => {
    upstreams[0]!.script = ({ type }) =>
      type === 'A' ? { answers: addressRecords(100, '127.0.0.1') } : {};
    // The port of a server by name is 53, which is not served here: the address shows in the log.
    await write('stubDomains', JSON.stringify({ 'corp.example': ['ns.dns.svc.cluster.local'] }));
    const { port, process } = await serve(
      ['--no-resolv'],
      [`-configDir=${folder}`, `-kubednsServer=${server(0)}`],
    );
    await process.waitForLine('the server ns.dns.svc.cluster.local is at 127.0.0.1');
    expect(upstreams[0]!.names).toContain('ns.dns.svc.cluster.local');
    await until(async () => {
      const { texts } = await ask(port, { name: 'servers.bind', type: 'TXT', class: 'CH' });
      return texts[0] === 'TXT 127.0.0.1#53 0 0';
    });
  });

  it('is not followed with -restartDnsmasq=false', async () => {
    await write('stubDomains', JSON.stringify({ 'corp.example': [server(0)] }));
    const { port, process } = await serveWith(false);
    await write('stubDomains', JSON.stringify({ 'corp.example': [server(1)] }));
    await process.waitForLine('not applied');
    expect((await ask(port, 'a.corp.example')).texts).toEqual(['A 10.0.0.1']);
  });

  it('may be missing at the start and appear later', async () => {
    await rm(folder, { recursive: true });
    const { port, process } = await serveWith(true);
    expect((await ask(port, 'a.corp.example')).rcode).toBe('REFUSED');
    folder = await mkdtemp(folder).then(async (made) => {
      await rename(made, folder);
      return folder;
    });
    await write('upstreamNameservers', JSON.stringify([server(1)]));
    await process.waitForLine('using nameserver');
    expect((await ask(port, 'a.corp.example')).texts).toEqual(['A 10.0.0.2']);
  });
});
