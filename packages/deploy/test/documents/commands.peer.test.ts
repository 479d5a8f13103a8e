import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApiServer, type ApiServer } from '@kube-dns/apiserver';
import { stringify } from 'yaml';
import {
  addressRecords,
  EncryptedNameServer,
  freePort,
  LoopbackUpstream,
  needsPrograms,
  outputOf,
  TemporaryFolder,
  TestAuthority,
  unless,
  untilEqual,
} from '@kube-dns/testkit';
import {
  commandWith,
  CheckoutCommands,
  replaceAll,
  shellBlock,
  type Replacements,
} from '../support/shell-block.js';
import { read } from './documents.js';

const page = read('docs/try.md');

unless(needsPrograms('dig'), describe)('the commands of docs/try.md', () => {
  let server: ApiServer;
  let upstream: LoopbackUpstream;
  const folder = new TemporaryFolder();

  beforeAll(async () => {
    server = await createApiServer();
    upstream = await LoopbackUpstream.start();
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'test', cluster: { server: server.url } }],
      users: [{ name: 'me', user: { token: 'secret' } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'me' } }],
      'current-context': 'test',
    };
    folder.file('config', stringify(config));
  });
  afterAll(async () => {
    await upstream.close();
    await server.close();
    await folder.close();
  });

  /** A free port for each of these, and what else is not as on that page. */
  async function replacementsFor(...ports: readonly string[]): Promise<Replacements> {
    const free = ports.map(async (port) => [port, `${await freePort()}`] as const);
    return new Map([
      ...(await Promise.all(free)),
      ['$HOME/.kube/config', `${folder.path}/config`],
      ['9.9.9.9', `127.0.0.1#${upstream.port}`],
    ]);
  }

  /** Nothing that is asked here is for them; ports and times are for a test. */
  const forKubedns = async () => [
    `--healthz-port=${await freePort()}`,
    `--nameservers=127.0.0.1:${upstream.port}`,
    '--drain-time=0s',
  ];
  /** What dig prints; nothing until the program answers. */
  const dig = (words: readonly string[]) => outputOf('dig', words).catch(() => '');
  const shortAnswer = (port: string | undefined, ...words: readonly string[]) =>
    dig(['@127.0.0.1', '-p', port ?? '', '+short', ...words]);
  /** The first match in a page, once it is served. */
  const inPage = async (port: string | undefined, path: string, pattern: RegExp) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
    return pattern.exec(`${response?.status} ${await response?.text()}`)?.[0];
  };

  describe('under "Run one component alone"', () => {
    const commands = shellBlock(page, 'Run one component alone');
    const programs = new CheckoutCommands();
    let ports: Replacements;

    beforeAll(async () => {
      ports = await replacementsFor('10053', '1053', '10054', '10055', '10056');
      const command = (name: string) => replaceAll(commandWith(commands, name), ports);
      programs.start(command('kubedns'), ...(await forKubedns()));
      programs.start(command('dnsmasq'));
      programs.start(command('sidecar'), `--prometheus-port=${ports.get('10054')}`);
    });
    afterAll(() => programs.close());

    it('give kubedns the records of the cluster, and metrics', async () => {
      const name = 'kubernetes.default.svc.cluster.local';
      await untilEqual('10.96.0.1', () => shortAnswer(ports.get('10053'), name));
      const line = 'kubedns_ready 1';
      await untilEqual(line, () => inPage(ports.get('10055'), '/metrics', /^kubedns_ready .*/m));
    });

    it('give dnsmasq a name server and a cache, and metrics', async () => {
      await untilEqual('192.0.2.1', () => shortAnswer(ports.get('1053'), 'www.example.com'));
      const size = /^dnsmasq_cache_max_records .*/m;
      const line = 'dnsmasq_cache_max_records 1000';
      await untilEqual(line, () => inPage(ports.get('10056'), '/metrics', size));
    });

    it('give the sidecar a probe of dnsmasq, and metrics', async () => {
      const curl = commandWith(commands, 'curl');
      const [, port = '', path = ''] = /^curl 127\.0\.0\.1:(\d+)(\/\S+)$/.exec(curl) ?? [];
      await untilEqual('200', () => inPage(ports.get(port), path, /^\d+/));
      const up = /^kubedns_probe_dnsmasq_up .*/m;
      expect(await inPage(ports.get('10054'), '/metrics', up)).toBe('kubedns_probe_dnsmasq_up 1');
    });
  });

  describe('under "Encrypted upstreams"', () => {
    const NAME = 'dns.quad9.net';
    const commands = shellBlock(page, 'Encrypted upstreams');
    const programs = new CheckoutCommands();
    const authority = new TestAuthority();
    let quad9: EncryptedNameServer;

    /** Starts the command with this name after `%`, and returns what the one with dig shows. */
    async function startWith(name: string): Promise<() => Promise<string>> {
      const replacements = new Map([
        ['1053', `${await freePort()}`],
        ['9.9.9.9', `127.0.0.1#${quad9.port}`],
        [NAME, name],
      ]);
      const ca = `--tls-ca=${folder.file('ca.pem', authority.cert)}`;
      programs.start(replaceAll(commandWith(commands, 'dnsmasq'), replacements), ca);
      const [, ...words] = replaceAll(commandWith(commands, 'dig'), replacements).split(' ');
      return () => dig(words);
    }
    /** The Extended DNS Error in a text, whatever its age. */
    const errorIn = (text: string, code = '\\d+') =>
      new RegExp(`^; EDE: ${code} .*$`, 'm').exec(text)?.[0].replace(/\d+ s/, 'N s') ?? '';

    beforeAll(async () => {
      const script = () => ({ answers: addressRecords(1, '192.0.2.1') });
      const certificate = authority.issue({ names: [NAME] });
      quad9 = await EncryptedNameServer.start(script, { certificate });
    });
    afterAll(async () => {
      await programs.close();
      await quad9.close();
    });

    it('ask over TLS, and show an expired answer when the server is away', async () => {
      const dug = await startWith(NAME);
      await untilEqual(true, async () => (await dug()).includes('192.0.2.1'));
      quad9.script = () => null;
      await untilEqual(errorIn(page, '3'), async () => errorIn(await dug()));
    });

    it('show why a server with another name is not asked', async () => {
      const dug = await startWith('wrong.example');
      const shown = errorIn(page, '23').replace('9.9.9.9#853', `127.0.0.1#${quad9.port}`);
      await untilEqual(shown, async () => errorIn(await dug()));
    });
  });

  describe('under "Local cluster DNS on your laptop"', () => {
    const commands = shellBlock(page, 'Local cluster DNS on your laptop');
    const programs = new CheckoutCommands();
    let ports: Replacements;

    beforeAll(async () => {
      ports = await replacementsFor('10053', '1053');
      const command = (name: string) => replaceAll(commandWith(commands, name), ports);
      programs.start(command('kubedns'), ...(await forKubedns()));
      programs.start(command('dnsmasq'));
    });
    afterAll(() => programs.close());

    it('resolve the names of the cluster, as the last of them shows, and its addresses', async () => {
      const [, ...words] = replaceAll(commandWith(commands, 'dig'), ports).split(' ');
      await untilEqual('10.96.0.1', () => dig(words));
      const name = 'kubernetes.default.svc.cluster.local.';
      await untilEqual(name, () => shortAnswer(ports.get('1053'), '-x', '10.96.0.1'));
      // Each program took all of its arguments.
      expect(programs.log).not.toMatch(/unknown|(is|;) not used|unsupported|usage/i);
    });
  });
});
