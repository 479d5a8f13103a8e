import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import {
  ask,
  type Dnsmasq,
  findRealDnsmasq,
  freePort,
  type Kubedns,
  needsRealDnsmasq,
  RealDnsmasq,
  TemporaryFolder,
  unless,
  until,
} from '@kube-dns/testkit';
import { answerText } from '../src/fixtures/answer-text.js';
import { ManifestPod, startDnsmasq, startKubedns } from '../src/fixtures/pod-containers.js';
import { type Asked, CHANGES, FIRST_OBJECTS } from './changes.js';

const ZONES = ['cluster.local', 'in-addr.arpa', 'ip6.arpa'];
const folder = new TemporaryFolder();
/** More than the 4.5 s after which dnsmasq gives a question up, and more than any test takes. */
const ASK_LIMIT_MS = 60_000;
/** Longer than the tests take: nothing goes from the cache because its TTL is over. */
const LONG_TTLS = ['--record-ttl=3600', '--negative-ttl=3600'];
let api: ApiServer;
let kubedns: Kubedns;
let dnsmasq: Dnsmasq;
let pod: ManifestPod | undefined;

function serverArgs(port: number): string[] {
  return ZONES.map((zone) => `--server=/${zone}/127.0.0.1#${port}`);
}

/** The rcode and the data of the records, as one text. */
async function answer(
  name: string,
  { isOverTcp = false, ...asked }: Asked = {},
  port = dnsmasq.ports.dns,
): Promise<string> {
  const limits = { isOverTcp, limitMs: ASK_LIMIT_MS };
  return answerText(await ask(port, { name, ...asked }, limits));
}

/** Waits until the cache has the old answer, for certain: it is given without a question. */
async function cached(name: string, asked: Asked, expected: string): Promise<void> {
  let last = '';
  const isCached = async () => {
    const before = await misses();
    last = await answer(name, asked);
    return last === expected && (await misses()) === before;
  };
  await until(() => `${name} ${expected}, not ${last}`, isCached);
}

async function misses(): Promise<number> {
  return (await dnsmasq.metrics()).sum('dnsmasq_misses_total');
}

async function startAll(): Promise<void> {
  api = await createApiServer();
  await api.apply(FIRST_OBJECTS);
  pod = await ManifestPod.start({
    apiUrl: api.url,
    hasNoSidecar: true,
    kubednsFlags: LONG_TTLS,
  });
  ({ kubedns, dnsmasq } = pod);
  await pod.ready();
  await dnsmasq.subscribed();
}

async function endAll(): Promise<void> {
  await dnsmasq.close();
  await kubedns.close();
  await pod?.close();
  await api.close();
}

/** The same by NOTIFY, signed, in place of a subscription. */
async function startNotified(): Promise<void> {
  const keyFile = folder.file(
    'notify.key',
    'key "notify" { algorithm hmac-sha256; secret "AAECAwQFBgcICQoLDA0ODw=="; };',
  );
  api = await createApiServer();
  await api.apply(FIRST_OBJECTS);
  const dns = await freePort();
  const flags = [`--notify=127.0.0.1#${dns}`, `--notify-key=${keyFile}`, ...LONG_TTLS];
  kubedns = await startKubedns({ flags: [`--kube-master-url=${api.url}`, ...flags] });
  await kubedns.ready();
  const rules = ZONES.map((zone) => `--allow-notify=/${zone}/127.0.0.1`);
  dnsmasq = await startDnsmasq({
    args: [
      ...['--no-subscribe', '--cache-size=1000', `--notify-key=${keyFile}`, ...rules],
      ...serverArgs(kubedns.ports.dns),
    ],
    ports: { dns },
  });
  await dnsmasq.ready();
}

describe.each([
  ['by a subscription', startAll],
  ['by NOTIFY', startNotified],
])('a change in the API, seen through the cache %s', (_, start) => {
  beforeAll(start);
  afterAll(endAll);

  it.each(CHANGES)(
    'is there when $what',
    async ({ name, asked = {}, from = [], before, to, remove, after }) => {
      api.objects.load(from);
      // The cache has no signatures: it passes such questions on.
      await cached(name, { ...asked, isDnssecOk: false }, before);
      if (to !== undefined) api.objects.load(to);
      if (remove !== undefined) api.delete(...remove);
      await until(after, async () => (await answer(name, asked)) === after, { stepMs: 1 });
    },
  );
});

afterAll(() => folder.close());

describe('a server that announces no changes', () => {
  unless(needsRealDnsmasq(), it)('is said once, and answers expire by their TTLs', async () => {
    const server = await RealDnsmasq.start(findRealDnsmasq()!, {
      args: ['--address=/cluster.local/10.0.0.1'],
    });
    const front = await startDnsmasq({ args: ['--cache-size=100', ...serverArgs(server.port)] });
    try {
      await front.ready();
      await front.server.waitForLine(
        /does not announce changes of cluster.local, in-addr.arpa, ip6.arpa \(/,
      );
      expect(await answer('a.cluster.local', {}, front.ports.dns)).toBe('NOERROR 10.0.0.1');
    } finally {
      await front.close();
      await server.close();
    }
  });
});
