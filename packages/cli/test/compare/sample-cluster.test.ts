import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiServer } from '@kube-dns/apiserver';
import { compareAsJson } from './support/compare-run.js';
import { type RunningServer, startKubedns, startSampleApi } from './support/sample-cluster.js';
import { ScriptedServer } from './support/scripted-server.js';
import {
  expectStandardDifferences,
  likeCoreDns,
  outsideReply,
  PATIENT,
} from './support/standard-coredns.js';

let api: ApiServer;
let upstream: ScriptedServer;
let kubedns: RunningServer;
let other: RunningServer;

beforeAll(async () => {
  api = await startSampleApi();
  // An endpoint without a name, whose label kubedns makes.
  await api.apply({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: 'db-more',
      namespace: 'data',
      labels: { 'kubernetes.io/service-name': 'db' },
    },
    addressType: 'IPv4',
    ports: [{ name: 'postgres', port: 5432, protocol: 'TCP' }],
    endpoints: [{ addresses: ['10.244.1.99'] }],
  });
  // With its underscore this name is no label.
  const ports = [{ name: 'p'.repeat(63), port: 80 }];
  await api.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'long-port', namespace: 'data' },
    spec: { ports },
  });
  upstream = await ScriptedServer.start(outsideReply);
  [kubedns, other] = await Promise.all([
    startKubedns(api, upstream.address),
    startKubedns(api, upstream.address, ['--record-ttl=5', '--endpoint-names=ip']),
  ]);
});

afterAll(async () => {
  await Promise.all([kubedns.close(), other.close()]);
  await upstream.close();
  await api.close();
});

describe('kube-dns compare, the sample cluster in kubedns on one side', () => {
  it('lists what a client can notice beside a script of CoreDNS with the standard Corefile', async () => {
    const coredns = await likeCoreDns(kubedns);
    await expectStandardDifferences(kubedns, coredns, api.url);
    await coredns.close();
  });

  it('finds nothing but the known differences between two of ours that differ in just these', async () => {
    const sides = ['--left', kubedns.address, '--right', other.address];
    const data = await compareAsJson([...sides, '--api', api.url, ...PATIENT]);
    expect(data.differences).toEqual([]);
    expect(data.status).toBe(0);
    const known = new Map(data.conventions.map((one) => [one.class, one.questions]));
    expect(known.get('ttl-default')).toBeGreaterThan(5);
    // Its two names, the two SRV sets that it is in, and its reverse name.
    expect(known.get('endpoint-label')).toBe(5);
    expect(data.verdict).toMatch(/^no difference that a client can notice, \d conventions$/);
    expect(data.questions).toMatchObject({ endpoint: 5, external: 0, given: 0 });
    for (const kind of ['service', 'port', 'pod', 'reverse', 'zone', 'absent'] as const) {
      expect([kind, data.questions[kind] > 0]).toEqual([kind, true]);
    }
  });
});
