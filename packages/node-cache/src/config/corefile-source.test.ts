import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLog, StartupError } from '@kube-dns/daemon';
import { type ConfigKeys, ConfigVolume, TemporaryFolder, until } from '@kube-dns/testkit';
import type { ServerBlock } from '../corefile/server-block.js';
import {
  type CorefileEvents,
  CorefileSource,
  type CorefileSourceOptions,
} from './corefile-source.js';

/** No poll comes to the help of a test that waits for a notice of a change. */
const NEVER_MS = 3_600_000;
const SOON_MS = 100;
const ROOT =
  '.:53 {\n    cache 30\n    bind __PILLAR__LOCAL__DNS__\n    forward . __PILLAR__UPSTREAM__SERVERS__\n}\n';
const CLUSTER = 'cluster.local:53 {\n    forward . __PILLAR__CLUSTER__DNS__\n}\n';

let folder: TemporaryFolder;
let template: ConfigVolume;
let configMap: ConfigVolume;
let source: CorefileSource;
let lines: string[];
let applied: (readonly ServerBlock[])[];
let address: string | undefined;

beforeEach(async () => {
  folder = new TemporaryFolder();
  template = await ConfigVolume.create({ 'Corefile.base': ROOT });
  configMap = await ConfigVolume.create({});
  lines = [];
  applied = [];
  address = '10.96.0.20';
});

afterEach(async () => {
  source.close();
  await Promise.all([folder.close(), template.close(), configMap.close()]);
});

async function start(
  options: Partial<CorefileSourceOptions & CorefileEvents> & {
    readonly file?: string;
    readonly templateFolder?: string;
  } = {},
): Promise<void> {
  source = new CorefileSource({
    corefile: {
      templateFile: join(options.templateFolder ?? template.path, 'Corefile.base'),
      file: options.file ?? written(),
      kubeDnsFolder: configMap.path,
      upstreamService: 'kube-dns-upstream',
      localAddresses: ['169.254.20.10', 'fd00::a'],
      port: 53,
      prometheusAddress: ':9253',
    },
    log: createLog({ name: 'test', verbosity: 0, write: (line) => void lines.push(line) }),
    lookup: () => address,
    periodMs: NEVER_MS,
    ...options,
  });
  await source.start({ onChange: (blocks) => void applied.push(blocks), ...options });
}

const written = () => join(folder.path, 'Corefile');
const log = () => lines.join('');
const putTemplate = (text: string) => template.put({ 'Corefile.base': text });
const putConfig = (keys: ConfigKeys) => configMap.put(keys);
const zones = () => (applied.at(-1) ?? []).map(({ zones: [key] }) => key?.zone);
const targets = () => applied.at(-1)?.[0]?.forward?.targets;

