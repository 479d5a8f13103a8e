import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import {
  type AddressInfo,
  createServer as createPlainServer,
  type Server as PlainServer,
  type Socket,
} from 'node:net';
import { createServer } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TestAuthority, unless } from '@kube-dns/testkit';
import { loadLibc } from '../src/batch/libc.js';
import { EncryptedServers } from '../src/encrypted/pool.js';
import { TlsTrust } from '../src/encrypted/tls.js';
import {
  ADDRESS,
  addressOfName,
  ask,
  authority,
  EncryptedFixture,
  type Result,
} from './encrypted-fixture.js';
import { NO_BATCH } from './engines.js';
import { END_HEADERS, type Flood, FRAME, frame, RawServer } from './raw-server.js';

const CERTIFICATE = authority.issue({ names: [ADDRESS] });
/** So long a handshake may take. */
const HANDSHAKE_MS = 5_000;
const HTTPS = { ...CERTIFICATE, ALPNProtocols: ['h2'] };
/** In HPACK: `:status` 103, and then the entry that it has made of it; 200 with the type of a DNS message. */
const STATUS_103 = [0x48, 3, ...Buffer.from('103')];
const STATUS_103_AGAIN = [0x80 | 62];
const STATUS_200 = [0x88, 0x0f, 0x10, 23, ...Buffer.from('application/dns-message')];

let fixture: EncryptedFixture;
let raw: RawServer | undefined;

afterEach(async () => {
  await fixture.close();
  await raw?.close();
  raw = undefined;
});

const many = (bytes: Buffer, count = 4_000) =>
  Buffer.concat(Array.from({ length: count }, () => bytes));

const FLOODS: readonly (readonly [string, (stream: number) => Flood])[] = [
  [
    '103 responses',
    (id) => ({
      first: frame(FRAME.HEADERS, END_HEADERS, id, STATUS_103),
      again: many(frame(FRAME.HEADERS, END_HEADERS, id, STATUS_103_AGAIN)),
    }),
  ],
  ['PING', () => ({ again: many(frame(FRAME.PING, 0, 0, new Array<number>(8).fill(0))) })],
  ['SETTINGS', () => ({ again: many(frame(FRAME.SETTINGS, 0, 0)) })],
  [
    'CONTINUATION',
    (id) => ({
      first: frame(FRAME.HEADERS, 0, id, STATUS_103),
      again: many(frame(FRAME.CONTINUATION, 0, id)),
    }),
  ],
  ['RST_STREAM', (id) => ({ again: many(frame(FRAME.RST_STREAM, 0, id, [0, 0, 0, 8])) })],
  ['GOAWAY', () => ({ again: many(frame(FRAME.GOAWAY, 0, 0, [0x7f, 255, 255, 255, 0, 0, 0, 0])) })],
  ['WINDOW_UPDATE', () => ({ again: many(frame(FRAME.WINDOW_UPDATE, 0, 0, [0, 0, 0, 1])) })],
  ['PRIORITY', (id) => ({ again: many(frame(FRAME.PRIORITY, 0, id, [0, 0, 0, 0, 1])) })],
  ['ALTSVC', (id) => ({ again: many(frame(FRAME.ALTSVC, 0, id, [0, 0, 97])) })],
  [
    'ORIGIN',
    () => ({ again: many(frame(FRAME.ORIGIN, 0, 0, [0, 9, ...Buffer.from('https://a')])) }),
  ],
  [
    'empty DATA frames',
    (id) => ({
      first: frame(FRAME.HEADERS, END_HEADERS, id, STATUS_200),
      again: many(frame(FRAME.DATA, 0, id)),
    }),
  ],
  [
    'DATA frames of one byte',
    (id) => ({
      first: frame(FRAME.HEADERS, END_HEADERS, id, STATUS_200),
      again: many(frame(FRAME.DATA, 0, id, [0])),
    }),
  ],
];

