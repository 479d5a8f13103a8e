import { afterEach, expect, it } from '@jest/globals';
import {
  decodeMessage,
  Dnsmasq,
  encodeQuery,
  exchange,
  Kubedns,
  ownedBy,
  until,
} from '@kube-dns/testkit';
import { startApiServer } from './support/api-server.js';

const own = ownedBy(afterEach);
const SERVICE = '/api/v1/namespaces/default/services';
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
const CHANGES = 20;
const ASKED_AFTER = 20;

async function send(method: string, url: string, body: unknown): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) });
  expect(response.ok).toBe(true);
}

function sliceWith(address: string): unknown {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'moment-1', labels: { 'kubernetes.io/service-name': 'moment' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ port: 80 }],
  };
}

it('finding 12: after a change the cache has the former answer for a moment, then the new one, and never the former again', async () => {
  const api = own(await startApiServer());
  const spec = { clusterIP: 'None', ports: [{ port: 80 }] };
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'moment' }, spec };
  await send('POST', api.url + SERVICE, service);
  await send('POST', api.url + SLICES, sliceWith('10.0.0.1'));
  const flags = [`--kube-master-url=${api.url}`];
  const kubedns = own(await Kubedns.start({ flags, hasNoMetrics: true }));
  await kubedns.ready();
  const args = [`--server=/cluster.local/127.0.0.1#${kubedns.ports.dns}`];
  const dnsmasq = own(await Dnsmasq.start({ args, hasNoMetrics: true }));
  await dnsmasq.subscribed();

  const query = encodeQuery({ name: 'moment.default.svc.cluster.local' });
  const ask = async () => decodeMessage(await exchange(dnsmasq.ports.dns, query)).texts.join();
  for (let i = 0; i < CHANGES; i++) {
    const [former, next] = i % 2 === 0 ? [1, 2] : [2, 1];
    // Cached, and pinned: nothing but the announcement can drop it within the TTL.
    await until(async () => (await ask()) === `A 10.0.0.${former}`);
    await send('PUT', `${api.url}${SLICES}/moment-1`, sliceWith(`10.0.0.${next}`));
    const seen: string[] = [];
    await until(async () => seen[seen.push(await ask()) - 1] === `A 10.0.0.${next}`, { stepMs: 0 });
    for (let after = 0; after < ASKED_AFTER; after++) seen.push(await ask());
    const firstNew = seen.indexOf(`A 10.0.0.${next}`);
    expect(new Set(seen.slice(0, firstNew))).toEqual(
      new Set(firstNew > 0 ? [`A 10.0.0.${former}`] : []),
    );
    expect(new Set(seen.slice(firstNew))).toEqual(new Set([`A 10.0.0.${next}`]));
  }
});
