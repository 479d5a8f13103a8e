import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  ask,
  endPrograms,
  needsPrograms,
  outputOf,
  ScriptedNameServer,
  TemporaryFolder,
  unless,
} from '@kube-dns/testkit';
import { serve, type Serving } from './processes.js';

const ZONE = 'zone.example';
const SECRET = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';
const keyText = (secret: string) =>
  `key "notify" {\n\talgorithm hmac-sha256;\n\tsecret "${secret}";\n};\n`;

const folder = new TemporaryFolder();
const keyFile = folder.file('notify.key', keyText(SECRET));
const otherFile = folder.file('other.key', keyText(`B${SECRET.slice(1)}`));
let upstream: ScriptedNameServer;
let dnsmasq: Serving;
let address = '10.0.0.1';

beforeAll(async () => {
  upstream = await ScriptedNameServer.start(() => ({ answers: addressRecords(300, address) }));
  // No subscription: that must not be what drops answers.
  const options = ['--no-resolv', '--no-hosts', '--no-subscribe', `--server=${upstream.text}`];
  const allowed = [`--allow-notify=/${ZONE}/127.0.0.0/8`, `--notify-key=${keyFile}`];
  dnsmasq = await serve([...options, ...allowed]);
});

afterAll(async () => {
  await endPrograms();
  await upstream.close();
  await folder.close();
});

const textsOf = async (name: string) => (await ask(dnsmasq.port, name)).texts;

/** Puts a name into the cache, then changes it at the server. */
async function change(name: string): Promise<void> {
  address = '10.0.0.1';
  expect(await textsOf(name)).toEqual(['A 10.0.0.1']);
  address = '10.0.0.2';
  expect(await textsOf(name)).toEqual(['A 10.0.0.1']);
}

unless(needsPrograms('dig'), describe)('dig +opcode=notify', () => {
  const dig = (...words: string[]) => {
    const common = [
      '@127.0.0.1',
      '-p',
      String(dnsmasq.port),
      '+opcode=notify',
      '+time=5',
      '+tries=1',
    ];
    return outputOf('dig', [...common, ...words]);
  };

  it('with the key drops, and dig takes the signature of the answer for good', async () => {
    for (const transport of ['notcp', 'tcp']) {
      const name = `dig-${transport}.${ZONE}`;
      await change(name);
      const text = await dig(`+${transport}`, '-k', keyFile, name, 'SOA');
      expect(text).toContain('opcode: NOTIFY, status: NOERROR');
      expect(text).toMatch(/^notify\.\s+0\s+ANY\s+TSIG\s+hmac-sha256\. .* NOERROR 0/m);
      expect(text).not.toMatch(/verify|could not be validated/);
      expect(await textsOf(name)).toEqual(['A 10.0.0.2']);
    }
  });

  it.each([
    ['no key', [], 'status: REFUSED', ''],
    ['another secret', ['-k', otherFile], 'status: NOTAUTH', 'BADSIG'],
    ['another name', ['-y', `hmac-sha256:x:${SECRET}`], 'status: NOTAUTH', 'BADKEY'],
    ['another algorithm', ['-y', `hmac-sha512:notify:${SECRET}`], 'status: NOTAUTH', 'BADKEY'],
  ])('with %s drops nothing', async (what, words, status, error) => {
    const name = `${what.replace(' ', '-')}.${ZONE}`;
    await change(name);
    const text = await dig(...words, name, 'SOA');
    expect(text).toContain(status);
    expect(text).toContain(error);
    expect(await textsOf(name)).toEqual(['A 10.0.0.1']);
  });
});
