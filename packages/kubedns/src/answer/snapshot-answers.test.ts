import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EXTENDED_ERROR } from '@kube-dns/wire';
import { Answers } from '../../test/support/answers.js';
import {
  HEADLESS,
  namespaceObject,
  serviceObject,
  sliceObject,
} from '../../test/support/objects.js';

const { STALE_ANSWER, NOT_READY, SYNTHESIZED } = EXTENDED_ERROR;
const ZONE = 'svc.cluster.local';
const WEB = `web.default.${ZONE}`;
const DB = `db.default.${ZONE}`;
const NONE = -1;

let answers: Answers;
let isFromSnapshot: boolean;
beforeEach(() => {
  isFromSnapshot = true;
  answers = new Answers({
    isFromSnapshot: () => isFromSnapshot,
    hiddenNamespaces: new Set(['com']),
  });
  const { zone, services, endpointSlices, namespaces } = answers.cluster;
  zone.hasAllNamespaces = true;
  namespaces.put(namespaceObject('default'));
  services.put(serviceObject({ ports: [{ name: 'http', port: 80 }] }));
  services.put(serviceObject({ name: 'db', ...HEADLESS }));
  services.put(serviceObject({ name: 'idle', ...HEADLESS }));
  services.put(serviceObject({ name: 'out', externalName: `none.default.${ZONE}` }));
  services.put(serviceObject({ name: 'alias', externalName: WEB }));
  endpointSlices.put(
    sliceObject({ service: 'db', endpoints: [{ addresses: ['10.1.0.1'], hostname: 'db-0' }] }),
  );
});
afterEach(() => answers.close());

/** The rcode and the Extended DNS Error. */
async function asked(name: string, type = 'A'): Promise<[string, number]> {
  const { rcode, extendedError } = await answers.ask(name, type, { hasEdns: true });
  return [rcode, extendedError];
}

describe('while the zone is that of a snapshot', () => {
  it.each([
    [WEB, 'A'],
    [WEB, 'AAAA'],
    [`_http._tcp.${WEB}`, 'SRV'],
    [`db-0.${DB}`, 'A'],
    [`alias.default.${ZONE}`, 'A'],
    [`default.${ZONE}`, 'A'],
    ['cluster.local', 'SOA'],
    ['1.0.0.10.in-addr.arpa', 'PTR'],
    ['1.0.1.10.in-addr.arpa', 'A'],
  ])('an answer that it has says so: %s %s', async (name, type) => {
    expect(await asked(name, type)).toEqual(['NOERROR', STALE_ANSWER]);
    const plain = await answers.ask(name, type);
    isFromSnapshot = false;
    expect(await asked(name, type)).toEqual(['NOERROR', NONE]);
    expect(await answers.ask(name, type)).toEqual(plain);
  });

  it('the address in the name of a pod is as before', async () => {
    expect(await asked('10-1-0-1.default.pod.cluster.local')).toEqual(['NOERROR', SYNTHESIZED]);
  });

  it.each([
    ['a service', `new.default.${ZONE}`],
    ['a service in a new namespace', `web.new.${ZONE}`],
    ['a namespace', `new.${ZONE}`],
    ['a namespace of pods', 'new.pod.cluster.local'],
    ['a pod in it', '10-1-0-1.new.pod.cluster.local'],
    ['a host', `db-1.${DB}`],
    ['the host of a new service', `a.new.default.${ZONE}`],
    ['a port', `_new._tcp.${WEB}`],
    ['a protocol', `_udp.${WEB}`],
    ['the port of a host', `db-0._new._tcp.${DB}`],
    ['the first endpoint of a headless service', `idle.default.${ZONE}`],
    ['a name below an ExternalName, which may be none by now', `a.alias.default.${ZONE}`],
    ['a wildcard', `*.new.${ZONE}`],
  ])('%s may exist by now', async (_what, name) => {
    expect(await asked(name)).toEqual(['SERVFAIL', NOT_READY]);
    expect((await answers.ask(name, 'A')).authorities).toEqual([]);
    isFromSnapshot = false;
    expect(await asked(name)).toEqual(['NXDOMAIN', NONE]);
  });

  it.each([
    ['directly below the zone', 'google.com.cluster.local'],
    ['with the search path, three labels below a namespace', `www.google.com.default.${ZONE}`],
    ['more labels than any', `a.b._http._tcp.${WEB}`],
    ['labels of which one is none', `_a.default.${ZONE}`],
    ['a label with a hyphen first', `-a.default.${ZONE}`],
    ['a label with a hyphen last', `a-.default.${ZONE}`],
    ['a label with a strange character', `a\\032b.default.${ZONE}`],
    ['a port of no protocol', `_http.tcp.${WEB}`],
    ['a service in a hidden namespace', `google.com.${ZONE}`],
    ['what is no address', 'foo.default.pod.cluster.local'],
    ['below a pod', 'a.10-1-0-1.default.pod.cluster.local'],
    ['a wildcard elsewhere', '*.foo.cluster.local'],
  ])('no object can have it: %s', async (_what, name) => {
    expect((await asked(name))[0]).toBe('NXDOMAIN');
  });

  it('the target of a CNAME that it does not have may exist, too', async () => {
    const answer = await answers.ask(`out.default.${ZONE}`, 'A', { hasEdns: true });
    expect(answer).toMatchObject({
      rcode: 'SERVFAIL',
      extendedError: NOT_READY,
      answers: [`out.default.${ZONE} CNAME none.default.${ZONE}`],
    });
  });

  it('without wildcards none exists', async () => {
    const others = new Answers({ isFromSnapshot: () => true, wildcards: false });
    expect((await others.ask(`*.default.${ZONE}`, 'A')).rcode).toBe('NXDOMAIN');
    others.close();
  });
});
