import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { until } from '@kube-dns/testkit';
import { encodeKey } from '@kube-dns/wire';
import { ApiClient, loadKubeConfig } from '../src/watch/api-client.js';
import { Federations } from '../src/federation/federations.js';
import { recordedLog, type RecordedLog } from './support/recorded-log.js';

const ZONE = 'topology.kubernetes.io/zone';
const REGION = 'topology.kubernetes.io/region';
const OLD_ZONE = 'failure-domain.beta.kubernetes.io/zone';
const OLD_REGION = 'failure-domain.beta.kubernetes.io/region';
const ONE = new Map([['one', 'example.com']]);

let api: ApiServer;
let log: RecordedLog;
let client: ApiClient;
let federations: Federations;
beforeEach(async () => {
  api = await createApiServer();
  log = recordedLog();
  client = new ApiClient(loadKubeConfig({ kubecfgFile: '', masterUrl: api.url }), 'test');
  federations = new Federations({ client, log, retryMs: 20 });
});
afterEach(async () => {
  federations.close();
  federations.close();
  client.close();
  await api.close();
});

const node = (name: string, labels: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels },
});
const located = () => until('where the nodes are', () => federations.locality);
const lists = () => api.requests.count('list', 'nodes');

describe('Federations', () => {
  it('finds a federation by a label inside a name, and none without a configuration', () => {
    const name = encodeKey('web.shop.two.svc.cluster.local');
    const start = 1 + 'web.shop.'.length;
    expect(federations.isActive).toBe(false);
    expect(federations.find(name, start, start + 3)).toBeUndefined();
    federations.apply(new Map([...ONE, ['two', 'example.org']]));
    expect(federations.isActive).toBe(true);
    expect(federations.find(name, start, start + 3)).toEqual({
      name: 'two',
      domain: 'example.org',
      domainWire: encodeKey('example.org'),
    });
    expect(federations.find(name, start, start + 2)).toBeUndefined();
    expect(federations.find(name, 1, 4)).toBeUndefined();
    federations.apply(new Map());
    expect(federations.isActive).toBe(false);
    expect(federations.find(name, start, start + 3)).toBeUndefined();
  });
});

describe('the locality of the nodes', () => {
  it('is that of the first node that has both labels', async () => {
    await api.apply([
      node('a'),
      node('b', { [ZONE]: 'z1' }),
      node('c', { [ZONE]: 'z2', [REGION]: 'r2' }),
      node('d', { [ZONE]: 'z3', [REGION]: 'r3' }),
    ]);
    federations.apply(ONE);
    expect(await located()).toEqual({ zone: 'z2', region: 'r2' });
    expect(log.lines).toEqual(['I federation: the nodes are in zone z2, region r2']);
  });

  it('prefers the new labels to the old ones', async () => {
    await api.apply([node('a', { [OLD_ZONE]: 'old', [ZONE]: 'new', [OLD_REGION]: 'r' })]);
    federations.apply(ONE);
    expect(await located()).toEqual({ zone: 'new', region: 'r' });
  });

  it('is not searched without federations, nor once it was found', async () => {
    await api.apply([node('a', { [ZONE]: 'z', [REGION]: 'r' })]);
    federations.apply(new Map());
    expect(federations.locality).toBeUndefined();
    expect(lists()).toBe(0);
    federations.apply(ONE);
    await located();
    federations.apply(ONE);
    expect(lists()).toBe(1);
  });

  it('is looked for on every page', async () => {
    const nodes = Array.from({ length: 45 }, (_, i) => node(`a${i + 100}`));
    await api.apply([...nodes, node('z', { [ZONE]: 'z', [REGION]: 'r' })]);
    federations.apply(ONE);
    expect(await located()).toEqual({ zone: 'z', region: 'r' });
    expect(lists()).toBe(3);
  });

  it('is searched again while no node has the labels, which is logged once', async () => {
    await api.apply([node('a')]);
    federations.apply(ONE);
    await until('three tries', () => lists() >= 3);
    expect(federations.locality).toBeUndefined();
    await api.apply([node('b', { [ZONE]: 'z', [REGION]: 'r' })]);
    await located();
    expect(log.lines).toEqual([
      'W federation: no node is labelled with a zone and a region',
      'I federation: the nodes are in zone z, region r',
    ]);
  });

  it('is looked for again after a refusal', async () => {
    api.failRequests({ status: 403, resource: 'nodes', times: 2 });
    await api.apply([node('b', { [ZONE]: 'z', [REGION]: 'r' })]);
    federations.apply(ONE);
    await located();
    expect(log.lines[0]).toMatch(/^W federation: cannot list nodes: HTTP 403/);
    expect(log.lines).toHaveLength(2);
  });

  it('treats a label that is not a DNS label as missing, and logs it once', async () => {
    await api.apply([
      node('a', { [ZONE]: 'Zone_1', [REGION]: 'r1' }),
      node('b', { [ZONE]: 'z.2', [REGION]: 'r2' }),
    ]);
    federations.apply(ONE);
    await until('three tries', () => lists() >= 3);
    expect(log.lines).toEqual([
      'W federation: "Zone_1" of a node is not a DNS label',
      'W federation: "z.2" of a node is not a DNS label',
      'W federation: no node is labelled with a zone and a region',
    ]);
  });

  it('is looked for no more when the federations are gone', async () => {
    await api.apply([node('a')]);
    federations.apply(ONE);
    await until('a try', () => lists() >= 1);
    federations.apply(new Map());
    await api.apply([node('b', { [ZONE]: 'z', [REGION]: 'r' })]);
    const other = new Federations({ client, log, retryMs: 20 });
    other.apply(ONE);
    await until('found by another', () => other.locality);
    expect(federations.locality).toBeUndefined();
    federations.apply(ONE);
    expect(await located()).toEqual({ zone: 'z', region: 'r' });
  });
});
