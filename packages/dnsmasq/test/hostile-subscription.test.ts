import { createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  AnnouncedChanges,
  type ChangeSource,
  type LastSeen,
  neverSeen,
  ZoneServer,
} from '@kube-dns/push';
import {
  addressRecords,
  encodeQuery,
  encodeReply,
  frameMessage,
  Frames,
  ownedBy,
  until,
} from '@kube-dns/testkit';
import {
  changedTlv,
  decodeName,
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
import { AnswerCache, ReplyReader } from '@kube-dns/resolver';
import { askCache, PLAIN_RULES } from '@kube-dns/resolver/testing';

const own = ownedBy(afterEach);
const INSTANCE = new Uint8Array(8).fill(9);
const SERIAL = 5;
const ENTRIES = 5_000;
const CHUNK_BYTES = 64 * 1024;
/** Names and losses that a flood tells. */
const TOLD = 1_000;

let cache: AnswerCache;
let lastSeen: LastSeen;
let session: Socket;
let server: ZoneServer;
/** What the cache has of a server that announces the changes of another zone. */
const other: ChangeSource = {
  number: 100,
  apex: encodeKey('cluster.local'),
  maxSeconds: Infinity,
  changes: new AnnouncedChanges(),
};
const reader = new ReplyReader(PLAIN_RULES);

function store(name: string, publisher?: ChangeSource): void {
  reader.read(
    encodeReply(encodeQuery({ name, type: 'A' }), { answers: addressRecords(60, '10.0.0.1') }),
  );
  cache.store(reader.answer, () => true, publisher, SERIAL);
}

function tell(tlv: DsoTlv): Buffer {
  return frameMessage(writeDso({ id: 0, isResponse: false, rcode: 0, tlvs: [tlv] }));
}

/** The names and the losses of everything that it was told. */
function counted(): number {
  const { flushes, events } = server.row()!;
  return [flushes['by-server'], flushes['missed-message'], events.changed].reduce<number>(
    (sum, count = 0) => sum + count,
    0,
  );
}

/** The names of which questions on their way are forgotten. */
let changed: string[];

/** Subscribes dnsmasq to a server of the zone `evil.test` that claims to have all names. */
beforeEach(async () => {
  changed = [];
  lastSeen = neverSeen();
  lastSeen[other.number] = Number.POSITIVE_INFINITY;
  cache = new AnswerCache({ maxRecords: 10_000, lastSeen });
  const tcp = createServer((socket) => {
    session = socket;
    const frames = new Frames();
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      for (const message of frames.push(chunk)) {
        const { id } = readDso(message)!;
        const tlvs = [subscribedTlv({ instance: INSTANCE, serial: SERIAL, apex: ROOT_NAME })];
        socket.write(frameMessage(writeDso({ id, isResponse: true, rcode: RCODE.NOERROR, tlvs })));
      }
    });
  }).listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  own({ close: () => Promise.resolve(void tcp.close()) });
  const { port } = tcp.address() as { port: number };
  const log = { info: () => undefined, warn: () => undefined };
  server = new ZoneServer({
    server: { address: '127.0.0.1', port },
    number: 1,
    cache,
    lastSeen,
    takeNumber: () => 1,
    onLive: () => undefined,
    onChange: (name) => changed.push(decodeName(name)),
    log,
  });
  server.zones.push(encodeKey('evil.test'));
  server.connect();
  own({
    close: () => {
      server.close();
      session.destroy();
      return Promise.resolve();
    },
  });
  await until('a subscription', () => server.live);
});

it('what was asked before changes were announced is asked again: it may be older', () => {
  expect(changed).toEqual(['evil.test']);
});

describe('a server that announces false changes', () => {
  it('drops nothing beside its zone', async () => {
    store('web.default.svc.cluster.local', other);
    store('*.default.svc.cluster.local', other);
    store('www.example.com');
    store('host.evil.test', server.live);
    const names = ['web.default.svc.cluster.local', 'com', 'x.evil.test', 'evil.test', '.'];
    names.forEach((name, i) => {
      const changed = { before: SERIAL + i, after: SERIAL + i + 1, names: [encodeKey(name)] };
      session.write(tell(changedTlv(changed)));
    });
    session.write(tell(serialTlv(DSO_TYPE.FLUSH, SERIAL + names.length + 1)));
    await until(() => askCache(cache, 'host.evil.test') === undefined);
    await until(() => counted() > names.length);
    for (const name of ['web.default', '*.default'].map((each) => `${each}.svc.cluster.local`)) {
      expect(askCache(cache, name)).toBeDefined();
    }
    expect(askCache(cache, 'www.example.com')).toBeDefined();
  });

  it('is left when it tells more names at once than a server does', async () => {
    const names = new Array<Uint8Array>(CHUNK_BYTES - 64).fill(ROOT_NAME);
    session.write(tell(changedTlv({ before: SERIAL, after: SERIAL + 1, names })));
    // It is subscribed to again at once.
    await until(() => server.row()!.events.lost === 1);
    expect(server.row()?.events.changed).toBe(0);
  });

  const namespaces = Array.from({ length: 256 }, (_, i) => encodeKey(`n${i}.evil.test`));
  it.each<[string, (serial: number) => Buffer]>([
    ['everything', (serial) => tell(serialTlv(DSO_TYPE.FLUSH, serial + 1))],
    [
      'many names',
      (serial) => tell(changedTlv({ before: serial, after: serial + 1, names: namespaces })),
    ],
    [
      'one name',
      (serial) =>
        tell(changedTlv({ before: serial, after: serial + 1, names: namespaces.slice(0, 1) })),
    ],
  ])(
    'drops its own zone alone, and all of it, when it tells %s without end',
    async (_, message) => {
      for (let i = 0; i < ENTRIES; i++) store(`w${i}.example.com`);
      store('host.evil.test', server.live);
      const messages: Buffer[] = [];
      for (let bytes = 0; bytes < CHUNK_BYTES; bytes += messages.at(-1)!.length) {
        messages.push(message(SERIAL + messages.length));
      }
      const block = Buffer.concat(messages);
      while (counted() < TOLD) {
        if (session.writableLength === 0) session.write(block);
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(askCache(cache, 'w1.example.com')).toBeDefined();
      await until(() => askCache(cache, 'host.evil.test') === undefined);
      expect(cache.recordCount).toBeGreaterThanOrEqual(ENTRIES);
    },
  );
});
