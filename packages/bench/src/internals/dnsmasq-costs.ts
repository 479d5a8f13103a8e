import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseDnsConfig } from '@kube-dns/daemon';
import { HostsTable, readHostsFiles, Router } from '@kube-dns/dnsmasq/internal';
import { neverSeen, ZoneServer } from '@kube-dns/push';
import { AnswerCache, ReplyReader, ServerStatistics } from '@kube-dns/resolver';
import { PLAIN_RULES } from '@kube-dns/resolver/testing';
import {
  addressRecords,
  encodeQuery,
  encodeReply,
  frameMessage,
  Frames,
  median,
  Owned,
  TemporaryFolder,
  until,
} from '@kube-dns/testkit';
import { UpstreamServers, UpstreamSockets } from '@kube-dns/transport';
import {
  changedTlv,
  DSO_TYPE,
  type DsoTlv,
  encodeKey,
  RCODE,
  readDso,
  ROOT_NAME,
  serialTlv,
  subscribedTlv,
  writeDso,
} from '@kube-dns/wire';
import { cpuMsOf, dearestOf, type Measured, QUIET, turnsWhile } from './measured.js';

const CONFIG_MS = 50;
const CONFIG_SAMPLES = 9;
const DOMAINS = 2_048;
/** As many labels as names may have that take 49,152 characters together. */
const LABELS = '.a'.repeat(5);
/** In one of the turns all garbage may be collected. */
const TURN_MS = 100;
const LINES = 100_000;
/** A collection of garbage may fall into any turn, but not into one of each reading. */
const READINGS = 3;
const ENTRIES = 9_000;
const FLOOD_MS = 1_500;
const CHUNK_BYTES = 64 * 1024;
const SERIAL = 5;

/** The methods of these measurements in a process of their own. */
export interface DnsmasqCostsMethods {
  configuration(): Promise<readonly Measured[]>;
  hostsFile(): Promise<readonly Measured[]>;
  subscription(): Promise<readonly Measured[]>;
}

/** How long what dnsmasq is given stops its event loop. */
export class DnsmasqCosts implements DnsmasqCostsMethods {
  async configuration(): Promise<readonly Measured[]> {
    const sockets = new UpstreamSockets();
    const router = new Router({
      rules: [],
      log: QUIET,
      upstreams: new UpstreamServers(sockets, new ServerStatistics()),
      // As its servers: each of them is compared with the addresses of this machine.
      own: { ownAddresses: [{ address: '::', port: 53 }] },
    });
    router.load();
    const times: number[] = [];
    for (let round = 1; round <= CONFIG_SAMPLES; round++) {
      // Each domain has another server than before.
      const domains = Array.from({ length: DOMAINS }, (_, i) => [
        `d${i}${LABELS}.example`,
        [`10.${round}.${i >> 8}.${i & 255}`],
      ]);
      const stubDomains = JSON.stringify(Object.fromEntries(domains));
      const configure = () =>
        router.configure(parseDnsConfig(new Map([['stubDomains', stubDomains]])));
      times.push(cpuMsOf(configure));
      await nextTurn();
    }
    router.close();
    sockets.close();
    const name = `dnsmasq: ConfigMap of ${DOMAINS} stub domains`;
    return [{ name, value: median(times), unit: 'ms CPU', atMost: CONFIG_MS }];
  }

  async hostsFile(): Promise<readonly Measured[]> {
    const folder = new TemporaryFolder();
    const lines = Array.from({ length: LINES }, (_, i) => {
      return `10.${i >> 16}.${(i >> 8) & 255}.${i & 255} host-${i}.big.example h${i}\n`;
    });
    const paths = [folder.file('hosts', lines.join(''))];
    const longest: number[] = [];
    for (let reading = 0; reading < READINGS; reading++) {
      const state = { isDone: false };
      const table = new HostsTable();
      const read = readHostsFiles(table, { paths, domain: '', log: QUIET });
      const done = read.finally(() => (state.isDone = true));
      longest.push(Math.max(...(await turnsWhile(() => !state.isDone))));
      await done;
      if (table.size < 2 * LINES) throw new Error(`${table.size} names of the file were read`);
    }
    await folder.close();
    const name = `dnsmasq: hosts file of ${LINES} lines, longest turn, best of ${READINGS}`;
    return [{ name, value: Math.min(...longest), unit: 'ms CPU', atMost: TURN_MS }];
  }

