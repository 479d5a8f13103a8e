import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { endPrograms, freePort, ScriptedNameServer } from '@kube-dns/testkit';
import { type KubednsProcess, startKubedns } from './support/kubedns-process.js';
import { serviceObject } from './support/objects.js';

const WEB = 'web.default.svc.cluster.local';
/** Each question comes from a port of its own: of so many, no process of two is left out. */
const MANY = 60;

let api: ApiServer;
let upstream: ScriptedNameServer;
let port: number;
beforeEach(async () => {
  api = await createApiServer();
  upstream = await ScriptedNameServer.start();
  port = await freePort();
  const ports = [{ name: 'http', port: 80 }];
  await api.apply([serviceObject({ clusterIPs: ['10.96.0.20'], ports })]);
});
afterEach(async () => {
  await endPrograms();
  await upstream.close();
  await api.close();
});

/** Starts a process on the port, and gives what tells how many messages over UDP have come to it. */
async function start(...args: string[]) {
  const metricsPort = await freePort();
  const env = { PROMETHEUS_PORT: String(metricsPort) };
  const own = [`--dns-port=${port}`, '--drain-time=0s', ...args];
  const kubedns = await startKubedns(api, upstream, own, env).ready();
  const messages = async () => {
    const page = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(/^kubedns_messages_total\{protocol="udp"\} (\d+)$/m.exec(page)![1]);
  };
  return { kubedns, messages };
}

/** Asks from many ports, ten questions at a time; every one has its answer. */
async function askMany(kubedns: KubednsProcess): Promise<void> {
  for (let i = 0; i < MANY; i += 10) {
    const some = Array.from({ length: 10 }, () => kubedns.ask(WEB, 'A'));
    for (const { answers } of await Promise.all(some))
      expect(answers).toEqual([`${WEB} A 10.96.0.20`]);
  }
}

describe.each(['auto', 'dgram'])('two processes with --reuse-port and the engine %s', (engine) => {
  it('share a port, and the one that is left has all of it', async () => {
    const [first, second] = [
      await start('--reuse-port', `--udp-engine=${engine}`),
      await start('--reuse-port', `--udp-engine=${engine}`),
    ];
    await askMany(second.kubedns);
    const counts = [await first.messages(), await second.messages()];
    expect(Math.min(...counts)).toBeGreaterThan(0);
    expect(counts[0]! + counts[1]!).toBe(MANY);
    const asking = askMany(second.kubedns);
    first.kubedns.program.signal('SIGTERM');
    await asking;
    expect(await first.kubedns.program.ended).toBe(0);
    await askMany(second.kubedns);
    expect((await second.kubedns.ask(WEB, 'A', { isOverTcp: true })).answers).toHaveLength(1);
  });
});

describe('a process with --reuse-port', () => {
  it('takes no query before it has listed the cluster', async () => {
    const first = await start('--reuse-port');
    const nowhere = `--kube-master-url=http://127.0.0.1:${await freePort()}`;
    const own = [`--dns-port=${port}`, '--reuse-port', nowhere];
    const second = startKubedns(api, upstream, own);
    await second.program.waitForLine(/serving \/readiness on port/);
    await second.program.waitForLine(/following/);
    await askMany(first.kubedns);
    expect(await first.messages()).toBe(MANY);
  });

  it('that cannot have its readiness port takes no query', async () => {
    const first = await start('--reuse-port');
    const taken = (
      await first.kubedns.program.waitForLine(/serving \/readiness on port (\d+)/)
    )[1]!;
    const own = [`--dns-port=${port}`, '--reuse-port', `--healthz-port=${taken}`];
    const second = startKubedns(api, upstream, own);
    expect(await second.program.ended).toBe(255);
    expect(second.program.stderr).not.toContain(`on port ${port}`);
  });
});

describe('a process without --reuse-port', () => {
  it('shares its port with no other', async () => {
    await start();
    const other = startKubedns(api, upstream, [`--dns-port=${port}`, '--reuse-port']);
    expect(await other.program.ended).toBe(1);
    expect(other.fatalErrors.join()).toMatch(/over (UDP|TCP): address already in use/);
  });
});
