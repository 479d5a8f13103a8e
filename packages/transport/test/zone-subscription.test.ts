import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from '@jest/globals';
import { frameMessage, Frames, ownedBy, until } from '@kube-dns/testkit';
import {
  changedTlv,
  decodeName,
  DSO_TYPE,
  type DsoMessage,
  type DsoTlv,
  encodeKey,
  RCODE,
  readDso,
  serialTlv,
  subscribedTlv,
  writeDso,
} from '@kube-dns/wire';
import {
  type SubscriptionEvents,
  ZoneSubscription,
} from '../src/subscription/zone-subscription.js';

const ZONES = ['cluster.local', 'in-addr.arpa'].map(encodeKey);
const APEX = encodeKey('cluster.local');
const INSTANCE = new Uint8Array(8).fill(7);
const FIRST_SERIAL = 40;
const SUBSCRIBED = subscribedTlv({ instance: INSTANCE, serial: FIRST_SERIAL, apex: APEX });

const own = ownedBy(afterEach);

/** What the other side says to a request: a response, bytes, silence, or it closes the connection. */
type Reaction = DsoMessage | Uint8Array | 'silence' | 'close';

/** A name server over TCP whose sessions a test leads. */
class Peer {
  readonly requests: DsoMessage[] = [];
  connections = 0;
  readonly #server: Server;
  readonly #sockets: Socket[] = [];

  private constructor(react: (request: DsoMessage) => Reaction) {
    this.#server = createServer((socket) => {
      this.connections++;
      this.#sockets.push(socket);
      const frames = new Frames();
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => {
        for (const message of frames.push(chunk)) {
          const request = readDso(message)!;
          this.requests.push(request);
          const reaction = react(request);
          if (reaction === 'close') socket.destroy();
          else if (reaction !== 'silence') this.#send(socket, reaction);
        }
      });
    });
  }

  static async start(react: (request: DsoMessage) => Reaction): Promise<Peer> {
    const peer = new Peer(react);
    peer.#server.listen(0, '127.0.0.1');
    await once(peer.#server, 'listening');
    return own(peer);
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' ? address!.port : 0;
  }

  tell(...tlvs: DsoTlv[]): void {
    this.raw(writeDso({ id: 0, isResponse: false, rcode: 0, tlvs }));
  }

  raw(bytes: Uint8Array): void {
    this.#sockets.at(-1)!.write(frameMessage(bytes));
  }

  cut(): void {
    this.#sockets.at(-1)!.destroy();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #send(socket: Socket, reaction: DsoMessage | Uint8Array): void {
    socket.write(frameMessage(reaction instanceof Uint8Array ? reaction : writeDso(reaction)));
  }
}

class Told implements SubscriptionEvents {
  readonly events: string[] = [];
  onLive = () => this.events.push('live');
  onChanged = (name: Uint8Array) => this.events.push(decodeName(name));
  onFlush = (cause: string) => this.events.push(`flush: ${cause}`);
  onLost = (reason: string) => this.events.push(`lost: ${reason}`);
  onUnsupported = (reason: string) => this.events.push(`unsupported: ${reason}`);
}

const accept = ({ id }: DsoMessage): DsoMessage => ({
  id,
  isResponse: true,
  rcode: RCODE.NOERROR,
  tlvs: [SUBSCRIBED],
});
const refuse =
  (rcode: number) =>
  ({ id }: DsoMessage): DsoMessage => ({ id, isResponse: true, rcode, tlvs: [] });

function subscribe(peer: Peer, options: { silenceMs?: number; unsupportedPauseMs?: number } = {}) {
  const events = new Told();
  const server = { address: '127.0.0.1', port: peer.port };
  const subscription = own(new ZoneSubscription({ server, zones: ZONES, events, ...options }));
  subscription.start();
  return { events: events.events, subscription };
}

async function live(options: { silenceMs?: number } = {}) {
  const peer = await Peer.start(accept);
  const { events, subscription } = subscribe(peer, options);
  await until('live', () => events.includes('live'));
  return { peer, events, subscription };
}

const changed = (before: number, after: number, ...names: string[]) =>
  changedTlv({ before, after, names: names.map(encodeKey) });

