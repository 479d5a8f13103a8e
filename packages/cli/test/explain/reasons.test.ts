import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { Dnsmasq, endPrograms, Kubedns, ScriptedNameServer } from '@kube-dns/testkit';
import { runHere } from '../support/run-command.js';
import { SilentPort } from '../support/silent-port.js';

/** Long enough to be cached while the tests run. */
const TTL = 600;
let api: ApiServer;
let upstream: ScriptedNameServer;
let kubedns: Kubedns;
let dnsmasq: Dnsmasq;

beforeAll(async () => {
  api = await createApiServer();
  await api.apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'frontend', namespace: 'shop' },
      spec: { clusterIP: '10.96.20.1', ports: [{ port: 80 }] },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'payments', namespace: 'shop' },
      spec: { type: 'ExternalName', externalName: 'payments.example.com' },
    },
  ]);
  upstream = await ScriptedNameServer.start(({ question: { name, type } }) => {
    if (!name.startsWith('www.')) return { rcode: 'NXDOMAIN' };
    return type === 'A' ? { answers: [{ type: 'A', ttl: TTL, data: '192.0.2.80' }] } : {};
  });
  kubedns = await Kubedns.start({
    flags: [`--kube-master-url=${api.url}`, `--nameservers=127.0.0.1:${upstream.port}`],
  });
  await kubedns.ready(60_000);
  dnsmasq = await Dnsmasq.start({
    args: [`--server=127.0.0.1#${kubedns.ports.dns}`, '--cache-size=1000'],
  });
  await dnsmasq.ready();
});

afterAll(async () => {
  await endPrograms();
  await Promise.all([api.close(), upstream.close(), dnsmasq.close()]);
});

async function explain(...args: string[]): Promise<{ text: string; error: string }> {
  const ports = [
    `--kubedns=${kubedns.ports.readiness}`,
    `--dnsmasq=${dnsmasq.ports.metrics}`,
    '--node-cache=0',
  ];
  const { stdout, stderr } = await runHere(['explain', ...args, ...ports]);
  return { text: stdout.replace(/\s+/g, ' '), error: stderr };
}

describe('the programs', () => {
  it('are looked at before explain’s own question has reached them', async () => {
    const { text } = await explain('www.first.test.');
    expect(text).toContain('The cache has no answer for it.');
    expect(text).not.toContain('stored less than a second ago');
    expect(text.indexOf('What dnsmasq says')).toBeLessThan(text.indexOf('What kubedns says'));
    expect((await explain('www.first.test.')).text).toContain('The cache has 1 A record, stored');
  });
});

