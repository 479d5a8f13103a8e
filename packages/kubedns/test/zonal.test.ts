import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { endPrograms, ScriptedNameServer, until } from '@kube-dns/testkit';
import { type KubednsProcess, startKubedns } from './support/kubedns-process.js';
import { SHOP, sliceObject } from './support/objects.js';

const DB = 'db.shop.svc.cluster.local';

let api: ApiServer;
let upstream: ScriptedNameServer;
let kubedns: KubednsProcess;

/** The slice of the service `db` with the second of its endpoints in a zone. */
const slice = (zone: string) =>
  sliceObject({
    namespace: 'shop',
    name: 'db-1',
    service: 'db',
    endpoints: [
      { addresses: ['10.1.0.1'], hostname: 'db-0', zone: 'eu-1a' },
      { addresses: ['10.1.0.2'], hostname: 'db-1', zone },
      { addresses: ['10.1.0.3'], hostname: 'db-2' },
    ],
    ports: [{ name: 'sql', port: 5432 }],
  });

beforeAll(async () => {
  api = await createApiServer();
  await api.apply(SHOP);
  await api.apply(slice('eu-1a'));
  upstream = await ScriptedNameServer.start();
  kubedns = startKubedns(api, upstream, ['--zonal']);
  await kubedns.ready();
});
afterAll(async () => {
  await endPrograms();
  await upstream.close();
  await api.close();
});

const addresses = async (name: string) => {
  const { rcode, answers } = await kubedns.ask(name, 'A');
  return [rcode, ...answers.map((text) => text.split(' A ')[1]).sort()];
};

/** The sentences of an explanation, without the sentence that begins each of them. */
const explained = async (name: string, type = 'A') =>
  (await kubedns.get(`/explain?name=${name}&type=${type}`))[1];

describe('the program with --zonal', () => {
  it('answers with the endpoints of a zone, and follows one that gets another zone', async () => {
    expect(await addresses(`eu-1a.pin._zone.${DB}`)).toEqual(['NOERROR', '10.1.0.1', '10.1.0.2']);
    expect(await addresses(`eu-1b.pin._zone.${DB}`)).toEqual(['NOERROR']);
    expect(await addresses(`eu-1b.prefer._zone.${DB}`)).toEqual([
      'NOERROR',
      '10.1.0.1',
      '10.1.0.2',
      '10.1.0.3',
    ]);
    await api.apply(slice('eu-1b'));
    await until('the other zone', async () => {
      const [, ...found] = await addresses(`eu-1b.pin._zone.${DB}`);
      return found.join() === '10.1.0.2';
    });
    expect(await addresses(`eu-1b.prefer._zone.${DB}`)).toEqual(['NOERROR', '10.1.0.2']);
    expect(await addresses(`eu-1a.pin._zone.${DB}`)).toEqual(['NOERROR', '10.1.0.1']);
    expect((await kubedns.ask(`eu-1b.pin._zone.${DB}`, 'SRV')).answers).toEqual([
      `eu-1b.pin._zone.${DB} SRV 10 100 5432 db-1.${DB}`,
    ]);
    expect(await addresses('eu-1a.pin._zone.web.shop.svc.cluster.local')).toEqual(['NXDOMAIN']);
  });

  it('explains which endpoints an answer has, and shows them by zone', async () => {
    const pinned = await explained(`eu-1a.pin._zone.${DB}`);
    expect(pinned).toContain(
      'the endpoints of the service db in the namespace shop in the zone eu-1a',
    );
    expect(pinned).toContain('Of its 3 ready endpoints 1 is in the zone eu-1a.');
    expect(pinned).not.toContain('their last changes have not arrived here');
    const none =
      'No ready endpoint is in the zone eu-1c, but in eu-1a and eu-1b; 1 endpoint in no zone at all. With ';
    const empty = await explained(`eu-1c.pin._zone.${DB}`);
    expect(empty).toContain(`${none}pin that is an empty answer, and no error.`);
    expect(await explained(`eu-1c.prefer._zone.${DB}`)).toContain(`${none}prefer the answer has`);
    expect(await explained(`eu-1a.pin._zone.${DB}`, 'AAAA')).toContain(
      'None of these has an AAAA record: their addresses are of the other family.',
    );
    expect(await explained(`eu-1a.pin._zone.${DB}`, 'TXT')).toContain(
      'There is never a TXT record for a service: only A, AAAA and SRV.',
    );
    expect(await explained(`pin._zone.${DB}`)).toContain('It stands above the names of the zones');
    expect(await explained(`eu-1a.near._zone.${DB}`)).toContain(
      'Before _zone stands pin or prefer, not \\"near\\".',
    );
    expect(await explained('eu-1a.pin._zone.web.shop.svc.cluster.local')).toContain(
      'Names of zones are for headless services.',
    );
    expect(JSON.stringify(JSON.parse((await kubedns.get('/cache'))[1]))).toContain(
      '"_zone":{"ChildNodes":{"pin":{"ChildNodes":{"eu-1a":{"ChildNodes":{},"Entries":{"db-0":{"host":"10.1.0.1"',
    );
  });
});
