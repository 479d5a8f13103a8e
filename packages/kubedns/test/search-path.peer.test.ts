import { afterEach, expect, it } from '@jest/globals';
import {
  endPrograms,
  needsNamespaces,
  needsPrograms,
  NetworkNamespace,
  ownedBy,
  startBundle,
  TemporaryFolder,
  unless,
  until,
} from '@kube-dns/testkit';

const opened = ownedBy(afterEach);
afterEach(() => endPrograms());

const SEARCH = 'search.shop.cluster.local.ap.k8s.io';
const OBJECTS = JSON.stringify({
  apiVersion: 'v1',
  kind: 'List',
  items: [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'shop' },
      spec: { clusterIP: '10.96.0.20', ports: [{ port: 80 }] },
    },
  ],
});
const UPSTREAM = '127.0.0.53';

const needed = needsNamespaces() ?? needsPrograms('unshare', 'nsenter', 'ip', 'mount', 'getent');
unless(needed, it)(
  'glibc asks one question for each family, of a service and of a name of the world',
  async () => {
    const folder = opened(new TemporaryFolder());
    const namespace = opened(await NetworkNamespace.create());
    const through = namespace.entrance;
    await namespace.run('ip', 'link', 'set', 'lo', 'up');
    const objects = [`--manifests=${folder.file('objects.json', OBJECTS)}`, '--port=0'];
    const api = startBundle('apiserver', objects, { through });
    const [, url] = await api.waitForLine(/serving .* on (http:\S+)/);
    const world = ['-R', '-h', '--port=53', `--listen-address=${UPSTREAM}`];
    const addresses = ['--address=/www.example/192.0.2.1', '--address=/www.example/2001:db8::1'];
    const upstream = startBundle('dnsmasq', ['--', ...world, ...addresses], { through });
    await upstream.waitForLine(/serving on port 53/);
    const flags = [
      `--kube-master-url=${url}`,
      '--dns-bind-address=127.0.0.1',
      '--healthz-port=0',
      `--nameservers=${UPSTREAM}`,
      '--search-zone=ap.k8s.io',
      '--query-log=text',
    ];
    const kubedns = startBundle('kubedns', flags, { through });
    await kubedns.waitForLine(/ready: the whole cluster was seen/);
    const path = `nameserver 127.0.0.1\nsearch ${SEARCH}\noptions ndots:5\n`;
    const script = [
      `mount --bind ${folder.file('resolv.conf', path)} /etc/resolv.conf`,
      `mount --bind ${folder.file('nsswitch.conf', 'hosts: dns\n')} /etc/nsswitch.conf`,
      'getent ahosts web',
      'getent ahosts www.example',
    ].join(' && ');
    const text = await namespace.run('unshare', '--mount', 'sh', '-c', script);
    for (const address of ['10.96.0.20', '192.0.2.1', '2001:db8::1']) {
      expect(text).toContain(`${address} `);
    }
    const asked = () =>
      [...kubedns.stdout.matchAll(/"(A|AAAA) IN (\S+)\. /g)].map((each) => `${each[2]} ${each[1]}`);
    const expected = ['web', 'www.example'].flatMap((name) =>
      ['A', 'AAAA'].map((type) => `${name}.${SEARCH} ${type}`),
    );
    await until('the query log', () => asked().length >= expected.length);
    expect(asked().sort()).toEqual(expected.sort());
  },
);