describe('a subscription', () => {
  it('asks for each zone, and tells the names that changed', async () => {
    const { peer, events, subscription } = await live();
    expect(peer.requests.map(({ tlvs }) => decodeName(tlvs[0]!.data))).toEqual([
      'cluster.local',
      'in-addr.arpa',
    ]);
    expect(subscription.isLive).toBe(true);
    peer.tell(changed(FIRST_SERIAL, 41, 'a.b', 'c.d'));
    peer.tell(changed(41, 42, 'e.f'));
    peer.tell(serialTlv(DSO_TYPE.HEARTBEAT, 42));
    peer.tell(serialTlv(DSO_TYPE.FLUSH, 43));
    await until('all', () => events.length >= 5);
    expect(events).toEqual(['live', 'a.b', 'c.d', 'e.f', 'flush: by-server']);
  });

  it.each([
    ['lost', [changed(41, 42, 'a.b')]],
    ['doubled', [changed(40, 41), changed(40, 41)]],
    ['in another order', [changed(41, 42), changed(40, 41)]],
    ['missed before a heartbeat', [serialTlv(DSO_TYPE.HEARTBEAT, 41)]],
  ])('takes any name for changed when a message was %s', async (_, tlvs) => {
    const { peer, events } = await live();
    for (const tlv of tlvs) peer.tell(tlv);
    await until('a flush', () => events.includes('flush: missed-message'));
  });

  it.each([
    ['NOTIMP', refuse(RCODE.NOTIMP)],
    ['FORMERR', refuse(RCODE.FORMERR)],
    ['REFUSED', refuse(RCODE.REFUSED)],
    ['NOTAUTH for all zones', refuse(RCODE.NOTAUTH)],
    ['NOTIMP without the opcode', ({ id }: DsoMessage) => header(id, 0x8004)],
    ['NOERROR without what was asked for', refuse(RCODE.NOERROR)],
    ['a closed connection', () => 'close' as const],
    ['another message', ({ id }: DsoMessage) => header(id, 0x8000)],
  ])('is told once that the server does not know it, by %s, and asks again', async (_, react) => {
    const peer = await Peer.start(react);
    const { events, subscription } = subscribe(peer, { unsupportedPauseMs: 20 });
    await until('asked three times', () => peer.connections >= 3);
    expect(events).toHaveLength(1);
    expect(events[0]).toMatch(/^unsupported: /);
    const { state, reason } = subscription.status;
    expect([state, `unsupported: ${reason}`]).toEqual(['unsupported', events[0]]);
  });

  it('that does not know the operation is asked at once when it is there again', async () => {
    let isKnown = false;
    const peer = await Peer.start((request) =>
      isKnown ? accept(request) : refuse(RCODE.NOTIMP)(request),
    );
    const { events, subscription } = subscribe(peer);
    await until('refused', () => events.length === 1);
    isKnown = true;
    subscription.retry();
    await until('live', () => events.length === 2);
    subscription.retry();
    expect([events[1], peer.connections]).toEqual(['live', 2]);
  });

  it('that is silent is asked on a new connection when it is there again', async () => {
    let isSilent = true;
    const peer = await Peer.start((request) => (isSilent ? 'silence' : accept(request)));
    const { events, subscription } = subscribe(peer);
    await until('asked', () => peer.requests.length === ZONES.length);
    isSilent = false;
    subscription.retry();
    await until('live', () => events.includes('live'));
    expect([events, peer.connections]).toEqual([['live'], 2]);
  });

  it('lives with the zones that the server has', async () => {
    const peer = await Peer.start((request) =>
      (request.id === 1 ? refuse(RCODE.NOTAUTH) : accept)(request),
    );
    const { events } = subscribe(peer);
    await until('live', () => events.includes('live'));
  });

  it('asks a server soon again that is busy, and says nothing', async () => {
    let rcode: number = RCODE.SERVFAIL;
    const peer = await Peer.start((request) =>
      rcode === RCODE.NOERROR ? accept(request) : refuse(rcode)(request),
    );
    const { events } = subscribe(peer);
    await until('asked', () => peer.requests.length > 0);
    rcode = RCODE.NOERROR;
    await until('live', () => events.includes('live'));
    expect(events).toEqual(['live']);
  });

  it('is lost with its connection, and begins again at once', async () => {
    const { peer, events } = await live();
    peer.cut();
    await until('live again', () => events.filter((event) => event === 'live').length === 2);
    expect(events[1]).toMatch(/^lost: /);
  });

  it('is lost without a heartbeat', async () => {
    const { events } = await live({ silenceMs: 50 });
    await until('lost', () => events.includes('lost: no heartbeat'));
  });

  it('says what it is, since when, and why it is not live', async () => {
    const beforeMs = performance.now();
    const { peer, events, subscription } = await live();
    expect(subscription.status).toMatchObject({
      state: 'live',
      reason: '',
      serial: FIRST_SERIAL,
    });
    const { sinceMs, heardMs } = subscription.status;
    expect(sinceMs).toBeGreaterThanOrEqual(beforeMs);
    peer.tell(changed(FIRST_SERIAL, 41, 'a.b'));
    await until('the name', () => events.includes('a.b'));
    expect(subscription.status.serial).toBe(41);
    expect(subscription.status.heardMs).toBeGreaterThan(heardMs!);
    peer.close();
    await until('refused', () => /refused/i.test(subscription.status.reason));
    expect(subscription.status).toMatchObject({ state: 'down', serial: undefined });
    expect(subscription.status.sinceMs).toBeGreaterThan(sinceMs);
  });

  it.each([
    ['a TLV that ends too early', Buffer.from('000030000000000000000000f801ffff', 'hex')],
    ['a name that ends too early', wrapped(DSO_TYPE.CHANGED, 'ff'.repeat(17))],
    ['a serial that ends too early', wrapped(DSO_TYPE.HEARTBEAT, '00')],
    ['another message', header(1, 0x8183)],
    ['no whole header', Buffer.of(1)],
  ])('ends with %s, and begins again', async (_, bytes) => {
    const { peer, events } = await live();
    peer.raw(bytes);
    await until('live again', () => events.filter((event) => event === 'live').length === 2);
  });

  it('passes over operations of later versions', async () => {
    const { peer, events } = await live();
    peer.tell({ type: 0xf8ff, data: new Uint8Array(3) });
    peer.tell();
    peer.tell(changed(FIRST_SERIAL, 41, 'a.b'));
    await until('the name', () => events.includes('a.b'));
    expect(events).toEqual(['live', 'a.b']);
  });

  it('ends when it is closed, twice if need be', async () => {
    const { peer, events, subscription } = await live();
    subscription.close();
    subscription.close();
    peer.tell(changed(FIRST_SERIAL, 41, 'a.b'));
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(events).toEqual(['live']);
    expect(peer.connections).toBe(1);
  });
});

function header(id: number, flags: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt16BE(id, 0);
  bytes.writeUInt16BE(flags, 2);
  return bytes;
}

function wrapped(type: number, data: string): Uint8Array {
  const tlvs = [{ type, data: Uint8Array.from(Buffer.from(data, 'hex')) }];
  return writeDso({ id: 0, isResponse: false, rcode: 0, tlvs });
}
