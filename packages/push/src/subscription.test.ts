import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { held, ownedBy, until } from '@kube-dns/testkit';
import {
  changedTlv,
  decodeName,
  DSO_TYPE,
  type DsoMessage,
  encodeKey,
  keepaliveTlv,
  RCODE,
  serialTlv,
  subscribedTlv,
  writeDso,
} from '@kube-dns/wire';
import { type SubscriptionEvents, ZoneSubscription } from './subscription.js';
import { SubscriptionPeer as Peer } from '../test/subscription-peer.js';

const ZONES = ['cluster.local', 'in-addr.arpa'].map(encodeKey);
const APEX = encodeKey('cluster.local');
const INSTANCE = new Uint8Array(8).fill(7);
const FIRST_SERIAL = 40;
const SUBSCRIBED = subscribedTlv({ instance: INSTANCE, serial: FIRST_SERIAL, apex: APEX });

/** Pauses of a subscription: after a lost connection or while the server is busy, at most, and when it announces no changes. */
const FIRST_PAUSE_MS = 100;
const UNSUPPORTED_PAUSE_MS = 60_000;
const SILENCE_MS = 12_000;

/** Holds timers, but not those of sockets. */
const TIMERS = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const;
beforeEach(() => {
  jest.useFakeTimers(held(...TIMERS));
});
const own = ownedBy(afterEach);
afterEach(() => void jest.useRealTimers());

/** Lets time go by; what was due by then has begun. */
const pass = (ms: number) => jest.advanceTimersByTime(ms);

