import { mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseDnsConfig } from '@kube-dns/daemon';
import { serverText } from '@kube-dns/transport';
import { FakeUpstream } from '../../test/fake-upstream.js';
import { queryFor } from '../../test/messages.js';
import { type RecordedLog, recordedLog } from '../../test/recorded-log.js';
import { until } from '../../test/until.js';
import { ResolvFile } from '../config/resolv-file.js';
import { parseServerRule } from '../options/server-value.js';
import { ServerStatistics } from '../upstream/server-statistics.js';
import { Router } from './router.js';

let folder: string;
let resolvPath: string;
let log: RecordedLog;
let statistics: ServerStatistics;
let router: Router;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'router-'));
  resolvPath = join(folder, 'resolv.conf');
  log = recordedLog();
  statistics = new ServerStatistics();
});

afterEach(async () => {
  router.close();
  await rm(folder, { recursive: true });
});

function createRouter(...rules: string[]): void {
  router = new Router({
    rules: rules.map(parseServerRule),
    resolvFile: new ResolvFile(resolvPath, log),
    statistics,
    log,
  });
}

function configure(config: Readonly<Record<string, unknown>>): void {
  const files = Object.entries(config).map(([key, value]) => [key, JSON.stringify(value)] as const);
  router.configure(parseDnsConfig(new Map(files)));
}

const serversOf = (name: string) =>
  router.routes.find(queryFor({ name })).servers.map((server) => serverText(server));

describe('the sources of routes', () => {
  it('are the command line and the resolv file', async () => {
    await writeFile(resolvPath, 'nameserver 9.0.0.1\nsearch x\nnameserver 9.0.0.2\n');
    createRouter('/corp/1.0.0.1', '1.0.0.2');
    router.load();
    expect(serversOf('x.corp')).toEqual(['1.0.0.1#53']);
    expect(serversOf('x')).toEqual(['1.0.0.2#53', '9.0.0.1#53', '9.0.0.2#53']);
    expect(log.messages).toEqual([
      'using nameserver 1.0.0.2#53',
      'using nameserver 9.0.0.1#53',
      'using nameserver 9.0.0.2#53',
      'using nameserver 1.0.0.1#53 for domain corp',
    ]);
  });

  it('are the ConfigMap as well, whose upstream servers replace the resolv file', async () => {
    await writeFile(resolvPath, 'nameserver 9.0.0.1\n');
    createRouter('/corp/1.0.0.1');
    configure({ stubDomains: { 'lab.corp': ['2.0.0.1:5353'] }, upstreamNameservers: ['2.0.0.2'] });
    router.load();
    expect(serversOf('x.lab.corp')).toEqual(['2.0.0.1#5353']);
    expect(serversOf('x.corp')).toEqual(['1.0.0.1#53']);
    expect(serversOf('x')).toEqual(['2.0.0.2#53']);
    configure({});
    router.load();
    expect(serversOf('x.lab.corp')).toEqual(['1.0.0.1#53']);
    expect(serversOf('x')).toEqual(['9.0.0.1#53']);
  });

  it('stay as they are when a ConfigMap cannot be used', () => {
    createRouter();
    configure({ stubDomains: { corp: ['2.0.0.1'] } });
    expect(() => configure({ stubDomains: { corp: ['ns.example.com'] } })).toThrow('not resolved');
    router.load();
    expect(serversOf('x.corp')).toEqual(['2.0.0.1#53']);
  });

  it('are read again at each load', async () => {
    await writeFile(resolvPath, 'nameserver 9.0.0.1\n');
    createRouter();
    router.load();
    await writeFile(resolvPath, 'nameserver 9.0.0.2\n');
    expect(serversOf('x')).toEqual(['9.0.0.1#53']);
    router.load();
    expect(serversOf('x')).toEqual(['9.0.0.2#53']);
  });

  it('keep the servers of a resolv file that is gone, and drop those of an empty one', async () => {
    await writeFile(resolvPath, 'nameserver 9.0.0.1\n');
    createRouter();
    router.load();
    await unlink(resolvPath);
    router.load();
    expect(serversOf('x')).toEqual(['9.0.0.1#53']);
    expect(log.messages).toContainEqual(
      expect.stringMatching(/^cannot read the resolv file: .*ENOENT/),
    );
    await writeFile(resolvPath, '\n');
    router.load();
    expect(serversOf('x')).toEqual([]);
    expect(log.messages).toContain(`no servers found in ${resolvPath}`);
  });

  it('may have no server at all, which is said', () => {
    createRouter();
    router.load();
    expect(serversOf('x')).toEqual([]);
    expect(log.messages.at(-1)).toBe('no upstream servers configured');
  });

  it('are listed in their order up to a limit', async () => {
    await writeFile(resolvPath, 'nameserver 9.0.0.1\n');
    createRouter(...Array.from({ length: 40 }, (_, i) => `/d${i}/1.0.0.1`), '/secret/');
    router.load();
    expect(log.messages).toHaveLength(31);
    expect(log.messages.slice(0, 2)).toEqual([
      'using nameserver 9.0.0.1#53',
      'using nameserver 1.0.0.1#53 for domain d0',
    ]);
    expect(log.messages.at(-1)).toBe('using 12 more nameservers');
  });

  it('list domains that are not forwarded', () => {
    createRouter('/secret/', '1.0.0.1');
    router.load();
    expect(log.messages).toContain('using only locally-known addresses for secret');
  });
});

describe('the statistics', () => {
  it('count for the servers of every source, each once', async () => {
    await writeFile(resolvPath, 'nameserver 9.0.0.1\n');
    createRouter('/a/1.0.0.1', '/b/1.0.0.1');
    configure({ stubDomains: { corp: ['2.0.0.1'] } });
    router.load();
    expect([...statistics.entries()].map(([server]) => server)).toEqual([
      '1.0.0.1#53',
      '2.0.0.1#53',
      '9.0.0.1#53',
    ]);
  });
});

describe('default servers that lead back here', () => {
  let upstreams: FakeUpstream[];

  beforeEach(async () => {
    upstreams = [await FakeUpstream.start(() => null), await FakeUpstream.start(() => null)];
    createRouter(...upstreams.map(({ text }) => text), `/corp/${upstreams[0]!.text}`);
    router.load();
  });

  afterEach(() => Promise.all(upstreams.map((upstream) => upstream.close())));

  /** Waits for the next probe that reaches the first server, and lets it come back. */
  async function loopBack(act: () => void): Promise<void> {
    const { asked } = upstreams[0]!;
    const before = asked.length;
    act();
    await until(() => asked.length > before);
    router.loops.isOwnProbe(queryFor({ name: asked.at(-1)!.name, type: 'TXT' }));
  }

  it('are asked no more, but for the domains that are theirs', async () => {
    await loopBack(() => router.startProbing());
    expect(serversOf('x')).toEqual([upstreams[1]!.text]);
    expect(serversOf('x.corp')).toEqual([upstreams[0]!.text]);
    expect([...statistics.entries()]).toHaveLength(2);
  });

  it('get another chance, and another probe, at each load', async () => {
    await loopBack(() => router.startProbing());
    for (let load = 0; load < 2; load++) {
      await loopBack(() => {
        router.load();
        expect(serversOf('x')).toHaveLength(2);
      });
      expect(serversOf('x')).toEqual([upstreams[1]!.text]);
    }
  });

  it('are not looked for before probes can arrive', async () => {
    router.load();
    router.startProbing();
    await until(() => upstreams.every(({ asked }) => asked.length > 0));
    expect(upstreams.map(({ asked }) => asked.length)).toEqual([1, 1]);
  });
});