  async subscription(): Promise<readonly Measured[]> {
    const names = Array.from({ length: 256 }, (_, i) => encodeKey(`n${i}.evil.test`));
    const changed = (serial: number, count: number) =>
      changedTlv({ before: serial, after: serial + 1, names: names.slice(0, count) });
    const costs = new Map([
      ['everything', await floodedTurnMs((serial) => serialTlv(DSO_TYPE.FLUSH, serial + 1))],
      ['many names', await floodedTurnMs((serial) => changed(serial, names.length))],
      ['one name', await floodedTurnMs((serial) => changed(serial, 1))],
    ]);
    return [dearestOf('dnsmasq: told changes without end, second longest turn', TURN_MS, costs)];
  }
}

/** A server that says that it announces the changes of all names; `session` is its connection. */
class TellingServer {
  session: Socket | undefined;
  readonly #tcp = createServer((socket) => {
    this.session = socket;
    const frames = new Frames();
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      for (const message of frames.push(chunk)) {
        const instance = new Uint8Array(8).fill(9);
        const tlvs = [subscribedTlv({ instance, serial: SERIAL, apex: ROOT_NAME })];
        const id = readDso(message)?.id ?? 0;
        socket.write(frameMessage(writeDso({ id, isResponse: true, rcode: RCODE.NOERROR, tlvs })));
      }
    });
  });

  async listen(): Promise<number> {
    await once(this.#tcp.listen(0, '127.0.0.1'), 'listening');
    return (this.#tcp.address() as AddressInfo).port;
  }

  close(): Promise<void> {
    this.session?.destroy();
    this.#tcp.close();
    return Promise.resolve();
  }
}

/** The second longest turn, in ms of CPU, while a server announces changes without end; it shares the event loop. */
async function floodedTurnMs(tlvAt: (serial: number) => DsoTlv): Promise<number> {
  const owned = new Owned();
  const telling = owned.add(new TellingServer());
  const port = await telling.listen();
  const lastSeen = neverSeen();
  const cache = new AnswerCache({ maxRecords: 10_000, lastSeen });
  const server = new ZoneServer({
    server: { address: '127.0.0.1', port },
    number: 1,
    cache,
    lastSeen,
    takeNumber: () => 1,
    onLive: () => undefined,
    onChange: () => undefined,
    log: QUIET,
  });
  owned.add({
    close: () => {
      server.close();
      return Promise.resolve();
    },
  });
  server.zones.push(encodeKey('evil.test'));
  server.connect();
  await until('a subscription', () => server.live);
  const reader = new ReplyReader(PLAIN_RULES);
  const answers = addressRecords(60, '10.0.0.1');
  for (let i = 0; i < ENTRIES; i++) {
    reader.read(encodeReply(encodeQuery({ name: `w${i}.example.com`, type: 'A' }), { answers }));
    cache.store(reader.answer, () => true, undefined, SERIAL);
  }
  const messages: Buffer[] = [];
  for (let bytes = 0; bytes < CHUNK_BYTES; bytes += messages.at(-1)!.length) {
    const tlvs = [tlvAt(SERIAL + messages.length)];
    messages.push(frameMessage(writeDso({ id: 0, isResponse: false, rcode: 0, tlvs })));
  }
  const block = Buffer.concat(messages);
  const endMs = performance.now() + FLOOD_MS;
  const turns = await turnsWhile(() => {
    if (telling.session?.writableLength === 0) telling.session.write(block);
    return performance.now() < endMs;
  });
  const written = telling.session?.bytesWritten ?? 0;
  if (written < 2 * block.length) throw new Error('the flood was not read');
  if (server.live === undefined) throw new Error('the flood ended the subscription');
  await owned.close();
  const [, second = Number.NaN] = [...turns].sort((one, other) => other - one);
  return second;
}