class Told implements SubscriptionEvents {
  readonly events: string[] = [];
  onLive = () => this.events.push('live');
  onChanged = (name: Uint8Array) => this.events.push(decodeName(name));
  onFlush = (cause: string) => this.events.push(`flush: ${cause}`);
  onLost = (reason: string) => this.events.push(`lost: ${reason}`);
  onUnsupported = (reason: string) => this.events.push(`unsupported: ${reason}`);
  onBusy = (reason: string) => this.events.push(`busy: ${reason}`);
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

const startPeer = async (...react: Parameters<typeof Peer.start>) =>
  own(await Peer.start(...react));

function subscribe(peer: Peer) {
  const events = new Told();
  const server = { address: '127.0.0.1', port: peer.port };
  const subscription = own(new ZoneSubscription({ server, zones: ZONES, events }));
  subscription.start();
  return { events: events.events, subscription };
}

async function live() {
  const peer = await startPeer(accept);
  const { events, subscription } = subscribe(peer);
  await until('live', () => events.includes('live'));
  return { peer, events, subscription };
}

/** Whether it waits until it connects again: a connection has two timers. */
const isPausing = () => jest.getTimerCount() === 1;

/** A subscription to a server that refuses it as busy, until `free`. */
async function subscribeToBusy() {
  let isBusy = true;
  const peer = await startPeer((request) => (isBusy ? refuse(RCODE.SERVFAIL) : accept)(request));
  const free = () => void (isBusy = false);
  return { peer, free, events: subscribe(peer).events };
}

async function isLiveAgain(events: readonly string[]): Promise<void> {
  await until('lost', () => events.length >= 2 && isPausing());
  pass(FIRST_PAUSE_MS);
  await until('live again', () => events.filter((event) => event === 'live').length === 2);
}

const changed = (before: number, after: number, ...names: string[]) =>
  changedTlv({ before, after, names: names.map(encodeKey) });

describe('a subscription', () => {
  it('asks for each zone, and announces the names that changed', async () => {
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
  ])(
    'is notified once that the server does not know it, by %s, and asks again',
    async (_, react) => {
      const peer = await startPeer(react);
      const { events, subscription } = subscribe(peer);
      for (let asked = 1; asked <= 3; asked++) {
        await until('asked, and refused', () => peer.connections === asked && isPausing());
        pass(UNSUPPORTED_PAUSE_MS - 1);
        expect(isPausing()).toBe(true);
        pass(1);
      }
      expect(events).toHaveLength(1);
      expect(events[0]).toMatch(/^unsupported: /);
      const { state, reason } = subscription.status;
      expect([state, `unsupported: ${reason}`]).toEqual(['unsupported', events[0]]);
    },
  );

  it('that does not know the operation is asked at once when it is there again', async () => {
    let isKnown = false;
    const peer = await startPeer((request) =>
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
    const peer = await startPeer((request) => (isSilent ? 'silence' : accept(request)));
    const { events, subscription } = subscribe(peer);
    await until('asked', () => peer.requests.length === ZONES.length);
    isSilent = false;
    subscription.retry();
    await until('live', () => events.includes('live'));
    expect([events, peer.connections]).toEqual([['live'], 2]);
  });

  it('lives with the zones that the server has', async () => {
    const peer = await startPeer((request) =>
      (request.id === 1 ? refuse(RCODE.NOTAUTH) : accept)(request),
    );
    const { events } = subscribe(peer);
    await until('live', () => events.includes('live'));
  });

  it('says once that a server is busy, when it has been so for 5 s, and what that may mean', async () => {
    const peer = await startPeer(refuse(RCODE.SERVFAIL));
    const { events, subscription } = subscribe(peer);
    const LONGEST_PAUSE_MS = 400;
    let said: number | undefined;
    for (let asked = 1; asked <= 100; asked++) {
      await until('refused', () => peer.connections === asked && isPausing());
      if (events.length > 0) said ??= asked;
      pass(LONGEST_PAUSE_MS);
    }
    // After 5 s of pauses of 0.4 s at most.
    expect(said).toBeGreaterThan(12);
    const reason =
      'SERVFAIL: it has as many subscribers as it may, or does not know its whole zone yet';
    expect(events).toEqual([`busy: ${reason}`]);
    expect(subscription.status).toMatchObject({ state: 'down', reason });
  });

  it('asks a server soon again that is busy, and says nothing', async () => {
    const { peer, events, free } = await subscribeToBusy();
    await until('refused', () => peer.requests.length > 0 && isPausing());
    free();
    pass(FIRST_PAUSE_MS);
    await until('live', () => events.includes('live'));
    expect(events).toEqual(['live']);
  });

  const READY = { type: DSO_TYPE.READY, data: new Uint8Array(0) };

  it('asks a busy server at once when that says that it is ready', async () => {
    const { peer, events, free } = await subscribeToBusy();
    await until('refused', () => peer.requests.length === ZONES.length && isPausing());
    free();
    // No time goes by.
    peer.tell(READY);
    await until('live', () => events.includes('live'));
    expect([events, peer.connections]).toEqual([['live'], 2]);
    await until('closed', () => peer.open === 1);
  });

  it('attack 24: asks less and less often where a server says that it is ready, and is not', async () => {
    const peer = await startPeer((request) => {
      queueMicrotask(() => peer.tell(READY));
      return refuse(RCODE.SERVFAIL)(request);
    });
    subscribe(peer);
    for (let pauses = 1; pauses <= 3; pauses++) {
      await until('ready, and not', () => peer.connections === pauses + 1 && peer.open === 0);
      expect(isPausing()).toBe(true);
      pass(50 * (pauses + 1));
    }
  });

  it('asks again soon when another process behind the address was not ready yet', async () => {
    const { peer, events, free } = await subscribeToBusy();
    await until('refused', () => peer.requests.length === ZONES.length && isPausing());
    peer.tell(READY);
    await until('refused again', () => peer.requests.length === 2 * ZONES.length && isPausing());
    free();
    peer.tell(READY);
    await until('the pause', () => peer.open === 0 && isPausing());
    pass(100);
    await until('live', () => events.includes('live'));
    expect(peer.connections).toBe(3);
  });

  it('attack 24: takes no pause and no pace from its server', async () => {
    const { peer, events, subscription } = await live();
    const RETRY_DELAY = 2;
    const asked = peer.requests.length;
    peer.tell(keepaliveTlv(0));
    peer.tell({ type: RETRY_DELAY, data: new Uint8Array(4).fill(0xff) });
    peer.tell({ type: 0xff00, data: new Uint8Array(9) });
    peer.tell(changed(FIRST_SERIAL, 41, 'a.b'));
    await until('the change', () => events.includes('a.b'));
    expect([subscription.isLive, peer.requests.length]).toEqual([true, asked]);
    peer.cut();
    await until('lost', () => events.length >= 3 && isPausing());
    pass(FIRST_PAUSE_MS);
    await until('live again', () => events.filter((event) => event === 'live').length === 2);
  });

  const LEAVING = { type: DSO_TYPE.LEAVING, data: new Uint8Array(0) };

  it('to a server that leaves goes on until another one is there', async () => {
    const { peer, events, subscription } = await live();
    peer.tell(LEAVING);
    peer.tell(LEAVING);
    peer.tell(changed(FIRST_SERIAL, 41, 'a.b'));
    await until('the change', () => events.includes('a.b'));
    expect([subscription.isLive, subscription.status.state, peer.open]).toEqual([true, 'live', 1]);
    pass(FIRST_PAUSE_MS);
    await until('live elsewhere', () => events.length === 3);
    await until('the end of the first connection', () => peer.open === 1);
    peer.tell(changed(FIRST_SERIAL, 41, 'c.d'));
    await until('the change', () => events.length === 4);
    expect([events, peer.connections]).toEqual([['live', 'a.b', 'live', 'c.d'], 2]);
  });

  it('to a server that leaves is lost with it where no other one is there', async () => {
    let isLeaving = false;
    const peer = await startPeer((request) => (isLeaving ? refuse(RCODE.SERVFAIL) : accept)(request)); // prettier-ignore
    const { events, subscription } = subscribe(peer);
    await until('live', () => events.includes('live'));
    isLeaving = true;
    peer.tell(LEAVING);
    await until('the pause', () => jest.getTimerCount() === 3);
    pass(FIRST_PAUSE_MS);
    await until('refused', () => peer.requests.length === 2 * ZONES.length);
    expect([events, subscription.status.state]).toEqual([['live'], 'live']);
    peer.cutFirst();
    await until('lost', () => events.length === 2);
    expect([events[1], subscription.status.state]).toEqual(['lost: the server closed the connection', 'down']); // prettier-ignore
    isLeaving = false;
    pass(2 * FIRST_PAUSE_MS);
    await until('live again', () => events.length === 3);
    expect(events[2]).toBe('live');
  });

  it('goes on elsewhere less and less often where each server leaves at once', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(1);
    const peer = await startPeer(accept);
    const { events } = subscribe(peer);
    for (const [times, pauseMs] of [100, 200, 400, 400].entries()) {
      await until('live', () => events.length === times + 1 && peer.open === 1);
      peer.tell(LEAVING);
      await until('the pause', () => jest.getTimerCount() === 3);
      pass(pauseMs - 1);
      expect(peer.connections).toBe(times + 1);
      pass(1);
    }
    jest.restoreAllMocks();
  });

  it('is lost with its connection, and begins again at once', async () => {
    const { peer, events } = await live();
    peer.cut();
    await isLiveAgain(events);
    expect(events[1]).toMatch(/^lost: /);
  });

  it('is lost without a heartbeat', async () => {
    jest.useFakeTimers(held(...TIMERS, 'performance'));
    const { peer, events } = await live();
    pass(SILENCE_MS - 1);
    peer.tell(serialTlv(DSO_TYPE.HEARTBEAT, FIRST_SERIAL));
    peer.tell(changed(FIRST_SERIAL, 41, 'a.b'));
    await until('told', () => events.includes('a.b'));
    pass(SILENCE_MS - 1);
    expect(events).toEqual(['live', 'a.b']);
    pass(1);
    expect(events).toEqual(['live', 'a.b', 'lost: no heartbeat']);
  });

  it('says what it is, since when, and why it is not live', async () => {
    const beforeMs = performance.now();
    const { peer, events, subscription } = await live();
    expect(subscription.status).toMatchObject({
      state: 'live',
      reason: '',
      serial: FIRST_SERIAL,
    });
    const { sinceMs, lastSeenMs } = subscription.status;
    expect(sinceMs).toBeGreaterThanOrEqual(beforeMs);
    peer.tell(changed(FIRST_SERIAL, 41, 'a.b'));
    await until('the name', () => events.includes('a.b'));
    expect(subscription.status.serial).toBe(41);
    expect(subscription.status.lastSeenMs).toBeGreaterThan(lastSeenMs!);
    peer.close();
    await until('closed', () => subscription.status.state === 'down');
    pass(FIRST_PAUSE_MS);
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
    await isLiveAgain(events);
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
    pass(UNSUPPORTED_PAUSE_MS);
    expect(jest.getTimerCount()).toBe(0);
    // One that begins later is told all that this one might have been.
    const next = subscribe(peer);
    await until('live', () => next.events.includes('live'));
    expect(events).toEqual(['live']);
    expect(peer.connections).toBe(2);
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