describe('a program that hangs', () => {
  it('is named first, and no program is waited for longer than 2 s', async () => {
    const dns = createSocket('udp4').bind(0, '127.0.0.1');
    await once(dns, 'listening');
    const page = await SilentPort.open();
    const other = await Dnsmasq.start({ args: [`--server=127.0.0.1#${dns.address().port}`] });
    try {
      await other.ready();
      const startedMs = performance.now();
      const { stdout, status } = await runHere([
        'explain',
        'web.shop',
        `--kubedns=${page.port},${page.port}`,
        `--dnsmasq=${other.ports.metrics}`,
        '--node-cache=0',
      ]);
      const seconds = (performance.now() - startedMs) / 1_000;
      const text = stdout.replace(/\s+/g, ' ');
      expect(text).toMatch(
        /^kubedns hangs \(127\.0\.0\.1:\d+: no answer within 2 s; .*?\)\. web\.shop\.default\.svc\.cluster\.local cannot be answered: there is no answer\. 127\.0\.0\.1#\d+ was asked(?: \d times)? over UDP: it (?:has not replied|did not reply in time)/,
      );
      expect(text).toMatch(/Not asked - kubedns .*: it hangs, or its machine is overloaded;/);
      expect([status, seconds < 9]).toEqual([1, true]);
    } finally {
      await other.close();
      dns.close();
      await page.close();
    }
  });

  it('is named, and the status is 1, also when another one has an answer', async () => {
    const page = await SilentPort.open();
    const { stdout, status } = await runHere([
      'explain',
      'frontend.shop',
      `--kubedns=${kubedns.ports.readiness}`,
      `--dnsmasq=${page.port}`,
      '--node-cache=0',
    ]);
    await page.close();
    expect(stdout).toMatch(/^dnsmasq hangs \(/);
    expect(stdout.replace(/\s+/g, ' ')).toContain('10.96.20.1');
    expect(status).toBe(1);
  });
});

describe('the reason', () => {
  it('is the target of a service of type ExternalName that does not exist', async () => {
    const { text } = await explain('payments.shop');
    expect(text).toMatch(
      /^payments\.shop leads to a name that does not exist \(NXDOMAIN\)\. The service shop\/payments exists and is an ExternalName to payments\.example\.com, but that target does not exist\. How/,
    );
    expect(text).toContain('What to try - Correct externalName of the service shop/payments,');
  });

  it('is the service that the namespace lacks, with names that are near', async () => {
    const { text } = await explain('nosuch.shop');
    expect(text).toMatch(
      /^nosuch\.shop does not exist: none of the 4 names that are tried for it does \(NXDOMAIN\)\. There is no service nosuch in the namespace shop\. How/,
    );
    expect((await explain('frontent.shop')).text).toMatch(
      /\(NXDOMAIN\)\. There is no service frontent in the namespace shop\. Did you mean frontend\.shop\.svc\.cluster\.local\.\? How/,
    );
    expect((await explain('pod-0.nosuch.shop')).text).toMatch(
      /\(NXDOMAIN\)\. There is no service nosuch in the namespace shop\./,
    );
    expect((await explain('example.com')).text).toMatch(
      /\(NXDOMAIN\)\. 127\.0\.0\.1#\d+ was asked over UDP: it replied NXDOMAIN/,
    );
  });
});

describe('while the upstream server is away', () => {
  let beside: Kubedns;

  beforeAll(async () => {
    await api.apply([
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'data' } },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'db', namespace: 'data' },
        spec: { clusterIP: 'None', ports: [{ port: 5432 }] },
      },
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          name: 'db-1',
          namespace: 'data',
          labels: { 'kubernetes.io/service-name': 'db' },
        },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['10.1.0.1'], hostname: 'db-0', conditions: { ready: true } }],
      },
    ]);
    beside = await Kubedns.start({
      flags: [`--kube-master-url=${api.url}`, '--nameservers=127.0.0.1:9'],
    });
    await beside.ready(60_000);
  });

  it.each([
    [
      'fronetnd.shop',
      /^fronetnd\.shop is not found in the cluster\. There is no service fronetnd in the namespace shop\. Did you mean frontend\.shop\.svc\.cluster\.local\.\? The name that was asked for elsewhere fails: fronetnd\.shop cannot be answered: SERVFAIL \(EDE 23 /,
    ],
    [
      'db-0.data',
      /^db-0\.data is not found in the cluster\. There is no service db-0 in the namespace data\. Did you mean db-0\.db\.data\.svc\.cluster\.local\.\? /,
    ],
    [
      'frontend.shop.svc.cluster.lcoal',
      /^frontend\.shop\.svc\.cluster\.lcoal cannot be answered: SERVFAIL \(EDE .*?\)\. .*?Did you mean frontend\.shop\.svc\.cluster\.local\.\? How/,
    ],
    ['frontend.shop.cluster.lcoal', /Did you mean frontend\.shop\.svc\.cluster\.local\.\? How/],
    ['cluster.lcoal', /Did you mean cluster\.local\.\? How/],
    ['www.example.com', /^(?!.*Did you mean)www\.example\.com cannot be answered: SERVFAIL/],
  ])('the cause of a mistyped name comes first: %s', async (name, expected) => {
    const ports = [`--kubedns=${beside.ports.readiness}`, '--dnsmasq=0', '--node-cache=0'];
    const { stdout } = await runHere(['explain', name, ...ports]);
    expect(stdout.replace(/\s+/g, ' ')).toMatch(expected);
  });
});

describe('what is no name', () => {
  it('is an address, whose reverse name is asked for', async () => {
    const { text } = await explain('10.96.20.1');
    expect(text).toMatch(
      /^10\.96\.20\.1 is an address: no resolver asks DNS for it, so its reverse name is asked\. 1\.20\.96\.10\.in-addr\.arpa\. has the PTR record frontend\.shop\.svc\.cluster\.local\. How/,
    );
    expect((await explain('fd00::1')).text).toMatch(/^fd00::1 is an address: .*ip6\.arpa/);
    expect((await explain('10.96.20.1', 'A')).error).toBe(
      'kube-dns: 10.96.20.1 is an address: no resolver asks DNS for its A; for its name: kube-dns explain 10.96.20.1\n',
    );
  });

  it.each([
    ['http://web.shop:80/x', 'a URL is no name', 'web.shop'],
    ['https://user:secret@web.shop', 'a URL is no name', 'web.shop'],
    ['http://[fd00::1]/', 'a URL is no name', 'fd00::1'],
    ['web.shop:80', 'a port is no part of a name', 'web.shop'],
    ['10.96.20.1:53', 'a port is no part of a name', '10.96.20.1'],
  ])('is %s', async (given, why, name) => {
    const { error } = await explain(given);
    expect(error).toBe(`kube-dns: ${why}; the name in it is asked with kube-dns explain ${name}\n`);
  });
});
