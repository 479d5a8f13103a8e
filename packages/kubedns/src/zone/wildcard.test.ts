import { beforeEach, describe, expect, it } from '@jest/globals';
import { AnswerWriter } from '@kube-dns/wire';
import { Answers } from '../../test/support/answers.js';
import { hashLabel } from '../../test/support/hash-label.js';
import { HEADLESS, serviceObject, sliceObject } from '../../test/support/objects.js';
import { readAnswer, readQuery } from '../../test/support/messages.js';
import { ZoneAnswerer } from '../answer/zone-answerer.js';

const ports = [{ name: 'http', port: 80, protocol: 'TCP' }];
let answers: Answers;
beforeEach(() => {
  answers = new Answers();
  const { services, endpointSlices } = answers.cluster;
  services.put(serviceObject({ namespace: 'one', clusterIPs: ['10.0.0.1'], ports }));
  services.put(serviceObject({ namespace: 'two', clusterIPs: ['10.0.0.2', 'fd00::2'], ports }));
  services.put(serviceObject({ namespace: 'two', name: 'db', ...HEADLESS }));
  services.put(serviceObject({ namespace: 'two', name: 'idle', ...HEADLESS }));
  endpointSlices.put(
    sliceObject({
      namespace: 'two',
      service: 'db',
      endpoints: [{ addresses: ['10.1.0.1'], hostname: 'db-0' }, '10.1.0.2'],
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    }),
  );
});

/** What a name has of a type, without the owner, in alphabetical order. */
async function found(name: string, type = 'A'): Promise<string[]> {
  const { answers: records } = await answers.ask(`${name}.cluster.local`, type);
  return records.map((text) => text.replace(`${name}.cluster.local `, '')).sort();
}