describe('the Corefile at the start', () => {
  it('is made of template and ConfigMap, written, logged and applied once', async () => {
    await putConfig({ upstreamNameservers: ['192.0.2.1'], stubDomains: { 'a.b': ['192.0.2.2'] } });
    await start();
    expect(applied).toHaveLength(1);
    expect(zones()).toEqual(['.', 'a.b']);
    expect(applied[0]?.[0]?.addresses).toEqual(['169.254.20.10', 'fd00::a']);
    expect(targets()).toMatchObject([{ address: '192.0.2.1' }]);
    expect(readFileSync(written(), 'utf8')).toContain('forward . 192.0.2.1\n}\n\na.b:53 {');
    expect(log()).toContain(
      'Updated Corefile with 1 custom stubdomains and upstream servers 192.0.2.1\n',
    );
    expect(log()).toMatch(/Using config file:\n.*\.:53 \{\n/);
    expect(log()).toMatch(/plugin\/reload: Running configuration SHA512 = [0-9a-f]{128}\n/);
    expect(source.errors).toEqual({ configmap: 0, refused: 0 });
  });

  it('ends the start when it is refused', async () => {
    await putTemplate('.:53 {\n    rewrite a\n    cache -1\n}\n');
    const failure = expect(start()).rejects;
    await failure.toThrow(StartupError);
    expect(source.lastRefused).toEqual([
      expect.stringMatching(/Corefile: line 2: rewrite a: there is no rule for "a"/),
      expect.stringMatching(/Corefile: line 3: cache -1: "-1" is not a whole number/),
    ]);
  });

  it('ends the start when there is none, and is the written one without a template', async () => {
    await template.put({});
    await expect(start()).rejects.toThrow(
      /^Failed to read node-cache coreFile .*Corefile\.base - no such file/,
    );
    source.close();
    writeFileSync(written(), 'a.b:53 {\n}\n');
    await start();
    expect(zones()).toEqual(['a.b']);
    expect(source.errors.configmap).toBe(1);
    await putTemplate(ROOT);
    await until('the template', () => zones()[0] === '.');
  });

  it('ends the start when the template is no file', async () => {
    mkdirSync(join(folder.path, 'Corefile.base'));
    await expect(start({ templateFolder: folder.path })).rejects.toThrow(
      /^Failed to read node-cache coreFile .* - is a directory$/,
    );
  });

  it('is applied when it cannot be written, which is counted', async () => {
    mkdirSync(written());
    await start();
    expect(applied).toHaveLength(1);
    expect(log()).toContain(`Failed to write config file ${written()} - err `);
    expect(source.errors.configmap).toBe(1);
  });

  it('says that there is no folder of a ConfigMap', async () => {
    const corefile = {
      templateFile: join(template.path, 'Corefile.base'),
      file: written(),
      kubeDnsFolder: '',
      upstreamService: 'kube-dns',
      localAddresses: ['::1'],
      port: 53,
      prometheusAddress: '',
    };
    address = undefined;
    await start({ corefile, defaultFolder: join(folder.path, 'absent') });
    expect(log()).toContain('Skipping kube-dns configmap sync as no directory was specified\n');
    expect(log()).toContain(
      'Unable to lookup IP address of Upstream service kube-dns, env $KUBE_DNS_SERVICE_HOST\n',
    );
  });
});

describe('the Corefile at run time', () => {
  it('follows both folders at once', async () => {
    await start();
    await putTemplate(`${ROOT}a.b:53 {\n}\n`);
    await until('the template', () => zones().includes('a.b'));
    await putConfig({ stubDomains: { 'c.d': ['192.0.2.2'] } });
    await until('the ConfigMap', () => zones().includes('c.d'));
    expect(readFileSync(written(), 'utf8')).toContain('c.d:53 {');
    await putConfig({});
    await until('an empty ConfigMap', () => !zones().includes('c.d'));
  });

  it('is not applied again when nothing of it changes', async () => {
    await start();
    await template.put({ 'Corefile.base': ROOT, other: 'x' });
    await putConfig({ upstreamNameservers: ['192.0.2.1'] });
    await until('the ConfigMap', () => applied.length > 1);
    expect(applied).toHaveLength(2);
  });

  it('takes a ConfigMap that was broken at the start once it is mended', async () => {
    await putConfig({ upstreamNameservers: '["192.0.2.1"' });
    await start();
    expect(targets()).toEqual([{ resolvFile: '/etc/resolv.conf' }]);
    expect(log()).toContain(`Failed to sync kube-dns config directory ${configMap.path}, err: `);
    expect(source.errors.configmap).toBe(1);
    await putConfig({ stubDomains: { 'a.b': ['ns.example'] } });
    await until('the second mistake', () => source.errors.configmap === 2);
    expect(log()).toContain('Invalid config: invalid nameservers [ns.example] for the stub domain');
    await putConfig({ upstreamNameservers: ['192.0.2.1'] });
    await until('the ConfigMap', () => applied.length > 1);
    expect(targets()).toMatchObject([{ address: '192.0.2.1' }]);
  });

  it('says why a ConfigMap is refused until it is mended', async () => {
    await start();
    expect(source.refused).toBeUndefined();
    const beforeMs = Date.now();
    await configMap.put({ stubDomain: '{}' });
    await until('the warning', () => source.warnings.length > 0);
    expect(source.warnings[0]).toContain('"stubDomain" is not known');
    expect(source.refused).toBeUndefined();
    await configMap.put({ queryLog: 'text,class=nosuch', stubDomains: '{' });
    await until('the refusal', () => source.refused !== undefined);
    const { atMs, reasons } = source.refused!;
    expect(atMs).toBeGreaterThanOrEqual(beforeMs);
    expect(reasons).toEqual([
      expect.stringContaining(`${configMap.path}: stubDomains: not JSON: `),
      expect.stringContaining(`${configMap.path}: queryLog: `),
    ]);
    await configMap.put({ queryLog: 'text,class=all' });
    await until('the mended one', () => source.refused === undefined);
  });

  it('stays when a new one is refused, which is counted and said once', async () => {
    await start();
    const good = readFileSync(written(), 'utf8');
    await putTemplate('.:53 {\n    nosuch\n}\n');
    await until('the refusal', () => source.errors.refused === 1);
    expect(log().match(/Corefile changed but reload failed: .*'nosuch'$/gm)).toHaveLength(1);
    expect(source.lastRefused).toHaveLength(1);
    expect(readFileSync(written(), 'utf8')).toBe(good);
    await putTemplate(ROOT);
    await until('the old one', () => source.lastRefused.length === 0);
    expect(applied).toHaveLength(1);
  });

  it('is offered again when it could not be applied', async () => {
    let isBusy = false;
    const onChange = (blocks: readonly ServerBlock[]) => {
      if (isBusy) throw new Error('the port is in use');
      applied.push(blocks);
    };
    await start({ onChange, periodMs: SOON_MS });
    isBusy = true;
    await putTemplate(`${ROOT}a.b:53 {\n}\n`);
    await until('the refusal', () => source.errors.refused === 1);
    expect(source.lastRefused).toEqual(['the port is in use']);
    isBusy = false;
    await until('the second attempt', () => zones().includes('a.b'));
    expect(source.lastRefused).toEqual([]);
    expect(source.errors).toEqual({ configmap: 0, refused: 1 });
  });

  it('waits for the address of the cluster’s DNS, and takes another one', async () => {
    address = undefined;
    await putTemplate(CLUSTER);
    await start({ periodMs: SOON_MS });
    expect(targets()).toEqual([]);
    expect(readFileSync(written(), 'utf8')).toContain('forward . <nil>\n');
    address = '10.96.0.20';
    await until('the address', () => targets()?.length === 1);
    expect(log()).toContain('Upstream service kube-dns-upstream has the address 10.96.0.20\n');
    expect(readFileSync(written(), 'utf8')).toContain('forward . 10.96.0.20\n');
    address = '10.96.0.21';
    source.refresh();
    await until('the new address', () => applied.length === 3);
    expect(targets()).toMatchObject([{ address: '10.96.0.21' }]);
  });
});
