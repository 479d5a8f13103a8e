import { unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { encodeQuery, ScriptedNameServer, until } from '@kube-dns/testkit';
import { decodeName, readQuery } from '@kube-dns/wire';
import { ResolvFiles } from '../config/resolv-files.js';
import { ServersFile } from '../config/servers-file.js';
import { eventsWith, RouterTestbed } from '../../test/router-testbed.js';

let testbed: RouterTestbed;

beforeEach(() => {
  testbed = new RouterTestbed();
});

afterEach(() => testbed.close());

describe('the sources of routes', () => {
  it('are the command line and the resolv file', async () => {
    await writeFile(testbed.resolvPath, 'nameserver 9.0.0.1\nsearch x\nnameserver 9.0.0.2\n');
    testbed.create('/corp/1.0.0.1', '1.0.0.2');
    testbed.router.load();
    expect(testbed.serversOf('x.corp')).toEqual(['1.0.0.1#53']);
    expect(testbed.serversOf('x')).toEqual(['1.0.0.2#53', '9.0.0.1#53', '9.0.0.2#53']);
    expect(testbed.log.messages).toEqual([
      `reading ${testbed.resolvPath}`,
      'using nameserver 1.0.0.2#53',
      'using nameserver 9.0.0.1#53',
      'using nameserver 9.0.0.2#53',
      'using nameserver 1.0.0.1#53 for domain corp',
    ]);
  });

  it('are reported at each read, because local data depends on which domains have servers', async () => {
    const path = join(testbed.folder, 'servers');
    await writeFile(path, 'server=/file/1.0.0.3\nserver=/closed/\n');
    await writeFile(testbed.resolvPath, 'nameserver 9.0.0.1\n');
    const reported: string[][] = [];
    testbed.createWith(
      {
        serversFile: new ServersFile(path, testbed.log),
        events: eventsWith({
          onRulesRead: (rules) =>
            reported.push(
              rules.map(({ domains, target }) => `${decodeName(domains[0]!)} ${target.kind}`),
            ),
        }),
      },
      '/corp/1.0.0.1',
    );
    testbed.router.load();
    const fromFiles = ['corp server', 'file server', 'closed local'];
    expect(reported).toEqual([[...fromFiles, '. server']]);
    testbed.configure({
      stubDomains: { stub: ['2.0.0.1'] },
      upstreamNameservers: ['2.0.0.2', '2.0.0.3'],
    });
    expect(reported[1]).toEqual([...fromFiles, 'stub server', '. server', '. server']);
  });

  it('are the ConfigMap as well, whose upstream servers replace the resolv file', async () => {
    await writeFile(testbed.resolvPath, 'nameserver 9.0.0.1\n');
    testbed.create('/corp/1.0.0.1');
    testbed.configure({
      stubDomains: { 'lab.corp': ['2.0.0.1:5353'] },
      upstreamNameservers: ['2.0.0.2'],
    });
    testbed.router.load();
    expect(testbed.serversOf('x.lab.corp')).toEqual(['2.0.0.1#5353']);
    expect(testbed.serversOf('x.corp')).toEqual(['1.0.0.1#53']);
    expect(testbed.serversOf('x')).toEqual(['2.0.0.2#53']);
    testbed.configure({});
    testbed.router.load();
    expect(testbed.serversOf('x.lab.corp')).toEqual(['1.0.0.1#53']);
    expect(testbed.serversOf('x')).toEqual(['9.0.0.1#53']);
  });

  it('stay as they are when a ConfigMap cannot be used', () => {
    testbed.create();
    testbed.configure({ stubDomains: { corp: ['2.0.0.1'] } });
    expect(() => testbed.configure({ stubDomains: { corp: ['2.0.0.2:0'] } })).toThrow('port 0');
    testbed.router.load();
    expect(testbed.serversOf('x.corp')).toEqual(['2.0.0.1#53']);
  });

  it('are read again at each load', async () => {
    await writeFile(testbed.resolvPath, 'nameserver 9.0.0.1\n');
    testbed.create();
    testbed.router.load();
    await writeFile(testbed.resolvPath, 'nameserver 9.0.0.2\n');
    expect(testbed.serversOf('x')).toEqual(['9.0.0.1#53']);
    testbed.router.load();
    expect(testbed.serversOf('x')).toEqual(['9.0.0.2#53']);
  });

  it('retain the servers of a deleted resolv file, and drop those of an empty one', async () => {
    await writeFile(testbed.resolvPath, 'nameserver 9.0.0.1\n');
    testbed.create();
    testbed.router.load();
    await unlink(testbed.resolvPath);
    testbed.router.load();
    expect(testbed.serversOf('x')).toEqual(['9.0.0.1#53']);
    expect(testbed.log.messages).toContainEqual(
      expect.stringMatching(/^failed to access .*: .*ENOENT/),
    );
    await writeFile(testbed.resolvPath, '\n');
    testbed.router.load();
    expect(testbed.serversOf('x')).toEqual([]);
    expect(testbed.log.messages).toContain(`no servers found in ${testbed.resolvPath}, will retry`);
  });

  it('follow changes of the resolv file, and the newest of several', async () => {
    const other = join(testbed.folder, 'other.conf');
    await writeFile(testbed.resolvPath, 'nameserver 9.0.0.1\n');
    const paths = [testbed.resolvPath, other];
    let changes = 0;
    const onResolvFileChanged = () => changes++;
    testbed.createWith({
      resolvFiles: new ResolvFiles({ paths, log: testbed.log, periodMs: 20 }),
      events: eventsWith({ onResolvFileChanged }),
    });
    testbed.router.load();
    testbed.router.followResolvFiles();
    expect(changes).toBe(0);
    await writeFile(testbed.resolvPath, 'nameserver 9.0.0.2\nnameserver 9.0.0.3\n');
    await until(() => testbed.serversOf('x').join() === '9.0.0.2#53,9.0.0.3#53');
    expect(changes).toBe(1);
    await writeFile(other, 'nameserver 9.0.0.4\n');
    await utimes(other, new Date(), new Date(Date.now() + 10_000));
    await until(() => testbed.serversOf('x').join() === '9.0.0.4#53');
  });

  it('leave out this server itself, which is logged', () => {
    const own = { ownAddresses: [{ address: '127.0.0.1', port: 5353 }] };
    testbed.createWith(
      { own },
      '127.0.0.1#5353',
      '127.0.0.1#5354',
      '0.0.0.0#5353',
      '/a/127.0.0.1#5353',
    );
    testbed.router.load();
    expect(testbed.serversOf('x')).toEqual(['127.0.0.1#5354']);
    expect(testbed.serversOf('x.a')).toEqual(['127.0.0.1#5354']);
    expect(testbed.log.messages).toContain('ignoring nameserver 127.0.0.1#5353 - local interface');
  });

  it('are both asked for a stub domain that the command line has too, which is logged', () => {
    testbed.create('/Cluster.Local/1.0.0.1', '/local-only/', '1.0.0.2');
    testbed.router.load();
    const servers = ['2.0.0.1'];
    testbed.configure({
      stubDomains: { 'cluster.local': servers, 'local-only': servers, 'a.cluster.local': servers, other: servers }, // prettier-ignore
    });
    expect(testbed.serversOf('x.cluster.local')).toEqual(['1.0.0.1#53', '2.0.0.1#53']);
    expect(testbed.log.messages.filter((line) => line.startsWith('stubDomains'))).toEqual([
      'stubDomains cluster.local: the command line has servers for it as well, and any of them may answer',
    ]);
  });

  it('retain the state of a group whose servers stay', () => {
    testbed.create('/a/1.0.0.1', '1.0.0.2');
    testbed.router.load();
    const groupOf = (name: string) =>
      testbed.router.routes.find(readQuery(encodeQuery({ name }))).group;
    const before = [groupOf('x.a'), groupOf('x')];
    testbed.configure({ upstreamNameservers: ['3.0.0.1'] });
    expect(groupOf('x.a')).toBe(before[0]);
    expect(groupOf('x')).not.toBe(before[1]);
  });

  it('report which domains have other servers than before', () => {
    const changed: string[] = [];
    const onDomainsChanged = (domains: readonly Uint8Array[]) =>
      void changed.push(domains.map((domain) => decodeName(domain)).join());
    testbed.createWith({ events: eventsWith({ onDomainsChanged }) });
    testbed.configure({ stubDomains: { a: ['1.0.0.1'], b: ['1.0.0.2'], c: ['1.0.0.3'] } });
    testbed.router.load();
    testbed.configure({ stubDomains: { a: ['1.0.0.1'], b: ['1.0.0.9'], d: ['1.0.0.4'] } });
    testbed.configure({ stubDomains: { a: ['1.0.0.1'], b: ['1.0.0.9'], d: ['1.0.0.4'], e: [] } });
    testbed.configure({
      stubDomains: { a: ['1.0.0.1'], b: ['1.0.0.9'] },
      upstreamNameservers: ['1.1.1.1'],
    });
    expect(changed).toEqual(['b,c,d', 'd,.']);
  });

  it('are the lines of the servers file as well, whose bad lines are logged and skipped', async () => {
    const path = join(testbed.folder, 'servers');
    const lines = ['# one', 'server=/a/1.0.0.1', 'rev-server=10.0.0.0/8,1.0.0.4 # ten', ''];
    await writeFile(path, [...lines, 'server=1.2.3.4#x', 'address=/x/1.2.3.4'].join('\n'));
    testbed.createWith({ serversFile: new ServersFile(path, testbed.log) }, '1.0.0.2');
    testbed.router.load();
    expect(testbed.serversOf('x.a')).toEqual(['1.0.0.1#53']);
    expect(testbed.serversOf('1.2.3.10.in-addr.arpa')).toEqual(['1.0.0.4#53']);
    expect(testbed.serversOf('x')).toEqual(['1.0.0.2#53']);
    expect(testbed.log.messages).toContain(`bad port at line 5 of ${path} (bad port "x")`);
    expect(testbed.log.messages).toContain(`illegal option at line 6 of ${path}`);
    await writeFile(path, 'server=/a/1.0.0.3\n');
    testbed.router.load();
    expect(testbed.serversOf('x.a')).toEqual(['1.0.0.3#53']);
  });

  it('are reported as rules at each load: those of the command line, the file and the ConfigMap', async () => {
    const path = join(testbed.folder, 'servers');
    await writeFile(path, 'server=/b/1.0.0.2\n');
    const read: string[] = [];
    testbed.createWith(
      {
        serversFile: new ServersFile(path, testbed.log),
        events: eventsWith({
          onRulesRead: (rules) =>
            void read.push(rules.map(({ domains: [domain] }) => decodeName(domain!)).join()),
        }),
      },
      '/a/1.0.0.1',
    );
    testbed.configure({ stubDomains: { c: ['1.0.0.3'] } });
    testbed.router.load();
    testbed.configure({});
    expect(read).toEqual(['a,b,c', 'a,b']);
  });

  it('may have no server at all, which is logged', () => {
    testbed.create();
    testbed.router.load();
    expect(testbed.serversOf('x')).toEqual([]);
    expect(testbed.log.messages.at(-1)).toBe('warning: no upstream servers configured');
  });

  it('are listed in their order up to a limit', async () => {
    await writeFile(testbed.resolvPath, 'nameserver 9.0.0.1\n');
    testbed.create(...Array.from({ length: 40 }, (_, i) => `/d${i}/1.0.0.1`), '/secret/');
    testbed.router.load();
    expect(testbed.log.messages).toHaveLength(33);
    expect(testbed.log.messages.slice(1, 3)).toEqual([
      'using nameserver 9.0.0.1#53',
      'using nameserver 1.0.0.1#53 for domain d0',
    ]);
    expect(testbed.log.messages.slice(-2)).toEqual([
      'using only locally-known addresses for secret',
      'using 11 more nameservers',
    ]);
  });

  it('list domains that are not forwarded', () => {
    testbed.create('/secret/', '1.0.0.1');
    testbed.router.load();
    expect(testbed.log.messages).toContain('using only locally-known addresses for secret');
  });
});

describe('the statistics', () => {
  it('list the servers of every source, each once', async () => {
    await writeFile(testbed.resolvPath, 'nameserver 9.0.0.1\n');
    testbed.create('/a/1.0.0.1', '/b/1.0.0.1');
    testbed.configure({ stubDomains: { corp: ['2.0.0.1'] } });
    testbed.router.load();
    expect([...testbed.statistics.entries()].map(([server]) => server)).toEqual([
      '1.0.0.1#53',
      '2.0.0.1#53',
      '9.0.0.1#53',
    ]);
  });
});

describe('default servers that forward queries back here', () => {
  let fakes: ScriptedNameServer[];

  beforeEach(async () => {
    fakes = [
      await ScriptedNameServer.start(() => null),
      await ScriptedNameServer.start(() => null),
    ];
    testbed.create(...fakes.map(({ text }) => text), `/corp/${fakes[0]!.text}`);
    testbed.router.load();
  });

  afterEach(() => Promise.all(fakes.map((upstream) => upstream.close())));

  /** Waits for the next probe that reaches the first server, and reports it as received here. */
  async function loopBack(act: () => void): Promise<void> {
    const { requests } = fakes[0]!;
    const before = requests.length;
    act();
    await until(() => requests.length > before);
    testbed.router.loops.isOwnProbe(
      readQuery(encodeQuery({ name: requests.at(-1)!.name, type: 'TXT' })),
    );
  }

  it('are no longer asked, except for their own domains', async () => {
    await loopBack(() => testbed.router.startProbing());
    expect(testbed.serversOf('x')).toEqual([fakes[1]!.text]);
    expect(testbed.serversOf('x.corp')).toEqual([fakes[0]!.text]);
    expect([...testbed.statistics.entries()]).toHaveLength(2);
  });

  it('are tried again, with another probe, at each load', async () => {
    await loopBack(() => testbed.router.startProbing());
    for (let load = 0; load < 2; load++) {
      await loopBack(() => {
        testbed.router.load();
        expect(testbed.serversOf('x')).toHaveLength(2);
      });
      expect(testbed.serversOf('x')).toEqual([fakes[1]!.text]);
    }
  });

  it('are not probed before probes can arrive', async () => {
    testbed.router.load();
    testbed.router.startProbing();
    await until(() => fakes.every(({ requests }) => requests.length > 0));
    expect(fakes.map(({ requests }) => requests.length)).toEqual([1, 1]);
  });
});