describe('a wildcard', () => {
  it.each([
    ['web.*.svc', ['A 10.0.0.1', 'A 10.0.0.2']],
    ['web.one.*', ['A 10.0.0.1']],
    ['web.*.*', ['A 10.0.0.1', 'A 10.0.0.2']],
    ['*.web.one.svc', ['A 10.0.0.1']],
    ['*.db.two.svc', ['A 10.1.0.1', 'A 10.1.0.2']],
    ['db-0.*.two.svc', ['A 10.1.0.1']],
    ['db-0.db.*.svc', ['A 10.1.0.1']],
    ['*.db.*.svc', ['A 10.1.0.1', 'A 10.1.0.2']],
  ])('%s matches any label: %j', async (name, records) => {
    expect(await found(name)).toEqual(records);
  });

  it('has the question’s name for an owner, as it was spelt', async () => {
    const { answers: records, flags } = await answers.ask('Web.*.svc.cluster.local', 'AAAA');
    expect(records).toEqual(['Web.*.svc.cluster.local AAAA fd00::2']);
    expect(flags).toBe('aa ra rd');
  });

  it('finds the ports of several services, which share the weight', async () => {
    const all = [
      'SRV 10 50 80 web.two.svc.cluster.local',
      'SRV 10 50 8080 db-0.db.two.svc.cluster.local',
    ];
    answers.cluster.endpointSlices.put(
      sliceObject({
        namespace: 'two',
        service: 'db',
        endpoints: [{ addresses: ['10.1.0.1'], hostname: 'db-0' }],
        ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
      }),
    );
    expect(await found('_http._tcp.*.two.svc', 'SRV')).toEqual(all);
    expect(await found('*._http._tcp.web.one.svc', 'SRV')).toEqual([
      'SRV 10 100 80 web.one.svc.cluster.local',
    ]);
  });

  it('also has the addresses of the targets', async () => {
    const { additionals } = await answers.ask('_http._tcp.*.*.svc.cluster.local', 'SRV', {
      isOverTcp: true,
    });
    expect(additionals.map((text) => text.replace(/ .* /, ' ')).sort()).toEqual(
      [
        'web.one.svc.cluster.local 10.0.0.1',
        'web.two.svc.cluster.local 10.0.0.2',
        'web.two.svc.cluster.local fd00::2',
        'db-0.db.two.svc.cluster.local 10.1.0.1',
        `${hashLabel('10.1.0.2')}.db.two.svc.cluster.local 10.1.0.2`,
      ].sort(),
    );
  });

  it('has one set for ANY, whichever there is', async () => {
    const any = async (name: string) =>
      (await answers.ask(`${name}.cluster.local`, 'ANY')).answers.map((text) => text.split(' ')[1]);
    expect(await any('web.*.svc')).toEqual(['A']);
    const [record] = (await answers.ask('_http._tcp.*.one.svc.cluster.local', 'ANY')).answers;
    expect(record).toBe(
      '_http._tcp.*.one.svc.cluster.local SRV 10 100 80 web.one.svc.cluster.local',
    );
  });

  it('has an address once that several services have', async () => {
    answers.cluster.services.put(serviceObject({ namespace: 'three', clusterIPs: ['10.0.0.2'] }));
    expect(await found('web.*.svc')).toEqual(['A 10.0.0.1', 'A 10.0.0.2']);
  });

  it.each([
    '*',
    '*.svc',
    '*.*',
    '*.two.svc',
    '*.*.svc',
    '_http.*.web.one.svc',
    '*._tcp.web.one.svc',
    '*.*.web.one.svc',
    '*.db-0.db.two.svc',
    '*.db-0._http._tcp.db.two.svc',
    'idle.*.svc',
    'no.*.svc',
    'web.*.pod',
    '1-2-3-4.*.pod',
    'web.**.svc',
  ])('%s matches nothing', async (name) => {
    expect(await answers.ask(`${name}.cluster.local`, 'A')).toMatchObject({
      rcode: 'NXDOMAIN',
      answers: [],
    });
  });

  it('does not affect the next question', async () => {
    expect(await found('web.*.svc')).toHaveLength(2);
    expect(await found('web.one.svc')).toEqual(['A 10.0.0.1']);
    answers.cluster.services.put(serviceObject({ namespace: 'one', clusterIPs: ['10.0.0.9'] }));
    expect(await found('web.one.svc')).toEqual(['A 10.0.0.9']);
    expect(await found('web.one.svc')).toEqual(['A 10.0.0.9']);
  });

  it('shares the weight among the endpoints of all services', async () => {
    answers.cluster.endpointSlices.put(
      sliceObject({
        namespace: 'two',
        service: 'db',
        endpoints: ['10.1.0.1', '10.1.0.2'],
        ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
      }),
    );
    const weights = (await found('_http._tcp.*.two.svc', 'SRV')).map((text) => text.split(' ')[2]);
    expect(weights).toEqual(['33', '33', '33']);
  });

  it('is answered for ANY with one set', async () => {
    answers.cluster.services.put(serviceObject({ namespace: 'three', clusterIPs: ['fd00::3'] }));
    for (let i = 0; i < 20; i++) {
      const types = (await found('web.*.svc', 'ANY')).map((text) => text.split(' ')[0]);
      expect(new Set(types).size).toBe(1);
    }
  });

  it('does not match a host or a port of an ExternalName', async () => {
    const externalName = 'web.one.svc.cluster.local';
    answers.cluster.services.put(serviceObject({ namespace: 'four', name: 'ext', externalName }));
    for (const name of ['x.ext.*.svc', '_http._tcp.ext.*.svc']) {
      expect((await answers.ask(`${name}.cluster.local`, 'A')).rcode).toBe('NXDOMAIN');
    }
  });

  it('is a label like any other where wildcards are off, and is counted', async () => {
    const { services } = answers.cluster;
    expect(answers.statistics.wildcards).toBe(0);
    await found('web.*.svc');
    await found('web.one.svc');
    expect(answers.statistics.wildcards).toBe(1);
    services.put(serviceObject({ namespace: 'two', name: 'ext', externalName: 'web.one.svc.x' }));
    const { zone } = answers.cluster;
    const options = { ttlSeconds: 30, negativeTtlSeconds: 5, wildcards: false };
    const answerer = new ZoneAnswerer({ ...options, zone });
    for (const name of ['web.*.svc', '*.web.one.svc', 'web.one.*', '*.two.svc', '*']) {
      const query = readQuery(`${name}.cluster.local`, 'A');
      const out = new Uint8Array(1_232);
      const writer = new AnswerWriter();
      answerer.read(query.name, query.nameLength);
      writer.begin(query, out);
      answerer.answer(query, writer);
      expect(readAnswer(out.subarray(0, writer.finish())).rcode).toBe('NXDOMAIN');
    }
  });

  it('finds services by name after others of that name are gone', async () => {
    const { services } = answers.cluster;
    const objects = ['a', 'b', 'c'].map((namespace, i) =>
      serviceObject({ namespace, name: 'same', clusterIPs: [`10.6.0.${i}`] }),
    );
    for (const object of objects) services.put(object);
    services.delete(objects[0]!);
    expect(await found('same.*.svc')).toEqual(['A 10.6.0.1', 'A 10.6.0.2']);
    services.put(serviceObject({ namespace: 'b', name: 'same', externalName: '192.0.2.1' }));
    expect(await found('*.b.svc')).toEqual(['A 192.0.2.1']);
    services.put(objects[1]!);
    expect((await answers.ask('*.b.svc.cluster.local', 'A')).rcode).toBe('NXDOMAIN');
    for (const object of objects) services.delete(object);
    expect((await answers.ask('same.*.svc.cluster.local', 'A')).rcode).toBe('NXDOMAIN');
  });

  it('is NODATA where the names have nothing of the type', async () => {
    expect(await answers.ask('web.*.svc.cluster.local', 'TXT')).toMatchObject({
      rcode: 'NOERROR',
      answers: [],
    });
    expect((await answers.ask('db.*.svc.cluster.local', 'AAAA')).rcode).toBe('NOERROR');
  });

  it('in place of a service finds the CNAMEs of the namespace, addresses first', async () => {
    const external = (name: string, externalName: string) =>
      answers.cluster.services.put(serviceObject({ namespace: 'two', name, externalName }));
    external('alias', 'web.one.svc.cluster.local');
    expect((await answers.ask('*.two.svc.cluster.local', 'A')).answers).toEqual([
      '*.two.svc.cluster.local CNAME web.one.svc.cluster.local',
      'web.one.svc.cluster.local A 10.0.0.1',
    ]);
    external('literal', '192.0.2.7');
    expect(await found('*.two.svc')).toEqual(['A 192.0.2.7']);
    expect(await found('*.*.svc')).toEqual(['A 192.0.2.7']);
  });

  it('prefers addresses to CNAMEs', async () => {
    const fields = { namespace: 'three', externalName: 'web.one.svc.cluster.local' };
    answers.cluster.services.put(serviceObject(fields));
    expect(await found('web.*.svc')).toEqual(['A 10.0.0.1', 'A 10.0.0.2']);
  });
});
