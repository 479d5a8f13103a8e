import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import {
  decodeMessage,
  Dnsmasq,
  encodeQuery,
  endPrograms,
  exchange,
  ScriptedNameServer,
} from '@kube-dns/testkit';
import { startKubedns } from './support/kubedns-process.js';
import { HEADLESS, namespaceObject, serviceObject, sliceObject } from './support/objects.js';

const ENDPOINTS = 300;
const MAX_FACTOR = 20;
/** Of IPv4 and UDP, which a victim receives and an attacker sends, too. */
const HEADER_BYTES = 28;
const MAX_UDP_BYTES = 1_232;
const EDNS_BYTES = 4_096;

const LARGE = 'large.example';
const QUESTIONS = [
  { name: 'db.default.svc.cluster.local', type: 'A' },
  { name: '_http._tcp.db.default.svc.cluster.local', type: 'SRV' },
  { name: 'db.default.svc.cluster.local', type: 'ANY' },
  { name: LARGE, type: 'A' },
  { name: LARGE, type: 'TXT' },
  { name: LARGE, type: 'ANY' },
  { name: LARGE, type: 'DNSKEY' },
] as const;

let api: ApiServer;
let upstream: ScriptedNameServer;
const portOf = new Map<string, number>();

beforeAll(async () => {
  api = await createApiServer();
  const ports = [{ name: 'http', port: 80, protocol: 'TCP' }];
  const endpoints = Array.from({ length: ENDPOINTS }, (_, i) => ({
    addresses: [`10.1.${i >> 8}.${i & 255}`],
    hostname: `db-${i}`,
  }));
  await api.apply([
    namespaceObject('default'),
    serviceObject({ name: 'db', ...HEADLESS, ports }),
    sliceObject({ name: 'db-1', service: 'db', endpoints, ports }),
  ]);
  // A server that sends all that it has, whatever size was asked for.
  upstream = await ScriptedNameServer.start(() => ({
    answers: Array.from({ length: 60 }, () => ({ type: 'TXT', ttl: 60, data: 'x'.repeat(60) })),
  }));
  const kubedns = await startKubedns(api, upstream).ready();
  const port = await kubedns.port();
  const args = [`--server=/cluster.local/127.0.0.1#${port}`, `--server=127.0.0.1#${upstream.port}`];
  const dnsmasq = await Dnsmasq.start({ args });
  await dnsmasq.ready();
  portOf.set('kubedns', port).set('dnsmasq', dnsmasq.ports.dns);
});
afterAll(async () => {
  await endPrograms();
  await upstream.close();
  await api.close();
});

it.each(['kubedns', 'dnsmasq'])(
  'attack 28: %s sends at most 20 times the bytes of a query over UDP, with the headers of IPv4, and TC in place of more',
  async (program) => {
    for (const question of QUESTIONS) {
      const query = encodeQuery({ ...question, ednsBytes: EDNS_BYTES });
      // The second answer of dnsmasq is from its cache, if that has one.
      for (let i = 0; i < 2; i++) {
        const reply = await exchange(portOf.get(program)!, query);
        const { rcode, isTruncated } = decodeMessage(reply);
        expect([question, rcode, isTruncated]).toEqual([question, 'NOERROR', true]);
        expect(reply.length).toBeLessThanOrEqual(MAX_UDP_BYTES);
        const factor = (reply.length + HEADER_BYTES) / (query.length + HEADER_BYTES);
        expect(factor).toBeLessThanOrEqual(MAX_FACTOR);
      }
    }
  },
);
