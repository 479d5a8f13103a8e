import { beforeEach, describe, expect, it } from '@jest/globals';
import { Answers } from '../../test/support/answers.js';
import { Cluster } from '../../test/support/cluster.js';
import { HEADLESS, sliceObject } from '../../test/support/objects.js';
import { hosts, TCP, WEB, WebService } from '../../test/support/web-service.js';
import { cacheJson } from '../zone/cache-json.js';

const inZone = (zone: string | undefined, address: string, hostname?: string) => ({
  addresses: [address],
  ...(zone !== undefined && { zone }),
  ...(hostname !== undefined && { hostname }),
});

let web: WebService;
beforeEach(() => {
  web = new WebService(new Answers({ zonal: true }));
});

/** A headless service in three zones, one of them with a dot, and an endpoint that has none. */
function givenZones(): void {
  web.given(
    HEADLESS,
    {
      ...hosts(
        inZone('Zone-A', '10.1.0.1', 'a1'),
        inZone('zone-b', '10.1.0.2', 'b1'),
        inZone('zone-b', '10.1.0.3', 'b2'),
        inZone('corp.example', '10.1.0.4', 'c1'),
        inZone(undefined, '10.1.0.5', 'none'),
        inZone('', '10.1.0.6', 'empty'),
        { ...inZone('zone-d', '10.1.0.7', 'd1'), isReady: false },
      ),
      ports: [TCP],
    },
    { ...hosts(inZone('zone-b', 'fd00::2', 'b1')), ports: [TCP], addressType: 'IPv6' },
  );
}

