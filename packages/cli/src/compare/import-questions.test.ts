import { describe, expect, it } from '@jest/globals';
import type { ApiReader } from '../api-reader.js';
import { importQuestions, readImports } from './import-questions.js';

const ZONE = 'clusterset.local';

/** An API server with these lists, by the end of their paths; it has no others. */
function readerOf(lists: Readonly<Record<string, readonly unknown[]>>) {
  const listIfAllowed = (path: string, onItem: (item: unknown) => void) => {
    const found = Object.entries(lists).find(([end]) => path.endsWith(end));
    for (const item of found?.[1] ?? []) onItem(item);
    return Promise.resolve(found !== undefined);
  };
  return { listIfAllowed } as unknown as ApiReader;
}

const metadata = { namespace: 'shop', name: 'web' };
const IP = { metadata, spec: { type: 'ClusterSetIP', ports: [{ name: 'http', port: 80 }] } };
const HEADLESS = {
  metadata: { namespace: 'shop', name: 'db' },
  spec: { type: 'Headless', ports: [{ port: 53, protocol: 'UDP' }] },
};
const slice = (service: string, endpoints: readonly object[]) => ({
  metadata: {
    namespace: 'shop',
    labels: {
      'multicluster.kubernetes.io/service-name': service,
      'multicluster.kubernetes.io/source-cluster': 'c1.east',
    },
  },
  endpoints,
});
const ENDPOINTS = [
  { addresses: ['10.1.0.1'], hostname: 'db-0' },
  { addresses: ['fd00::1'] },
  { addresses: ['10.1.0.3'], conditions: { ready: false } },
  { addresses: [] },
];
const SLICES = [
  slice('db', ENDPOINTS),
  slice('web', ENDPOINTS),
  { metadata: { namespace: 'shop', labels: { 'kubernetes.io/service-name': 'db' } } },
  null,
];

describe('the questions about imported services', () => {
  it.each(['v1beta1', 'v1alpha1'])(
    'of %s are of imports, ports, and endpoints with their cluster',
    async (version) => {
      const objects = await readImports(
        readerOf({ [`${version}/serviceimports`]: [IP, HEADLESS], endpointslices: SLICES }),
      );
      const asked = [...importQuestions(objects!, ZONE)];
      const of = (kind: string) =>
        asked.filter((each) => each.kind === kind).map(({ name, type }) => `${name} ${type}`);
      const [web, db] = [`web.shop.svc.${ZONE}`, `db.shop.svc.${ZONE}`];
      expect(of('service')).toEqual(
        [web, db].flatMap((name) => ['A', 'AAAA', 'SRV'].map((type) => `${name} ${type}`)),
      );
      expect(of('port')).toEqual([`_http._tcp.${web} SRV`]);
      expect(of('endpoint')).toEqual([`db-0.c1.east.${db} A`, `fd00--1.c1.east.${db} AAAA`]);
      expect(of('zone')).toContain(`dns-version.${ZONE} TXT`);
      expect(of('absent')).toContain(`c1.east.${db} A`);
    },
  );

  it('are none where the API server has no ServiceImports', async () => {
    expect(await readImports(readerOf({ endpointslices: SLICES }))).toBeUndefined();
  });
});
