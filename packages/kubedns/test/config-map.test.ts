import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { ConfigError } from '@kube-dns/daemon';
import { until } from '@kube-dns/testkit';
import { ApiClient, loadKubeConfig } from '../src/watch/api-client.js';
import { ConfigMapSource, type ConfigMapSourceOptions } from '../src/config/configuration.js';
import { recordedLog, type RecordedLog } from './support/recorded-log.js';

let api: ApiServer;
let log: RecordedLog;
let client: ApiClient;
let sources: ConfigMapSource[];
/** What was delivered: the keys with their texts. */
let delivered: Record<string, string>[];
beforeEach(async () => {
  api = await createApiServer();
  log = recordedLog();
  client = new ApiClient(loadKubeConfig({ kubecfgFile: '', masterUrl: api.url }), 'test');
  sources = [];
  delivered = [];
});
afterEach(async () => {
  for (const source of sources) await source.close();
  client.close();
  await api.close();
});

function configMap(data: Record<string, string>, name = 'kube-dns', annotations = {}) {
  const metadata = { name, namespace: 'kube-system', annotations };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
}

async function follow(options: Partial<ConfigMapSourceOptions> = {}): Promise<ConfigMapSource> {
  const source = new ConfigMapSource({
    client,
    namespace: 'kube-system',
    name: 'kube-dns',
    log,
    onChange: ({ files }) => void delivered.push(Object.fromEntries(files)),
    random: () => 0,
    pace: { deniedPauseMs: 10, firstPauseMs: 10 },
    // Only a hang reaches it.
    startLimitMs: 60_000,
    ...options,
  });
  sources.push(source);
  await source.start();
  return source;
}

const watching = () => until('the watch', () => api.watchCount('configmaps') > 0);
const deliveries = (count: number) => until(`${count} deliveries`, () => delivered.length >= count);

describe('ConfigMapSource', () => {
  it('delivers an existing ConfigMap before start resolves', async () => {
    await api.apply(configMap({ b: '2', a: '1' }));
    await follow();
    expect(delivered).toEqual([{ a: '1', b: '2' }]);
  });

  it('outsider 2: is applied before start resolves, however many turns that takes; then the latest one is', async () => {
    await api.apply(configMap({ key: '1' }));
    let [active, most] = [0, 0];
    await follow({
      onChange: async ({ files }) => {
        most = Math.max(most, ++active);
        for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
        active--;
        delivered.push(Object.fromEntries(files));
      },
    });
    expect(delivered).toEqual([{ key: '1' }]);
    await watching();
    for (const key of ['2', '3', '4']) await api.apply(configMap({ key }));
    await until('the latest', () => delivered.at(-1)?.key === '4');
    expect(most).toBe(1);
  });

  it('delivers no content for a missing ConfigMap, and its content when it is created', async () => {
    await follow();
    expect(delivered).toEqual([{}]);
    expect(log.lines).toContain('I config: there is no ConfigMap kube-system/kube-dns');
    await watching();
    await api.apply(configMap({ a: '1' }));
    await deliveries(2);
    expect(delivered[1]).toEqual({ a: '1' });
  });

  it('treats the deletion as a ConfigMap without keys', async () => {
    await api.apply(configMap({ a: '1' }));
    await follow();
    await watching();
    api.delete('ConfigMap', 'kube-system', 'kube-dns');
    await deliveries(2);
    expect(delivered[1]).toEqual({});
  });

  it('asks for no other ConfigMap of the namespace, and is not moved by one', async () => {
    await api.apply([configMap({ a: '1' }), configMap({ a: 'wrong' }, 'other')]);
    await follow();
    expect(log.lines).toContain('I /api/v1/namespaces/kube-system/configmaps: 1 objects');
    await watching();
    await api.apply(configMap({ a: 'wrong too' }, 'other'));
    await api.apply(configMap({ a: '2' }));
    await deliveries(2);
    api.delete('ConfigMap', 'kube-system', 'other');
    await api.apply(configMap({ a: '3' }));
    await deliveries(3);
    expect(delivered).toEqual([{ a: '1' }, { a: '2' }, { a: '3' }]);
  });

  it('delivers a version once, whatever else changes in the object', async () => {
    await api.apply(configMap({ a: '1' }));
    await follow();
    await watching();
    await api.apply(configMap({ a: '1' }, 'kube-dns', { note: 'changed' }));
    api.dropWatches();
    await api.apply(configMap({ a: '2' }));
    await deliveries(2);
    expect(delivered).toEqual([{ a: '1' }, { a: '2' }]);
  });

  it('logs once why a version is refused, and counts it', async () => {
    await api.apply(configMap({ a: 'bad' }));
    const offered: string[] = [];
    const source = await follow({
      onChange: ({ files }) => {
        offered.push(files.get('a') ?? '');
        if (files.get('a') === 'bad') throw new ConfigError(['a: is bad', 'b: is missing']);
      },
    });
    await watching();
    await api.apply(configMap({ a: 'bad' }, 'kube-dns', { note: 'changed' }));
    await api.apply(configMap({ a: 'good' }));
    await until('good', () => offered.includes('good'));
    expect(offered).toEqual(['bad', 'good']);
    expect(source.rejected).toBe(1);
    expect(log.lines.filter((line) => line.startsWith('E'))).toEqual([
      'E config: a: is bad; keeping the previous configuration',
      'E config: b: is missing; keeping the previous configuration',
    ]);
  });

  it('uses the defaults while it is denied, which it logs once, and applies it when it is allowed', async () => {
    await api.apply(configMap({ a: '1' }));
    api.failRequests({ status: 403, resource: 'configmaps' });
    await follow();
    expect(delivered).toEqual([]);
    const count = () =>
      api.requests.count('list', 'configmaps') + api.requests.count('watch', 'configmaps');
    await until('asked again', () => count() >= 3);
    const warnings = log.lines.filter((line) => line.startsWith('W'));
    expect(warnings.filter((line) => line.includes('403'))).toHaveLength(1);
    expect(warnings.at(-1)).toMatch(
      /kube-system\/kube-dns could not be read yet; using the defaults$/,
    );
    api.clearFailures();
    await deliveries(1);
    expect(delivered).toEqual([{ a: '1' }]);
  });

  it('waits no longer than its limit for an API server that hangs', async () => {
    await api.apply(configMap({ a: '1' }));
    api.hang();
    await follow({ startLimitMs: 20 });
    expect(delivered).toEqual([]);
    api.unhang();
    await deliveries(1);
    expect(delivered).toEqual([{ a: '1' }]);
  });

  it('retains the last content while the API server is away', async () => {
    await api.apply(configMap({ a: '1' }));
    await follow();
    await watching();
    await api.close();
    await until('noticed', () => log.lines.some((line) => line.startsWith('W')));
    expect(delivered).toEqual([{ a: '1' }]);
  });

  it('delivers nothing after it is closed, not even when it waits for its start', async () => {
    api.hang();
    const started = follow();
    await sources[0]!.close();
    await sources[0]!.close();
    await started;
    api.unhang();
    await api.apply(configMap({ a: '1' }));
    expect(delivered).toEqual([]);
  });
});
