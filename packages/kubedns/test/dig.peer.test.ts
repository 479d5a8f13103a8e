import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import {
  addressRecords,
  endPrograms,
  needsPrograms,
  optionTexts,
  outputOf,
  ScriptedNameServer,
  unless,
} from '@kube-dns/testkit';
import { type KubednsProcess, startKubedns } from './support/kubedns-process.js';
import { HEADLESS, serviceObject, SHOP, sliceObject } from './support/objects.js';

const ZONE = 'shop.svc.cluster.local';
const MANY = Array.from({ length: 100 }, (_, i) => `10.2.0.${i + 1}`);
const itWithDig = unless(needsPrograms('dig'), it);

let api: ApiServer;
let upstream: ScriptedNameServer;
let kubedns: KubednsProcess;
beforeAll(async () => {
  api = await createApiServer();
  await api.apply([
    ...SHOP,
    serviceObject({ namespace: 'shop', name: 'many', ...HEADLESS }),
    sliceObject({ namespace: 'shop', name: 'many-1', service: 'many', endpoints: MANY }),
  ]);
  upstream = await ScriptedNameServer.start();
  kubedns = await startKubedns(api, upstream).ready();
});
afterAll(async () => {
  await endPrograms();
  await upstream.close();
  await api.close();
});

/** What dig prints; it waits long for an answer, and asks once. */
async function dig(...args: readonly string[]): Promise<string> {
  const port = String(await kubedns.port());
  return outputOf('dig', ['@127.0.0.1', '-p', port, '+tries=1', '+time=60', ...args]);
}

/** An option with an Extended DNS Error. */
function extendedError(code: number, text: Buffer): Buffer {
  const head = Buffer.from([0, 15, 0, 0, 0, code]);
  head.writeUInt16BE(2 + text.length, 2);
  return Buffer.concat([head, text]);
}

describe('dig', () => {
  itWithDig('has the records of the zone', async () => {
    const short = async (...args: string[]) => (await dig('+short', ...args)).split('\n').sort();
    const { clusterIP } = api.get('Service', 'default', 'kubernetes')!.spec;
    expect(await short('kubernetes.default.svc.cluster.local')).toEqual([clusterIP]);
    expect(await short('+tcp', 'kubernetes.default.svc.cluster.local')).toEqual([clusterIP]);
    expect(await short('-x', clusterIP!)).toEqual(['kubernetes.default.svc.cluster.local.']);
    expect(await short('-x', '10.1.0.1')).toEqual([`db-0.db.${ZONE}.`]);
    expect(await short(`db.${ZONE}`)).toEqual(['10.1.0.1', '10.1.0.2']);
    expect(await short(`_http._tcp.web.${ZONE}`, 'SRV')).toEqual([`10 100 80 web.${ZONE}.`]);
    expect(await short(`1-2-3-4.shop.pod.cluster.local`)).toEqual(['1.2.3.4']);
    const negative = await dig(`no.${ZONE}`);
    expect(negative).toMatch(/status: NXDOMAIN/);
    expect(negative).toMatch(/flags: qr aa rd ra;/);
    expect(negative).toMatch(/cluster\.local\.\s+5\s+IN\s+SOA/);
    expect(negative).not.toMatch(/malformed|extra bytes/);
  });

  itWithDig('reads what a server says of its answer as text', async () => {
    const answers = addressRecords(9, '192.0.2.1');
    for (const [name, said, expected] of [
      ['emoji.test', ['😀'.repeat(20)], [`upstream: ${'😀'.repeat(7)}`]],
      ['long.test', ['x'.repeat(900)], [`upstream: ${'x'.repeat(30)}`]],
      ['bytes.test', [Buffer.of(0xff, 0xfe)], ['upstream: ??']],
      ['many.test', Array<string>(150).fill('a'), ['upstream: a', 'upstream: a']],
      ['behind-dnsmasq.test', ['upstream: a\u001b'], ['upstream: a?']],
    ] as const) {
      const options = said.flatMap((text) => optionTexts(extendedError(6, Buffer.from(text))));
      upstream.respond(`${name} A`, { answers, options });
      const text = await dig(name);
      const texts = [...text.matchAll(/^; EDE: 6 \(DNSSEC Bogus\): \((.*)\)$/gm)];
      expect(texts.map(([, each]) => each)).toEqual(expected);
      expect(text).toMatch('192.0.2.1');
    }
  });

  itWithDig('finds a good cookie in every kind of answer', async () => {
    const asked = [`web.${ZONE}`, `no.${ZONE}`, `+ignore many.${ZONE}`, `+tcp many.${ZONE}`];
    for (const words of [...asked, 'no-server.example', '-x 10.96.0.20']) {
      expect(await dig(...words.split(' '))).toMatch(/; COOKIE: [0-9a-f]{48} \(good\)/);
    }
  });
});
