import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { endPrograms, freePort, ScriptedNameServer, until } from '@kube-dns/testkit';
import { frameMessage, FrameReader } from '@kube-dns/transport';
import { type KubednsProcess, startKubedns } from './support/kubedns-process.js';
import { queryBytes, readAnswer } from './support/messages.js';
import { HEADLESS, serviceObject, sliceObject } from './support/objects.js';

const ZONE = 'cluster.local';
const SLICES = 15;
const ENDPOINTS = 1_000;
const PORTS = [
  { name: 'http', port: 80 },
  { name: 'https', port: 443 },
];
/** As many of one address as there can be beside one more. */
const STALLED = 3;
/** After which kubedns ends the connection, and what the machine takes beyond that. */
const STALL_MS = 8_000;
const LATE_MS = 10_000;

let api: ApiServer;
let upstream: ScriptedNameServer;
let kubedns: KubednsProcess;
let metricsPort: number;
beforeAll(async () => {
  api = await createApiServer();
  upstream = await ScriptedNameServer.start();
  await api.apply(serviceObject({ name: 'db', ...HEADLESS }));
  await api.apply(
    Array.from({ length: SLICES }, (_, slice) => {
      const endpoints = Array.from(
        { length: ENDPOINTS },
        (_each, i) => `10.${slice}.${i >> 8}.${i & 0xff}`,
      );
      return sliceObject({ name: `db-${slice}`, service: 'db', endpoints, ports: PORTS });
    }),
  );
  metricsPort = await freePort();
  const env = { PROMETHEUS_PORT: String(metricsPort), NODE_OPTIONS: '--max-old-space-size=96' };
  kubedns = await startKubedns(api, upstream, ['--transfer-to=127.0.0.1'], env).ready();
});
afterAll(async () => {
  await endPrograms();
  await upstream.close();
  await api.close();
});

/** A secondary that has asked for the zone. */
class AskingSecondary {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  bytes = 0;
  records = 0;
  soas = 0;
  readonly #frames = new FrameReader();

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('error', () => undefined).write(frameMessage(queryBytes(ZONE, 'AXFR')));
    this.closed = new Promise((resolve) => this.socket.on('close', () => resolve()));
    this.socket.on('data', (data) => {
      this.bytes += data.length;
      this.#frames.push(data);
      for (let next = this.#frames.next(); next !== undefined; next = this.#frames.next()) {
        const { answers } = readAnswer(Buffer.from(next));
        this.records += answers.length;
        for (const text of answers) if (text.startsWith(`${ZONE} SOA `)) this.soas++;
      }
    });
  }

  /** The whole zone. */
  async complete(): Promise<this> {
    await until('the zone', () => this.soas === 2);
    this.socket.destroy();
    return this;
  }

  /** Reads its beginning and nothing more. */
  async stall(): Promise<this> {
    await until('the beginning of the zone', () => this.bytes > 0);
    this.socket.pause();
    return this;
  }
}

async function transfers(metric: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const start = `kubedns_transfers_${metric} `;
  const line = text.split('\n').find((each) => each.startsWith(start));
  return Number(line?.slice(start.length));
}

it('secondaries that stop reading are cut off in time, and others are served', async () => {
  const port = await kubedns.port();
  const complete = () => new AskingSecondary(port).complete();
  const whole = await complete();
  const startedMs = performance.now();
  const stalled = await Promise.all(
    Array.from({ length: STALLED }, () => new AskingSecondary(port).stall()),
  );
  expect(await transfers('running')).toBe(STALLED);
  const another = await complete();
  expect(another.records).toBe(whole.records);
  const { answers } = await kubedns.ask('kubernetes.default.svc.cluster.local', 'A');
  expect(answers).toHaveLength(1);
  const isOver = async () => (await transfers('total{result="stalled"}')) === STALLED;
  await until('the end of the stalled transfers', isOver, { stepMs: 100 });
  const tookMs = performance.now() - startedMs;
  expect(tookMs).toBeGreaterThan(STALL_MS - LATE_MS / 10);
  expect(tookMs).toBeLessThan(STALL_MS + LATE_MS);
  // A socket learns of its end when it is read.
  for (const { socket } of stalled) socket.resume();
  await Promise.all(stalled.map(({ closed }) => closed));
  for (const { soas, bytes } of stalled) {
    expect(soas).toBe(1);
    expect(bytes).toBeLessThan(whole.bytes);
  }
  expect(await transfers('running')).toBe(0);
});