describe('names of zones', () => {
  it('have the endpoints that are in that zone, in both families and as targets', async () => {
    givenZones();
    const ofB = [
      'A 10.1.0.2',
      'A 10.1.0.3',
      'AAAA fd00::2',
      `SRV 10 50 80 b1.${WEB}`,
      `SRV 10 50 80 b2.${WEB}`,
    ];
    for (const directive of ['pin', 'prefer']) {
      expect(await web.at(`zone-b.${directive}._zone.${WEB}`)).toEqual(ofB);
      const { additionals } = await web.answers.ask(`zone-b.${directive}._zone.${WEB}`, 'SRV');
      expect([...additionals].sort()).toEqual([
        `b1.${WEB} A 10.1.0.2`,
        `b1.${WEB} AAAA fd00::2`,
        `b2.${WEB} A 10.1.0.3`,
      ]);
      expect((await web.answers.ask(`ZONE-A.${directive}._zone.${WEB}`, 'A')).answers).toEqual([
        `ZONE-A.${directive}._zone.${WEB} A 10.1.0.1`,
      ]);
      expect(await web.at(`corp.example.${directive}._zone.${WEB}`)).toEqual([
        'A 10.1.0.4',
        `SRV 10 100 80 c1.${WEB}`,
      ]);
    }
    expect((await web.at(WEB)).filter((text) => text.startsWith('A '))).toHaveLength(6);
  });

  it('prefer, in both families alike, all endpoints where the zone has none; pin is empty then', async () => {
    givenZones();
    const all = await web.at(WEB);
    for (const zone of [
      'zone-d',
      'zone',
      'zone-bb',
      'example',
      'corp\\.example',
      'none',
      'empty',
    ]) {
      const pin = await web.answers.ask(`${zone}.pin._zone.${WEB}`, 'A');
      expect(pin).toMatchObject({ rcode: 'NOERROR', answers: [] });
      expect(pin.authorities).toHaveLength(1);
      expect(await web.at(`${zone}.pin._zone.${WEB}`)).toEqual([]);
      if (zone !== 'corp\\.example') {
        expect(await web.at(`${zone}.prefer._zone.${WEB}`)).toEqual(all);
      }
    }
    const preferred = await web.answers.ask(`zone-a.prefer._zone.${WEB}`, 'AAAA');
    expect(preferred).toMatchObject({ rcode: 'NOERROR', answers: [] });
  });

  it('are empty, and exist, for other types, above those of zones, and without a ready endpoint', async () => {
    givenZones();
    const empty = { rcode: 'NOERROR', answers: [] };
    for (const directive of ['pin', 'prefer']) {
      for (const zone of ['zone-b', 'zone-x']) {
        for (const type of ['TXT', 'MX', 65, 'CNAME']) {
          const answer = await web.answers.ask(`${zone}.${directive}._zone.${WEB}`, type);
          expect(answer).toMatchObject(empty);
        }
      }
      for (const name of [`_zone.${WEB}`, `${directive}._zone.${WEB}`]) {
        for (const type of ['A', 'SRV'])
          expect(await web.answers.ask(name, type)).toMatchObject(empty);
      }
    }
    web.given(HEADLESS, hosts(), { ...hosts(), addressType: 'IPv6' });
    expect(await web.rcodeOf(WEB)).toBe('NXDOMAIN');
    for (const directive of ['pin', 'prefer']) {
      for (const type of ['A', 'SRV', 'ANY'])
        expect(await web.answers.ask(`zone-b.${directive}._zone.${WEB}`, type)).toMatchObject(
          empty,
        );
    }
  });

  it('do not exist for another directive, without --zonal, and for services with an address or none', async () => {
    const names = [`zone-b.pin._zone.${WEB}`, `zone-b.prefer._zone.${WEB}`];
    expect(await web.rcodeOf(names[0]!)).toBe('NXDOMAIN');
    givenZones();
    const others = ['zone-b.florp', 'pin', '_pin', 'zone-b.pin.x'].map(
      (labels) => `${labels}._zone`,
    );
    for (const labels of [
      'zone-b._zone',
      'zone-b.pin.zone',
      ...others.filter((one) => one !== 'pin._zone'),
    ])
      expect([labels, await web.rcodeOf(`${labels}.${WEB}`)]).toEqual([labels, 'NXDOMAIN']);
    for (const fields of [
      {},
      { clusterIPs: ['10.0.0.1', 'fd00::1'] },
      { externalName: 'a.example' },
    ]) {
      web.given(fields);
      for (const name of names) expect(await web.rcodeOf(name)).toBe('NXDOMAIN');
    }
    web = new WebService();
    givenZones();
    for (const name of [...names, `_zone.${WEB}`, `pin._zone.${WEB}`])
      expect(await web.rcodeOf(name)).toBe('NXDOMAIN');
  });

  it('are no names that a label * matches', async () => {
    givenZones();
    for (const name of ['*.pin._zone', 'zone-b.*._zone', 'zone-b.pin.*'])
      expect(await web.rcodeOf(`${name}.${WEB}`)).toBe('NXDOMAIN');
    expect(await web.rcodeOf('zone-b.pin._zone.*.default.svc.cluster.local')).toBe('NXDOMAIN');
  });

  it('have an address that is in two zones in each of them, and follow an endpoint that gets another zone', async () => {
    const notified: string[] = [];
    const changes = {
      isObserved: true,
      takesNames: true,
      add: (name: Uint8Array) => void notified.push(Buffer.from(name).toString('latin1')),
    };
    web = new WebService(new Answers({ zonal: true, changes }));
    web.given(HEADLESS, hosts(inZone('zone-a', '10.1.0.1'), inZone('zone-b', '10.1.0.1')));
    const addresses = async (zone: string) =>
      (await web.answers.ask(`${zone}.pin._zone.${WEB}`, 'A')).answers.length;
    expect(await Promise.all(['zone-a', 'zone-b'].map(addresses))).toEqual([1, 1]);
    expect((await web.answers.ask(WEB, 'A')).answers).toHaveLength(1);
    notified.splice(0);
    web.given(HEADLESS, hosts(inZone('zone-a', '10.1.0.1'), inZone('zone-c', '10.1.0.1')));
    expect(await Promise.all(['zone-a', 'zone-b', 'zone-c'].map(addresses))).toEqual([1, 0, 1]);
    expect(notified.some((name) => name.startsWith('\u0003web\u0007default'))).toBe(true);
  });

  it('change the serial with the zone of an endpoint alone, and only where zones are stored', () => {
    for (const readsZones of [true, false]) {
      let now = 1_000_000;
      const cluster = new Cluster(
        'hash',
        () => now,
        undefined,
        undefined,
        undefined,
        undefined,
        readsZones,
      );
      const web = new WebService({ cluster } as unknown as Answers);
      web.given(HEADLESS, hosts(inZone('zone-a', '10.1.0.1')));
      const before = cluster.zone.serial;
      now += 60_000;
      cluster.endpointSlices.put(
        sliceObject({ name: 'web-0', endpoints: [inZone('zone-b', '10.1.0.1')] }),
      );
      expect(cluster.zone.serial > before).toBe(readsZones);
    }
  });

  it('are answered from the slices of a service with very many endpoints', async () => {
    const endpoints = Array.from({ length: 1_200 }, (_, i) =>
      inZone(i % 600 === 0 ? 'zone-a' : 'zone-b', `10.1.${i >> 8}.${i & 255}`, `h${i}`),
    );
    web.given(HEADLESS, { endpoints, ports: [TCP] });
    expect(await web.at(`zone-a.pin._zone.${WEB}`)).toEqual([
      'A 10.1.0.0',
      'A 10.1.2.88',
      `SRV 10 50 80 h0.${WEB}`,
      `SRV 10 50 80 h600.${WEB}`,
    ]);
    expect(await web.at(`zone-x.pin._zone.${WEB}`)).toEqual([]);
    const { answers } = await web.answers.ask(`zone-x.prefer._zone.${WEB}`, 'A', {
      isOverTcp: true,
    });
    expect(answers.length).toBeGreaterThan(1_000);
  });

  it('get SERVFAIL while a snapshot does not have the service, for it may exist by now', async () => {
    web = new WebService(new Answers({ zonal: true, isFromSnapshot: () => true }));
    for (const labels of ['zone-a.pin._zone', 'corp.example.prefer._zone', 'pin._zone', '_zone'])
      expect([labels, await web.rcodeOf(`${labels}.${WEB}`)]).toEqual([labels, 'SERVFAIL']);
    expect(await web.rcodeOf(`zone-a.florp._zone.${WEB}`)).toBe('NXDOMAIN');
  });

  it('are in the dump by zone', () => {
    givenZones();
    const dump = JSON.parse([...cacheJson(web.answers.cluster.zone)].join('')) as unknown;
    const child = (...labels: string[]) =>
      labels.reduce(
        (node, label) => (node as { ChildNodes: Record<string, unknown> }).ChildNodes[label],
        dump,
      );
    const path = ['local', 'cluster', 'svc', 'default', 'web', '_zone', 'pin'];
    expect(Object.keys((child(...path) as { ChildNodes: object }).ChildNodes)).toEqual([
      'corp.example',
      'zone-a',
      'zone-b',
    ]);
    const { Entries } = child(...path, 'zone-b') as { Entries: Record<string, { host: string }> };
    expect(
      Object.entries(Entries)
        .map(([leaf, { host }]) => `${leaf} ${host}`)
        .sort(),
    ).toEqual(['b1 10.1.0.2', 'b1#2 fd00::2', 'b2 10.1.0.3']);
  });
});
