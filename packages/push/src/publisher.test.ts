import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ClientNetworks } from '@kube-dns/base';
import type { Session } from '@kube-dns/transport';
import {
  clusterVersionTlv,
  decodeName,
  DSO_TYPE,
  type DsoMessage,
  type DsoTlv,
  encodeKey,
  RCODE,
  readChanged,
  readClusterVersion,
  readDso,
  readSubscribed,
  writeDso,
} from '@kube-dns/wire';
import { Publisher, subscriberFacts, subscriberProblems, subscribersPage } from './publisher.js';
import { clusterVersion, messagesOf } from './testing/index.js';

const APEX = encodeKey('cluster.local');

/** A client's connection, as far as the service sees it. */
class FakeSession implements Session {
  readonly address: string;
  readonly port = 1;
  unsentBytes = 0;
  stays = false;
  isClosed = false;
  readonly messages: DsoMessage[] = [];
  readonly frames: Uint8Array[] = [];
  onFrames: () => void = () => undefined;
  #onClose: () => void = () => undefined;

  constructor(address = '10.1.0.1') {
    this.address = address;
  }

  push(message: Uint8Array): void {
    this.messages.push(readDso(message)!);
  }

  pushFrames(frames: Uint8Array): void {
    this.frames.push(frames);
    for (const message of messagesOf(frames)) this.push(message);
    this.onFrames();
  }

  stay(): void {
    this.stays = true;
  }

  close(): void {
    this.isClosed = true;
    this.#onClose();
  }

  onClose(listener: () => void): void {
    this.#onClose = listener;
  }

  /** The types of what it was told, without heartbeats. */
  get told(): number[] {
    return this.messages
      .filter(({ isResponse }) => !isResponse)
      .map(({ tlvs }) => tlvs[0]!.type)
      .filter((type) => type !== DSO_TYPE.HEARTBEAT);
  }
}

let now: number;
/** What the zones say of a subscription, and of a heartbeat. */
let zones: {
  apex: Uint8Array;
  isKnown: boolean;
  version: Uint8Array | undefined;
  rcode: number;
  rcodeFor(): number;
};
let publisher: Publisher<'configuration'>;
beforeEach(() => {
  jest.useFakeTimers();
  now = 0;
  zones = {
    apex: APEX,
    isKnown: true,
    version: undefined,
    rcode: RCODE.NOERROR,
    rcodeFor: () => zones.rcode,
  };
  publisher = new Publisher({ zones, reasons: ['configuration'], now: () => now });
});
afterEach(() => {
  publisher.close();
  jest.useRealTimers();
});

function request(session: FakeSession, type: number, data: Uint8Array, ...more: DsoTlv[]): number {
  const bytes = writeDso({ id: 5, isResponse: false, rcode: 0, tlvs: [{ type, data }, ...more] });
  publisher.receive(bytes, session);
  return session.messages.findLast(({ isResponse }) => isResponse)!.rcode;
}

function subscribed(address?: string): FakeSession {
  const session = new FakeSession(address);
  expect(request(session, DSO_TYPE.SUBSCRIBE, APEX)).toBe(RCODE.NOERROR);
  return session;
}

function change(name = 'web.default.svc.cluster.local'): void {
  publisher.feed.add(encodeKey(name));
  jest.advanceTimersByTime(3);
}

/** Another publisher that takes so many; what it logs. */
function limitTo(limit: number): string[] {
  const lines: string[] = [];
  const log = { warn: (line: string) => lines.push(line) };
  publisher.close();
  publisher = new Publisher({
    zones,
    reasons: ['configuration'],
    now: () => now,
    rules: { limit, log },
  });
  return lines;
}

function pass(ms: number): void {
  for (const end = now + ms; now < end;) {
    now += 1_000;
    jest.advanceTimersByTime(1_000);
  }
}