describe('a hostile server over HTTPS', () => {
  beforeEach(() => {
    fixture = new EncryptedFixture('https');
  });

  it.each(FLOODS)('attack 21: a flood of %s is ended, and others answer', async (_what, flood) => {
    raw = await RawServer.start(HTTPS, flood);
    const other = await fixture.serve();
    const result = ask(fixture.at(raw.port).sockets, 'n1');
    await fixture.passUntilTrue(() => raw!.sent > 0 && raw!.open === 0);
    const why = [codeOf(await fixture.passUntil(result)), ...fixture.failures].join();
    // Node ends some of them itself.
    expect(why).toMatch(/FLOOD|HTTP2_/);
    expect(await ask(fixture.at(other.port).sockets, 'n2')).toBe('10.0.0.2');
  });

  it('finding 6: 103 responses end the connection, and the server is not asked for 30 s', async () => {
    raw = await RawServer.start(HTTPS, FLOODS[0]![1]);
    const { sockets } = fixture.at(raw.port);
    const flooded = await fixture.passUntil(ask(sockets, 'n1'));
    expect(flooded).toMatchObject({ code: 'closed', text: expect.stringContaining('(FLOOD)') });
    fixture.wait(29_000);
    expect(await fixture.passUntil(ask(sockets, 'n2'))).toMatchObject({ code: 'closed' });
    expect(raw.accepted).toBe(1);
    fixture.wait(2_000);
    void ask(sockets, 'n3');
    await fixture.passUntilTrue(() => raw!.accepted === 2);
  });
});

