import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer, type Manifest } from '@kube-dns/apiserver';
import { ask, type Dnsmasq, freePort, type Kubedns, until } from '@kube-dns/testkit';
import { startDnsmasq, startKubedns } from '../src/fixtures/pod-containers.js';

const NAMES = 40;
const LIMIT_MS = 60_000;
/** Of a negative answer, and some time more. */
const NEGATIVE_TTL_MS = 3_500;
const nameOf = (i: number) => `web-${i}.shop.svc.cluster.local`;

let api: ApiServer;
let port: number;
let processes: Kubedns[];
let dnsmasq: Dnsmasq;

function service(i: number): Manifest {
  const ip = `10.96.1.${i}`;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: `web-${i}`, namespace: 'shop' },
    spec: { clusterIP: ip, clusterIPs: [ip], ports: [{ name: 'http', port: 80 }] },
  };
}

async function startProcess(): Promise<Kubedns> {
  const kubedns = await startKubedns({
    flags: [`--kube-master-url=${api.url}`, '--reuse-port', '--negative-ttl=3'],
    ports: { dns: port },
  });
  await kubedns.ready();
  return kubedns;
}

/** The address of each name, or its rcode. */
async function answers(): Promise<string[]> {
  const replies = Array.from({ length: NAMES }, (_, i) =>
    ask(dnsmasq.ports.dns, { name: nameOf(i), type: 'A' }),
  );
  return (await Promise.all(replies)).map(({ rcode, answers: [first] }) =>
    first?.type === 'A' ? first.data : rcode,
  );
}

const misses = async () => (await dnsmasq.metrics()).sum('dnsmasq_misses_total');

/** Asks all names until none is asked for again after its TTL: each answer is pinned, whichever process gave it. */
async function untilKept(expected: string): Promise<void> {
  const isKept = async () => {
    if ((await answers()).some((one) => one !== expected)) return false;
    await new Promise((resolve) => setTimeout(resolve, NEGATIVE_TTL_MS));
    const before = await misses();
    await answers();
    return (await misses()) === before;
  };
  await until('every answer is kept', isKept, { limitMs: LIMIT_MS });
}

/** Several processes with one port are told apart as the pods of a Service are: by the kernel's choice. */
describe('two kubedns behind one address', () => {
  beforeAll(async () => {
    api = await createApiServer();
    await api.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }]);
    port = await freePort();
    processes = [await startProcess(), await startProcess()];
    dnsmasq = await startDnsmasq({
      args: [
        '--cache-size=1000',
        '--no-negcache',
        '--negcache=push',
        `--server=/cluster.local/127.0.0.1#${port}`,
      ],
    });
    await dnsmasq.ready();
    await dnsmasq.subscribed();
  });
  afterAll(async () => {
    await dnsmasq.close();
    for (const kubedns of processes) await kubedns.close();
    await api.close();
  });

  it(
    'have all their answers pinned by one subscription',
    async () => {
      await untilKept('NXDOMAIN');
      expect(dnsmasq.server.stderr).not.toContain('processes that announce changes');
    },
    2 * LIMIT_MS,
  );

  it('show every change', async () => {
    await api.apply(Array.from({ length: NAMES }, (_, i) => service(i)));
    const expected = Array.from({ length: NAMES }, (_, i) => `10.96.1.${i}`);
    await until('all services', async () => String(await answers()) === String(expected));
    for (let i = 0; i < NAMES; i++) api.delete('Service', 'shop', `web-${i}`);
    await until('none', async () => (await answers()).every((one) => one === 'NXDOMAIN'));
  });

  it('may come and go', async () => {
    await processes.shift()!.close();
    processes.push(await startProcess());
    await api.apply([service(1)]);
    await until('the service', async () => (await answers())[1] === '10.96.1.1');
  });
});
