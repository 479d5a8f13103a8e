import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { encodeQuery } from '@kube-dns/testkit';
import { neverSeen, PublisherProcess, Relay, type Subscriptions } from '@kube-dns/push';
import { messagesOf } from '@kube-dns/push/testing';
import type { Session } from '@kube-dns/transport';

import {
  AnswerWriter,
  DSO_TYPE,
  encodeKey,
  RCODE,
  readDso,
  readQuery,
  writeDso,
} from '@kube-dns/wire';
import { NAMES, SERVICES } from './hop-zone.js';
import { TwoHops } from './two-hops.js';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

const any = fc.nat(3);
type Step = (hops: TwoHops) => unknown;
const of = <T>(
  weight: number,
  value: fc.Arbitrary<T>,
  act: (hops: TwoHops, value: T) => unknown,
) => ({
  weight,
  arbitrary: value.map(
    (one): Step =>
      (hops) =>
        act(hops, one),
  ),
});
const service = fc.tuple(fc.constantFrom(...SERVICES), fc.boolean(), fc.nat(4));
const steps: fc.Arbitrary<Step> = fc.oneof(
  of(3, service, (hops, [name, exists, at]) => hops.change(name, exists, at === 0)),
  of(9, fc.constantFrom(...NAMES), (hops, name) => hops.ask(name)),
  of(8, any, (hops) => hops.takeQuestion()),
  of(6, any, (hops, at) => hops.answerOne(at)),
  of(6, any, (hops, at) => hops.takeServerReply(at)),
  of(8, any, (hops, at) => hops.takeReply(at)),
  of(4, any, (hops) => hops.takeNews()),
  of(4, any, (hops) => hops.takeMessage()),
  of(4, any, (_, ms) => jest.advanceTimersByTime(ms)),
  of(1, any, (hops, at) => (at === 0 ? hops.lose() : hops.connect())),
);

describe('a cache behind a dnsmasq that tells on what it is told', () => {
  it('has no answer that contradicts a change it was told, in any order of events', () => {
    let kept = 0;
    fc.assert(
      fc.property(fc.array(steps, { minLength: 100, maxLength: 300 }), (all) => {
        const hops = new TwoHops();
        hops.connect();
        const wrong = all.map((step) => step(hops)).find((one) => typeof one === 'string');
        const wrongAtLast = hops.settle(() => jest.advanceTimersByTime(30));
        kept += hops.kept;
        hops.close();
        expect([wrong, wrongAtLast]).toEqual([undefined, undefined]);
      }),
      { numRuns: 200 },
    );
    // It has answers, and those that are kept.
    expect(kept).toBeGreaterThan(200);
  });
});

const id = (byte: number) => new Uint8Array(8).fill(byte);

describe('several servers that announce changes', () => {
  const servers: {
    zones: Uint8Array[];
    live: PublisherProcess | undefined;
    isUnsupported: boolean;
  }[] = [];
  const lastSeen = neverSeen();
  let now: number;
  let relayed: Relay;
  beforeEach(() => {
    servers.length = 0;
    now = 100;
    const subscriptions = { servers, lastSeen, passOnTo: () => undefined };
    relayed = new Relay(subscriptions as unknown as Subscriptions, undefined, () => now);
  });
  afterEach(() => relayed.close());

  function start(number: number, zone: string, apex = zone): PublisherProcess {
    const zones = [encodeKey(zone)];
    const instance = new PublisherProcess(number, zones);
    instance.become(id(number), encodeKey(apex));
    servers.push({ zones, live: instance, isUnsupported: false });
    lastSeen[number] = now;
    relayed.onLive(instance);
    return instance;
  }

  /** Subscribes; what the session was told, by type. */
  function subscribe(zone: string) {
    const told: number[] = [];
    let rcode = -1;
    let isClosed = false;
    const session: Session = {
      address: '10.0.0.1',
      port: 1,
      unsentBytes: 0,
      push: (bytes) => {
        const message = readDso(bytes)!;
        if (message.isResponse) rcode = message.rcode;
        else told.push(message.tlvs[0]!.type);
      },
      pushFrames: (frames) => messagesOf(frames).forEach((message) => session.push(message)),
      stay: () => undefined,
      close: () => (isClosed = true),
      onClose: () => undefined,
    };
    const tlvs = [{ type: DSO_TYPE.SUBSCRIBE, data: encodeKey(zone) }];
    const request = writeDso({ id: 1, isResponse: false, rcode: 0, tlvs });
    relayed.publisher.receive(request, session);
    return { rcode, told, isClosed: () => isClosed };
  }

  it('are subscribed to where one announces the changes of a zone now', () => {
    expect(subscribe('z').rcode).toBe(RCODE.NOTAUTH);
    servers.push({ zones: [encodeKey('z')], live: undefined, isUnsupported: false });
    expect(subscribe('z').rcode).toBe(RCODE.SERVFAIL);
    servers[0] = { ...servers[0]!, isUnsupported: true };
    expect(subscribe('z').rcode).toBe(RCODE.NOTAUTH);
    start(1, 'arpa', 'z');
    expect(['10.in-addr.arpa', 'z', 'com'].map((zone) => subscribe(zone).rcode)).toEqual([
      RCODE.NOERROR,
      RCODE.NOTAUTH,
      RCODE.NOTAUTH,
    ]);
  });

  it('are told of as one until the last one ends; one with another apex is none of them', () => {
    const [one, other, foreign] = [start(1, 'z'), start(2, 'z'), start(3, 'x')];
    expect(subscribe('x').rcode).toBe(RCODE.NOTAUTH);
    const { told, isClosed } = subscribe('z');
    relayed.onChanged(foreign, encodeKey('a.x'));
    relayed.onEnded(foreign);
    jest.advanceTimersByTime(30);
    expect(told).toEqual([]);
    relayed.onChanged(other, encodeKey('a.z'));
    jest.advanceTimersByTime(30);
    relayed.onEnded(one);
    relayed.onReconfigured();
    expect(told).toEqual([DSO_TYPE.CHANGED, DSO_TYPE.FLUSH, DSO_TYPE.FLUSH]);
    expect(relayed.publisher.feed.flushes).toMatchObject({ 'by-server': 1, configuration: 1 });
    expect(isClosed()).toBe(false);
    relayed.onEnded(other);
    expect(isClosed()).toBe(true);
  });

  it('are known as long as each is heard', () => {
    start(1, 'z');
    start(2, 'z');
    const { told } = subscribe('z');
    jest.advanceTimersByTime(2_000);
    now += 3.1;
    lastSeen[1] = now;
    jest.advanceTimersByTime(2_000);
    lastSeen[2] = now;
    jest.advanceTimersByTime(2_000);
    expect(told).toEqual([DSO_TYPE.HEARTBEAT, DSO_TYPE.HEARTBEAT]);
  });

  it('give their version and AA to cached answers that are kept, and to no others', () => {
    start(1, 'z');
    const out = new Uint8Array(512);
    const query = readQuery(encodeQuery({ name: 'a.z', ednsBytes: 1232 }));
    const writer = new AnswerWriter();
    const added = [0, 1, 2, 1 + 128].map((subscription) => {
      writer.begin(query, out);
      writer.setRcode(RCODE.NXDOMAIN);
      const length = writer.finish();
      return [relayed.addTo(query, out, length, subscription) - length, out[2]! & 4];
    });
    expect(added).toEqual([
      [0, 0],
      [22, 4],
      [0, 0],
      [0, 0],
    ]);
  });
});