describe('a hostile server over TLS', () => {
  beforeEach(() => {
    fixture = new EncryptedFixture('tls');
  });

  it.each([
    ['messages of no bytes', Buffer.alloc(65_536)],
    [
      'messages that answer no question',
      many(Buffer.concat([Buffer.from([0, 12]), Buffer.alloc(12)])),
    ],
  ])('attack 21: a flood of %s is ended, and others answer', async (_what, again) => {
    raw = await RawServer.start(CERTIFICATE, () => ({ again }));
    const other = await fixture.serve();
    const result = ask(fixture.at(raw.port).sockets, 'n1');
    await fixture.passUntilTrue(() => raw!.sent > 0 && raw!.open === 0);
    expect(codeOf(await fixture.passUntil(result))).toBe('FLOOD');
    expect(await ask(fixture.at(other.port).sockets, 'n2')).toBe('10.0.0.2');
  });

  const rsa = authority.issue({ names: [ADDRESS], keyType: 'rsa' });

  it.each([
    ['attack 21: a server that has DHE alone gets no handshake', ['DHE-RSA-AES128-GCM-SHA256'], []],
    [
      'finding 1: a server that prefers DHE gets a handshake with ECDHE',
      ['DHE-RSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
      ['ECDHE-RSA-AES128-GCM-SHA256'],
    ],
  ])('%s', async (_what, ciphers, agreed) => {
    raw = await RawServer.start(
      {
        ...rsa,
        maxVersion: 'TLSv1.2',
        ciphers: ciphers.join(':'),
        dhparam: 'auto',
        honorCipherOrder: true,
      },
      () => ({ again: Buffer.alloc(4) }),
    );
    const result = await fixture.passUntil(ask(fixture.at(raw.port).sockets, 'n1'));
    expect(raw.ciphers).toEqual(agreed);
    expect(codeOf(result)).toBe(agreed.length === 0 ? 'NO_COMMON_CIPHER' : 'FLOOD');
    const log = agreed.length === 0 ? 'TLS 1.2 with ECDHE' : '(FLOOD)';
    expect(fixture.failures).toEqual([expect.stringContaining(log)]);
  });

  it('attack 21: a server that begins another handshake is left', async () => {
    let refused = false;
    const server = createServer({ ...CERTIFICATE, maxVersion: 'TLSv1.2' }, (socket) => {
      socket.on('error', () => (refused = true));
      socket.on('data', () => socket.renegotiate({}, () => undefined));
    });
    const { port } = await listening(server);
    const result = ask(fixture.at(port).sockets, 'n1');
    expect(await fixture.passUntil(result)).toMatchObject({ failure: { code: 23 } });
    expect(refused).toBe(true);
    server.close();
  });

  unless(NO_BATCH, it).each([
    [3, '10.0.0.1'],
    [4, 'UNKNOWN_CA'],
    [60, 'UNKNOWN_CA'],
  ])('finding 2: a chain with %i certificates between is %s', async (count, expected) => {
    await loadLibc();
    let signer = authority;
    for (let i = 0; i < count; i++) signer = new TestAuthority(`authority ${i}`, signer);
    const certificate = signer.issue({ names: [ADDRESS] });
    const server = await fixture.serve(addressOfName, undefined, { certificate });
    const result = await ask(fixture.at(server.port).sockets, 'n1');
    expect(typeof result === 'string' ? result : codeOf(result)).toBe(expected);
  });

  it.each([
    ['is not tried again for 30 s where it took 60 ms of CPU', 60, 1],
    ['is tried again where it was cheap', 1, 2],
  ])('finding 1: a handshake that failed %s', async (_what, cpuMs, accepted) => {
    const stranger = new TestAuthority('other').issue({ names: [ADDRESS] });
    const server = await fixture.serve(addressOfName, undefined, { certificate: stranger });
    let nowMs = 0;
    let usedMs = 0;
    const pool = new EncryptedServers(
      () => nowMs,
      () => Date.now(),
      (work) => work(),
      // Each look is later: what is used between two is the cost of what was between them.
      () => (usedMs += cpuMs),
    );
    const target = { server: fixture.addressOf(server.port) };
    const sockets = pool.connectionsTo(target, new TlsTrust(authority.cert), () => undefined);
    for (const count of [1, accepted]) {
      expect(await ask(sockets, 'n1')).toMatchObject({ failure: { code: 23 } });
      expect(server.accepted).toBe(count);
      nowMs += 25_000;
      pool.tick();
    }
    pool.close();
  });
});

describe.each(['tls', 'https'] as const)(
  'a server over %s that cannot be reached so',
  (protocol) => {
    beforeEach(() => {
      fixture = new EncryptedFixture(protocol);
    });

    it.each<[string, (socket: Socket) => unknown]>([
      ['is reset', (socket) => socket.resetAndDestroy()],
      ['is left open', () => fixture.wait(HANDSHAKE_MS)],
      ['has an answer in plain text', (socket) => socket.end(Buffer.from([0, 1, 0]))],
    ])('attack 22: is not asked in plain text where its connection %s', async (_what, react) => {
      const received: Buffer[] = [];
      const server = createPlainServer((socket) => {
        socket.on('error', () => undefined);
        socket.on('data', (bytes) => {
          received.push(bytes);
          react(socket);
        });
      });
      const { port } = await listening(server);
      const datagrams = createSocket('udp4', (message) => received.push(message));
      datagrams.bind(port, ADDRESS);
      await once(datagrams, 'listening');
      const { sockets } = fixture.at(port);
      for (const name of ['n1', 'n2']) {
        expect(await fixture.passUntil(ask(sockets, name))).toMatchObject({
          failure: { code: 23 },
        });
      }
      // Each begins with the record of a TLS handshake (RFC 8446 section 5.1).
      expect(received.map((bytes) => bytes[0])).toEqual(received.map(() => 0x16));
      server.close();
      datagrams.close();
    });

    it('attack 22: is not asked where it agrees to another protocol alone', async () => {
      raw = await RawServer.start({ ...CERTIFICATE, ALPNProtocols: ['http/1.1'] }, () => undefined);
      const result = await ask(fixture.at(raw.port).sockets, 'n1');
      expect(result).toMatchObject({ code: 'handshake', failure: { code: 23 } });
      expect(raw.handshakes).toBe(0);
    });
  },
);

async function listening(server: PlainServer): Promise<AddressInfo> {
  server.listen(0, ADDRESS);
  await once(server, 'listening');
  return server.address() as AddressInfo;
}

/** The code of a failure, without the server behind it. */
function codeOf(result: Result | undefined): string {
  if (result === undefined || typeof result === 'string') return String(result);
  return Buffer.from(result.failure.option.subarray(6)).toString().split(' ')[0]!;
}
