import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseFlags } from '@kube-dns/base';
import { type DnsConfig, EMPTY_DNS_CONFIG, StartupError } from '@kube-dns/daemon';
import { until } from '@kube-dns/testkit';
import { recordedLog, type RecordedLog } from '../../test/support/recorded-log.js';
import { ApiClient, loadKubeConfig } from '../watch/api-client.js';
import { Configuration } from './configuration.js';
import { PROGRAM } from './flags.js';

/** Nobody is there: what these tests read does not come from the API. */
const NOWHERE = 'http://127.0.0.1:1';

let folder: string;
let log: RecordedLog;
let client: ApiClient;
let applied: DnsConfig[];
let opened: Configuration[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubedns-'));
  log = recordedLog();
  client = new ApiClient(loadKubeConfig({ kubecfgFile: '', masterUrl: NOWHERE }), 'test');
  applied = [];
  opened = [];
});
afterEach(async () => {
  for (const configuration of opened) await configuration.close();
  client.close();
  await rm(folder, { recursive: true, force: true });
});

function create(...argv: string[]): Configuration {
  const flags = parseFlags(PROGRAM, argv).values;
  const apply = (config: DnsConfig) => void applied.push(config);
  const configuration = new Configuration({ flags, client, log, apply });
  opened.push(configuration);
  return configuration;
}

const put = (key: string, text: string) => writeFile(join(folder, key), text);

describe('the configuration of the flags', () => {
  it('comes from --nameservers and --federations, the second one with a warning', async () => {
    const configuration = create('--nameservers=192.0.2.1', '--federations=one=a.b');
    await configuration.start();
    expect(applied).toEqual([
      {
        ...EMPTY_DNS_CONFIG,
        upstreamNameservers: ['192.0.2.1'],
        federations: new Map([['one', 'a.b']]),
      },
    ]);
    expect(configuration.source).toBe('flags');
    expect(log.lines).toEqual(['W --federations is deprecated: use the key of the ConfigMap']);
  });
});

describe('the configuration of a directory', () => {
  it('overrides the flags, which is logged', async () => {
    await put('upstreamNameservers', '["192.0.2.2"]');
    const configuration = create(
      `--config-dir=${folder}`,
      '--nameservers=192.0.2.1',
      '--federations=one=a.b',
    );
    await configuration.start();
    expect(applied).toEqual([{ ...EMPTY_DNS_CONFIG, upstreamNameservers: ['192.0.2.2'] }]);
    expect(log.lines).toEqual([
      'W --federations is deprecated: use the key of the ConfigMap',
      'W --federations is not used: the configuration comes from the directory',
      'W --nameservers is not used: the configuration comes from the directory',
    ]);
    expect(configuration.source).toBe('directory');
    expect(configuration.version).toMatch(/^[0-9a-f]{64}$/);
    expect(configuration.appliedMs).toBeGreaterThan(0);
    expect(configuration.rejected).toBe(0);
  });

  it('is replaced whole by the next version, and by the defaults when there is nothing left', async () => {
    await put('upstreamNameservers', '["192.0.2.2"]');
    await create(`--config-dir=${folder}`, '--config-period=100ms').start();
    await put('federations', 'one=a.b');
    await until('the second version', () => applied.length >= 2);
    expect(applied[1]).toEqual({
      ...EMPTY_DNS_CONFIG,
      upstreamNameservers: ['192.0.2.2'],
      federations: new Map([['one', 'a.b']]),
    });
    await rm(join(folder, 'upstreamNameservers'));
    await rm(join(folder, 'federations'));
    await until('the defaults', () => applied.at(-1)?.upstreamNameservers.length === 0);
    await until('all of them', () => applied.at(-1)?.federations.size === 0);
  });

  it('is the defaults when it is invalid at the start; each mistake is logged and the version counted', async () => {
    await put('upstreamNameservers', '["a.b", "192.0.2.1:0"]');
    await put('stubDomains', '{"UPPER": []}');
    const configuration = create(`--config-dir=${folder}`);
    await configuration.start();
    expect(applied).toEqual([EMPTY_DNS_CONFIG]);
    expect(configuration.rejected).toBe(1);
    expect(configuration.version).toBe('');
    const last = '; keeping the previous configuration';
    expect(log.lines).toEqual([
      `E config: stubDomains: "UPPER" is not a domain${last}`,
      `E config: upstreamNameservers: "a.b": not an IP address${last}`,
      `E config: upstreamNameservers: "192.0.2.1:0": port 0 is not possible${last}`,
    ]);
  });

  it('stays when the next version is wrong', async () => {
    await put('upstreamNameservers', '["192.0.2.2"]');
    const configuration = create(`--config-dir=${folder}`, '--config-period=100ms');
    await configuration.start();
    const { version } = configuration;
    await put('stubDomains', 'nonsense');
    await until('refused', () => configuration.rejected === 1);
    expect(applied).toHaveLength(1);
    expect(configuration.version).toBe(version);
  });

  it('is the defaults while the directory is not there', async () => {
    await rm(folder, { recursive: true });
    const configuration = create(`--config-dir=${folder}`);
    await configuration.start();
    expect(applied).toEqual([EMPTY_DNS_CONFIG]);
    expect(configuration.rejected).toBe(0);
    expect(log.lines[0]).toMatch(/^I config: .* does not exist yet/);
  });
});

describe('the configuration of a ConfigMap', () => {
  it('cannot be had together with that of a directory', () => {
    expect(() => create('--config-map=kube-dns', `--config-dir=${folder}`)).toThrow(
      new StartupError('--config-map and --config-dir cannot both be used', 255),
    );
  });

  it('can be closed while its start waits for the API server', async () => {
    const configuration = create('--config-map=kube-dns');
    const started = configuration.start();
    await configuration.close();
    await configuration.close();
    await started;
    expect(configuration.source).toBe('configmap');
  });
});