describe('the subscribers of a Publisher', () => {
  it('say who they are and what the serial is, and announce changes from then on', () => {
    change();
    const session = subscribed();
    expect(session.stays).toBe(true);
    expect(readSubscribed(session.messages[0]!.tlvs[0]!.data)).toMatchObject({
      serial: 1,
      apex: APEX,
    });
    change();
    expect(session.told).toEqual([DSO_TYPE.CHANGED]);
    session.close();
    expect(publisher.count).toBe(0);
  });

  it('take no subscription to bytes that are no name, nor where the zones say no', () => {
    const noName = Uint8Array.of(3, 1);
    expect(request(new FakeSession(), DSO_TYPE.SUBSCRIBE, noName)).toBe(RCODE.FORMERR);
    for (const rcode of [RCODE.NOTAUTH, RCODE.SERVFAIL]) {
      zones.rcode = rcode;
      expect(request(new FakeSession(), DSO_TYPE.SUBSCRIBE, APEX)).toBe(rcode);
    }
    expect(publisher.count).toBe(0);
  });

  it('get no heartbeat while changes may be unknown', () => {
    const session = subscribed();
    zones.isKnown = false;
    pass(6_000);
    expect(session.messages).toHaveLength(1);
    zones.isKnown = true;
    pass(2_000);
    expect(session.messages).toHaveLength(2);
  });

  it('that come too early get READY when they may subscribe, in parts of 70 each 10 ms', () => {
    zones.rcode = RCODE.SERVFAIL;
    const sessions = Array.from({ length: 100 }, () => new FakeSession());
    for (const each of sessions)
      expect(request(each, DSO_TYPE.SUBSCRIBE, APEX)).toBe(RCODE.SERVFAIL);
    sessions[0]!.close();
    const told = () => sessions.filter((each) => each.told.includes(DSO_TYPE.READY)).length;
    zones.rcode = RCODE.NOERROR;
    publisher.welcome();
    expect(told()).toBe(70);
    jest.advanceTimersByTime(10);
    expect(told()).toBe(99);
    publisher.welcome();
    jest.advanceTimersByTime(1_000);
    expect(sessions.map(({ messages }) => messages.length)).toEqual([1, ...Array<number>(99).fill(2)]); // prettier-ignore
  });

  it('are to go elsewhere before its end, and get what changes until they have', async () => {
    const sessions = [subscribed(), subscribed()];
    const left = publisher.leave();
    change();
    for (const { told } of sessions) expect(told).toEqual([DSO_TYPE.LEAVING, DSO_TYPE.CHANGED]);
    expect(request(new FakeSession(), DSO_TYPE.SUBSCRIBE, APEX)).toBe(RCODE.SERVFAIL);
    for (const session of sessions) {
      expect(session.isClosed).toBe(false);
      session.close();
    }
    await left;
    expect(jest.getTimerCount()).toBe(0);
    await publisher.leave();
  });

  it('have 2 s to go elsewhere', async () => {
    const session = subscribed();
    let hasLeft = false;
    const left = publisher.leave().then(() => (hasLeft = true));
    await jest.advanceTimersByTimeAsync(1_999);
    expect(hasLeft).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    await left;
    expect(session.isClosed).toBe(false);
  });

  it('are dismissed', () => {
    const sessions = [subscribed(), subscribed()];
    publisher.dismiss();
    expect(sessions.map(({ isClosed }) => isClosed)).toEqual([true, true]);
    expect(publisher).toMatchObject({ count: 0, dropped: 0 });
  });

  it('are 6,000 at most; with many of them names are collected for longer', () => {
    for (let i = 0; i < 6_000; i++) subscribed(`10.1.${i >> 8}.${i & 0xff}`);
    for (const address of ['10.1.0.1', '10.2.1.1']) {
      const session = new FakeSession(address);
      expect(request(session, DSO_TYPE.SUBSCRIBE, APEX)).toBe(RCODE.SERVFAIL);
    }
    expect(publisher).toMatchObject({ count: 6_000, limit: 6_000, receivers: 6_000 });
    expect(publisher.refused).toEqual({ limit: 2, network: 0 });
  });

  it.each([
    ['that has fewer', '10.1.0.2', '10.9.9.9'],
    ['of another network', 'fd00:0:0:2::1', 'fd00:0:0:1::7'],
    ['of the same pod', '127.0.0.1', '10.9.9.9'],
  ])('give a place of the client that has most to one %s', (_, address, greedy) => {
    limitTo(250);
    const first = subscribed(greedy);
    for (let i = 1; i < 250; i++) subscribed(greedy);
    expect(request(new FakeSession(greedy), DSO_TYPE.SUBSCRIBE, APEX)).toBe(RCODE.SERVFAIL);
    const session = subscribed(address);
    expect([first.isClosed, session.isClosed, publisher.count]).toEqual([true, false, 250]);
  });

  it('of the same pod have a place although each of many clients has one', () => {
    limitTo(250);
    for (let i = 0; i < 250; i++) subscribed(`10.1.0.${i}`);
    const session = subscribed('127.0.0.1');
    const other = new FakeSession('10.1.1.1');
    expect(request(other, DSO_TYPE.SUBSCRIBE, APEX)).toBe(RCODE.SERVFAIL);
    expect([session.isClosed, publisher.count]).toEqual([false, 250]);
  });

  it('beyond the limit are named once a minute, who gives way and who is refused', () => {
    const lines = limitTo(2);
    for (let i = 0; i < 2; i++) subscribed('10.1.0.1');
    subscribed('10.1.0.2');
    for (let i = 0; i < 3; i++) request(new FakeSession('10.1.0.3'), DSO_TYPE.SUBSCRIBE, APEX);
    now += 60_000;
    request(new FakeSession('10.1.0.3'), DSO_TYPE.SUBSCRIBE, APEX);
    const reached = 'there are 2 subscribers to changes, the most that this process may have';
    expect(lines).toEqual([
      `${reached}: 10.1.0.1, which has more, gives way to 10.1.0.2`,
      `${reached}: the answers of 10.1.0.3 live as long as their TTL says`,
    ]);
    expect([publisher.refused, publisher.dropped]).toEqual([{ limit: 4, network: 0 }, 1]);
    expect(subscriberProblems(publisher)).toEqual([
      'there are 2 subscribers to changes, the most that this process may have',
    ]);
    publisher.dismiss();
    expect(subscriberProblems(publisher)).toEqual([]);
    expect(subscriberFacts(publisher)).toEqual({
      serial: '1',
      names: 0,
      subscribers: 0,
      subscribersAtMost: 2,
      subscribersDropped: 1,
      subscribersRefused: 4,
    });
  });

  it('share the bytes of a message', () => {
    const sessions = [subscribed(), subscribed(), subscribed()];
    change();
    pass(2_000);
    const [first, ...others] = sessions.map(({ frames }) => frames);
    expect(first).toHaveLength(2);
    for (const frames of others)
      for (const [at, bytes] of frames.entries()) expect(bytes).toBe(first![at]);
  });

  it('get a message in several turns of the event loop, and what came meanwhile with it', () => {
    const sessions = Array.from({ length: 10 }, () => subscribed());
    // Each takes a millisecond of the two of a turn.
    for (const session of sessions) session.onFrames = () => (now += 1);
    const sent = () => sessions.map(({ frames }) => frames.length);
    const told = () => sessions.map(({ told: types }) => types.length);
    publisher.feed.flush('configuration');
    expect(sent()).toEqual([1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    publisher.feed.flush('configuration');
    sessions[3]!.close();
    const late = subscribed();
    expect(sent()).toEqual([1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    jest.advanceTimersToNextTimer();
    expect(sent()).toEqual([1, 1, 1, 0, 1, 0, 0, 0, 0, 0]);
    jest.advanceTimersByTime(10);
    expect(sent()).toEqual([2, 2, 1, 0, 1, 1, 1, 1, 1, 1]);
    expect(told()).toEqual([2, 2, 2, 0, 2, 2, 2, 2, 2, 2]);
    expect(late.told).toEqual([]);
    // Nothing is left: the next one is alone.
    publisher.feed.flush('configuration');
    jest.advanceTimersByTime(10);
    expect(late.told).toEqual([DSO_TYPE.FLUSH]);
    const last = sessions.flatMap(({ frames }) => frames.at(-1) ?? []);
    expect(new Set(last.slice(2)).size).toBe(1);
  });

  it('attack 24: keepalives of 0, retry delays, and TLVs without end change nothing for others', () => {
    limitTo(250);
    const own = subscribed('127.0.0.1');
    const node = '10.9.9.9';
    const RETRY_DELAY = 2;
    for (let i = 0; i < 300; i++) {
      const session = new FakeSession(node);
      // A session that is begun, and nothing else: it takes no slot.
      expect(request(session, DSO_TYPE.KEEPALIVE, new Uint8Array(8))).toBe(RCODE.NOERROR);
      expect(request(session, RETRY_DELAY, new Uint8Array(4))).not.toBe(RCODE.NOERROR);
      const tlvs = Array.from({ length: 17 }, () => ({ type: 0xff00, data: new Uint8Array(0) }));
      publisher.receive(writeDso({ id: 6, isResponse: false, rcode: 0, tlvs }), session);
    }
    expect(publisher.count).toBe(1);
    for (let i = 0; i < 400; i++) request(new FakeSession(node), DSO_TYPE.SUBSCRIBE, APEX);
    const other = subscribed('10.1.0.1');
    change();
    pass(10_000);
    expect([own.isClosed, other.isClosed, publisher.count]).toEqual([false, false, 250]);
    expect([own.told, other.told]).toEqual([[DSO_TYPE.CHANGED], [DSO_TYPE.CHANGED]]);
    const areClients = () =>
      [node, '10.1.0.1', '10.1.0.2'].map((client) => publisher.hasClient(client));
    expect(areClients()).toEqual([true, true, false]);
    // Those that say nothing more are disconnected, and take no slot for ever.
    pass(40_000);
    expect(publisher.count).toBe(0);
    expect(areClients()).toEqual([false, false, false]);
  });

  it('attack 24: are of the networks of --subscribers, and of this machine; others are REFUSED and named once a minute', () => {
    const networks = new ClientNetworks('10.1.0.0/16,fd00::/64');
    const lines: string[] = [];
    const log = { warn: (line: string) => lines.push(line) };
    publisher.close();
    publisher = new Publisher({
      zones,
      reasons: ['configuration'],
      now: () => now,
      rules: { networks, log },
    });
    const all = ['10.1.0.1', 'fd00::1', '127.0.0.1', '::1'].map(subscribed);
    const others = ['10.2.0.1', 'fd00:0:0:1::1'].map((address) => new FakeSession(address));
    for (const session of others) {
      expect(request(session, DSO_TYPE.SUBSCRIBE, APEX)).toBe(RCODE.REFUSED);
    }
    change();
    expect(all.map(({ told }) => told)).toEqual(all.map(() => [DSO_TYPE.CHANGED]));
    expect(others.map(({ told, stays }) => [told, stays])).toEqual(others.map(() => [[], false]));
    const line = (address: string) =>
      `${address} may not subscribe to changes: it is not in --subscribers`;
    expect(lines).toEqual([line('10.2.0.1')]);
    now += 60_000;
    request(others[1]!, DSO_TYPE.SUBSCRIBE, APEX);
    expect(lines).toEqual([line('10.2.0.1'), line('fd00:0:0:1::1')]);
    expect(publisher.refused).toEqual({ limit: 0, network: 3 });
  });

  it('that read slowly are sent nothing, then that everything may have changed', () => {
    const slow = subscribed();
    const fast = subscribed();
    slow.unsentBytes = 64 * 1024 + 1;
    for (let i = 0; i < 3; i++) change(`s${i}.default.svc.cluster.local`);
    expect(slow.told).toEqual([]);
    expect(fast.told).toEqual(Array(3).fill(DSO_TYPE.CHANGED));
    expect(publisher.behind).toBe(1);
    now += 2_000;
    slow.unsentBytes = 0;
    change();
    expect(slow.told).toEqual([DSO_TYPE.FLUSH]);
    expect(publisher.behind).toBe(0);
    expect(publisher.feed.flushes['slow-subscriber']).toBe(1);
    expect(publisher.feed.lag.sum).toBe(2);
    change();
    expect(slow.told).toEqual([DSO_TYPE.FLUSH, DSO_TYPE.CHANGED]);
  });

  it('are shown with their ages, and what they have not read', () => {
    const slow = subscribed();
    now += 1_500;
    subscribed();
    slow.unsentBytes = 64 * 1024 + 1;
    change();
    now += 500;
    expect(JSON.parse(subscribersPage(publisher))).toEqual({
      serial: 2,
      names: 1,
      flushes: { 'many-changes': 0, 'slow-subscriber': 0, configuration: 0 },
      count: 2,
      limit: 6_000,
      refused: { limit: 0, network: 0 },
      dropped: 0,
      subscribers: [
        {
          address: '10.1.0.1:1',
          forSeconds: 2,
          lastMessageAgeSeconds: 2,
          behindSeconds: 0.5,
          unreadBytes: 65_537,
        },
        { address: '10.1.0.1:1', forSeconds: 0.5, lastMessageAgeSeconds: 0.5, unreadBytes: 0 },
      ],
    });
  });

  it('that do not read for ten seconds are disconnected', () => {
    const slow = subscribed();
    slow.unsentBytes = 64 * 1024 + 1;
    change();
    pass(10_000);
    expect(slow.isClosed).toBe(false);
    pass(2_000);
    expect(slow.isClosed).toBe(true);
    expect(publisher.dropped).toBe(1);
  });

  it('that send nothing for thirty seconds are disconnected, others are not', () => {
    const silent = subscribed();
    const alive = subscribed();
    for (let i = 0; i < 4; i++) {
      pass(10_000);
      request(alive, DSO_TYPE.KEEPALIVE, new Uint8Array(8));
    }
    expect([silent.isClosed, alive.isClosed]).toEqual([true, false]);
    const heartbeats = alive.messages.filter(({ tlvs }) => tlvs[0]?.type === DSO_TYPE.HEARTBEAT);
    expect(heartbeats).toHaveLength(20);
  });
});

describe('a subscriber that knows versions of the cluster', () => {
  const changeAt = (version: number, ...names: readonly string[]) => {
    zones.version = clusterVersion(version);
    for (const name of names) publisher.feed.add(encodeKey(name));
    jest.advanceTimersByTime(3);
  };
  const come = (version?: Uint8Array) => {
    const session = new FakeSession();
    expect(request(session, DSO_TYPE.SUBSCRIBE, APEX, clusterVersionTlv(version))).toBe(0);
    return session;
  };
  const noteOf = ({ tlvs }: DsoMessage) => readClusterVersion(tlvs);
  const namesOf = ({ tlvs }: DsoMessage) =>
    readChanged(tlvs[0]!.data)!.names.map((name) => decodeName(name));

  beforeEach(() => void (zones.version = clusterVersion(10)));

  it('gets the version with each message', () => {
    const session = come();
    expect(noteOf(session.messages[0]!)?.version).toEqual(clusterVersion(10));
    changeAt(11, 'a.b');
    publisher.feed.flush('configuration');
    now += 2_000;
    jest.advanceTimersByTime(2_000);
    const types = session.messages.slice(1).map(({ tlvs }) => tlvs[0]!.type);
    expect(types).toEqual([DSO_TYPE.CHANGED, DSO_TYPE.FLUSH, DSO_TYPE.HEARTBEAT]);
    for (const message of session.messages.slice(1)) {
      expect(noteOf(message)).toEqual({
        version: clusterVersion(11),
        isPart: false,
        isResumed: false,
      });
    }
  });

  it('is repeated what it missed, and not what it knows', () => {
    come();
    changeAt(11, 'a.b', 'c.d');
    changeAt(12, 'e.f');
    const session = come(clusterVersion(11));
    expect(session.messages.map((message) => noteOf(message)?.isResumed)).toEqual([true, false]);
    expect(namesOf(session.messages[1]!)).toEqual(['e.f']);
    const { before, after } = readChanged(session.messages[1]!.tlvs[0]!.data)!;
    expect([before, after]).toEqual([publisher.serial, publisher.serial]);
  });

  it('is repeated it once a connection, however often it asks', () => {
    come();
    changeAt(11, 'a.b');
    const session = come(clusterVersion(10));
    const asked = session.messages.length;
    request(session, DSO_TYPE.SUBSCRIBE, APEX, clusterVersionTlv(clusterVersion(10)));
    expect(session.messages).toHaveLength(asked + 1);
    expect(noteOf(session.messages.at(-1)!)?.isResumed).toBe(false);
  });

  it('has nothing repeated when it missed nothing, and goes on all the same', () => {
    come();
    changeAt(11, 'a.b');
    const { messages } = come(clusterVersion(11));
    expect(messages).toHaveLength(1);
    expect(noteOf(messages[0]!)?.isResumed).toBe(true);
  });

  it('begins anew where it is not known what it missed', () => {
    come();
    changeAt(11, 'a.b');
    for (const version of [clusterVersion(9), clusterVersion(11, { identity: 2 }), undefined]) {
      const { messages } = come(version);
      expect(messages).toHaveLength(1);
      expect(noteOf(messages[0]!)?.isResumed).toBe(false);
    }
    zones.version = undefined;
    const note = noteOf(come(clusterVersion(11)).messages[0]!);
    expect(note).toEqual({ version: undefined, isPart: false, isResumed: false });
  });

  it('goes on for a second zone after what it has not got yet', () => {
    const session = come();
    zones.version = clusterVersion(11);
    publisher.feed.add(encodeKey('a.b'));
    jest.advanceTimersByTime(3);
    request(
      session,
      DSO_TYPE.SUBSCRIBE,
      encodeKey('in-addr.arpa'),
      clusterVersionTlv(clusterVersion(10)),
    );
    const [, changed, response, repeated] = session.messages;
    expect([changed, repeated].map((message) => namesOf(message!))).toEqual([['a.b'], ['a.b']]);
    expect(response!.isResponse).toBe(true);
  });

  it('is told with each part of many names whether another one follows', () => {
    const session = come();
    for (let at = 0; at < 1_500; at++) come();
    now = 1_000;
    zones.version = clusterVersion(11);
    for (let at = 0; at < 300; at++) publisher.feed.add(encodeKey(`n${at}.x`));
    jest.advanceTimersByTime(1);
    const [, ...parts] = session.messages;
    expect(parts.map((part) => [namesOf(part).length, noteOf(part)?.isPart])).toEqual([
      [256, true],
      [44, false],
    ]);
  });

  it('hears of a version that changes no name within 250 ms, as one that is behind is left', () => {
    const session = come();
    const pass = (ms: number) => {
      now += ms;
      jest.advanceTimersByTime(ms);
    };
    pass(2_000);
    const before = session.messages.length;
    pass(250);
    expect(session.messages).toHaveLength(before);
    zones.version = clusterVersion(11);
    pass(250);
    expect(session.messages).toHaveLength(before + 1);
    expect(noteOf(session.messages.at(-1)!)?.version).toEqual(clusterVersion(11));
  });

  it('is not told a version whose names are still collected', () => {
    const session = come();
    changeAt(11, 'a.b');
    zones.version = clusterVersion(12);
    publisher.feed.add(encodeKey('c.d'));
    expect(noteOf(come().messages[0]!)?.version).toEqual(clusterVersion(11));
    jest.advanceTimersByTime(3);
    expect(noteOf(session.messages.at(-1)!)?.version).toEqual(clusterVersion(12));
  });

  it('finds what changed while there was no subscriber from the first one on, or earlier where that is remembered', () => {
    publisher.close();
    for (const remembers of [false, true]) {
      zones.version = clusterVersion(10);
      publisher = new Publisher({ zones, reasons: ['configuration'], now: () => now });
      if (remembers) publisher.remember();
      const isResumed = (known: number) =>
        noteOf(come(clusterVersion(known)).messages[0]!)?.isResumed;
      changeAt(11, 'a.b');
      const first = come(clusterVersion(10));
      expect(noteOf(first.messages[0]!)?.isResumed).toBe(remembers);
      first.close();
      changeAt(12, 'a.b');
      expect([isResumed(11), isResumed(12)]).toEqual([true, true]);
      if (!remembers) publisher.close();
    }
  });

  it('gets what was collected since the last one has gone, and the version of that', () => {
    const first = come();
    zones.version = clusterVersion(11);
    publisher.feed.add(encodeKey('a.b'));
    first.close();
    zones.version = clusterVersion(12);
    publisher.feed.add(encodeKey('c.d'));
    const next = come(clusterVersion(10));
    expect(noteOf(next.messages[0]!)?.version).toEqual(clusterVersion(12));
    expect(namesOf(next.messages.at(-1)!)).toEqual(['a.b', 'c.d']);
    jest.advanceTimersByTime(100);
    expect(next.messages).toHaveLength(2);
  });
});
