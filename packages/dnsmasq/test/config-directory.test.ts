import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ask, statistic } from './client.js';
import { FakeUpstream } from './fake-upstream.js';
import { addressRecords } from './messages.js';
import { endProcesses, serve } from './processes.js';

let folder: string;
let upstreams: FakeUpstream[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dnsmasq-config-'));
  upstreams = await Promise.all(
    [1, 2, 3].map((n) =>
      FakeUpstream.start(() => ({ answers: addressRecords(100, `10.0.0.${n}`) })),
    ),
  );
});

afterEach(async () => {
  await endProcesses();
  await Promise.all(upstreams.map((upstream) => upstream.close()));
  await rm(folder, { recursive: true });
});

/** An upstream as the ConfigMap writes it. */
const server = (index: number) => `127.0.0.1:${upstreams[index]!.port}`;

/** Replaces a file of the directory at once. */
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

  it('is followed at run time: routes change, cache and counters stay', async () => {
    await write('stubDomains', JSON.stringify({ 'corp.example': [server(0)] }));
    const { port, process } = await serveWith(true);
    expect((await ask(port, 'old.corp.example')).texts).toEqual(['A 10.0.0.1']);
    const misses = await statistic(port, 'misses.bind');
    await write('stubDomains', JSON.stringify({ 'corp.example': [server(2)] }));
    await process.says(`using nameserver ${upstreams[2]!.text} for domain corp.example`);
    expect((await ask(port, 'new.corp.example')).texts).toEqual(['A 10.0.0.3']);
    expect((await ask(port, 'old.corp.example')).texts).toEqual(['A 10.0.0.1']);
    expect(upstreams[0]!.names).toEqual(['old.corp.example']);
    expect(await statistic(port, 'misses.bind')).toBe(misses + 1);
    expect(await statistic(port, 'insertions.bind')).toBe(2);
  });

  it.each([
    ['stubDomains', '{"corp.example": [', 'not JSON'],
    ['stubDomains', '{"corp.example": ["ns.example.com"]}', 'names of servers are not resolved'],
    ['upstreamNameservers', '["1.1.1.1:abc"]', 'is not a number'],
  ])('keeps its last good state for a bad %s: %s', async (key, text, reason) => {
    await write('stubDomains', JSON.stringify({ 'corp.example': [server(0)] }));
    const { port, process } = await serveWith(true);
    await write(key, text);
    await process.says('keeping the previous configuration');
    expect(process.messages.at(-1)).toContain(key);
    expect(process.messages.at(-1)).toContain(reason);
    expect((await ask(port, 'a.corp.example')).texts).toEqual(['A 10.0.0.1']);
    await write('stubDomains', JSON.stringify({ 'corp.example': [server(1)] }));
    if (key !== 'stubDomains') await rm(join(folder, key));
    await process.says(`using nameserver ${upstreams[1]!.text} for domain corp.example`);
    expect((await ask(port, 'b.corp.example')).texts).toEqual(['A 10.0.0.2']);
  });

  it('is not followed with -restartDnsmasq=false', async () => {
    await write('stubDomains', JSON.stringify({ 'corp.example': [server(0)] }));
    const { port, process } = await serveWith(false);
    await write('stubDomains', JSON.stringify({ 'corp.example': [server(1)] }));
    await process.says('not applied');
    expect((await ask(port, 'a.corp.example')).texts).toEqual(['A 10.0.0.1']);
  });

  it('may be missing at the start and come later', async () => {
    await rm(folder, { recursive: true });
    const { port, process } = await serveWith(true);
    expect((await ask(port, 'a.corp.example')).rcode).toBe('REFUSED');
    folder = await mkdtemp(folder).then(async (made) => {
      await rename(made, folder);
      return folder;
    });
    await write('upstreamNameservers', JSON.stringify([server(1)]));
    await process.says('using nameserver');
    expect((await ask(port, 'a.corp.example')).texts).toEqual(['A 10.0.0.2']);
  });
});
