import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { held, until } from '@kube-dns/testkit';
import {
  appendZoneVersion,
  clusterVersionTlv,
  DSO_TYPE,
  encodeKey,
  RCODE,
  readClusterVersion,
  serialTlv,
  subscribedTlv,
  zoneVersionAt,
} from '@kube-dns/wire';
import { Subscriptions } from '../src/subscriber.js';
import { clusterVersion } from '../src/testing/index.js';
import { SubscriptionPeer } from './subscription-peer.js';

const APEX = encodeKey('z');
const OPT = [0, 0, 41, 4, 0xd0, 0, 0, 0, 0, 0, 0];
const LAGGARD = new Uint8Array(8).fill(1);
const REPLICA = new Uint8Array(8).fill(2);

let peer: SubscriptionPeer | undefined;
let subscriptions: Subscriptions | undefined;
afterEach(() => {
  subscriptions?.close();
  peer?.close();
  jest.useRealTimers();
});

describe('a publisher that does not know in time what another replica has seen', () => {
  it('is left, and not subscribed to again when the address leads to it; another one goes on where it was', async () => {
    let instance = LAGGARD;
    peer = await SubscriptionPeer.start(({ id, tlvs }) => {
      const isLaggard = instance === LAGGARD;
      const version = clusterVersion(isLaggard ? 100 : 110);
      const isResumed = !isLaggard && readClusterVersion(tlvs)?.version !== undefined;
      const own = subscribedTlv({ instance, serial: 5, apex: APEX });
      const answers = [own, clusterVersionTlv(version, { isResumed })];
      return { id, isResponse: true, rcode: RCODE.NOERROR, tlvs: answers };
    });
    const server = { address: '127.0.0.1', port: peer.port };
    const log = { info: () => undefined, warn: () => undefined };
    const own = new Subscriptions({ servers: [{ server, zones: [APEX] }], log });
    subscriptions = own;
    own.start([]);
    const events = () => own.rows()[0]?.events;
    await until('a subscription', () => events()?.started === 1);
    const out = new Uint8Array(200);
    out.set(OPT, 12);
    const version = { labelCount: 1, instance: REPLICA, serial: 1, cluster: clusterVersion(110) };
    const reply = out.subarray(0, appendZoneVersion(out, 12 + OPT.length, 200, version));
    const at = zoneVersionAt(reply);
    const found = own.find(reply, at)!;
    found.serialOf(reply, at);
    await until('it is left', () => events()?.behind === 1);
    const connections = peer.connections;
    await until('it is tried again', () => peer!.connections >= connections + 3);
    expect(events()).toMatchObject({ started: 1, resumed: 0 });
    instance = REPLICA;
    await until('another one', () => events()?.resumed === 1);
    expect(own.rows()[0]).toMatchObject({ state: 'live', flushes: { 'new-subscription': 1 } });
  });
});

describe('when each publisher is behind', () => {
  const HEARTBEAT = [serialTlv(DSO_TYPE.HEARTBEAT, 5), clusterVersionTlv(clusterVersion(100))];
  /** What is dropped, and how often a publisher was left, by heartbeats that come or do not. */
  async function leave(hasHeartbeats: boolean) {
    jest.useFakeTimers(
      held('setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'),
    );
    let subscribed = 0;
    const started = await SubscriptionPeer.start(({ id, tlvs }) => {
      // The first one knows more than all that follow, and they are at the same version.
      const version = clusterVersion(subscribed === 0 ? 110 : 100);
      const isResumed = subscribed > 0 && readClusterVersion(tlvs)?.version !== undefined;
      const instance = new Uint8Array(8).fill(++subscribed);
      const answers = [
        subscribedTlv({ instance, serial: 5, apex: APEX }),
        clusterVersionTlv(version, { isResumed }),
      ];
      return { id, isResponse: true, rcode: RCODE.NOERROR, tlvs: answers };
    });
    peer = started;
    const server = { address: '127.0.0.1', port: peer.port };
    const log = { info: () => undefined, warn: () => undefined };
    const own = new Subscriptions({ servers: [{ server, zones: [APEX] }], log });
    subscriptions = own;
    own.start([]);
    const events = () => own.rows()[0]!.events;
    await until('a subscription', () => events().started === 1);
    started.cut();
    for (let second = 0; second < 20; second++) {
      await until('the next one', () => {
        if (own.rows()[0]!.state === 'live') return true;
        jest.advanceTimersByTime(10);
        return false;
      });
      if (hasHeartbeats) {
        const { lastSeenMs } = own.rows()[0]!;
        started.tell(...HEARTBEAT);
        await until('a heartbeat', () => {
          jest.advanceTimersByTime(1);
          return own.rows()[0]!.lastSeenMs !== lastSeenMs;
        });
      }
      jest.advanceTimersByTime(1_000);
    }
    return { flushes: own.rows()[0]!.flushes, behind: events().behind! };
  }

  it('without heartbeats, as while the API server hangs, what the one before knew stays cached', async () => {
    const { flushes, behind } = await leave(false);
    expect(flushes).toMatchObject({ 'new-subscription': 1, 'by-server': 0 });
    expect(behind).toBeGreaterThan(2);
  });

  it('with heartbeats, as in a restored cluster, the history is another one, and all is dropped', async () => {
    const { flushes } = await leave(true);
    expect(flushes['by-server']).toBe(1);
  });
});

describe('two processes, of which one has no version that can be compared', () => {
  it.each([
    ['the first', 0],
    ['the second', 1],
  ])('are one subscription once %s has', async (_, without) => {
    let subscribed = 0;
    peer = await SubscriptionPeer.start(({ id }) => {
      const version = subscribed === without ? undefined : clusterVersion(100);
      const instance = new Uint8Array(8).fill(++subscribed);
      const own = subscribedTlv({ instance, serial: 5, apex: APEX });
      const tlvs = [own, clusterVersionTlv(version)];
      return { id, isResponse: true, rcode: RCODE.NOERROR, tlvs };
    });
    const server = { address: '127.0.0.1', port: peer.port };
    const log = { info: () => undefined, warn: () => undefined };
    const own = new Subscriptions({ servers: [{ server, zones: [APEX] }], log });
    subscriptions = own;
    own.start([]);
    const row = () => own.rows()[0];
    await until('a subscription', () => row()?.processes === 1);
    own.search(APEX, APEX.length);
    await until('a second one', () => row()?.processes === 2);
    const { 'by-server': flushes } = row()!.flushes;
    peer.tellAll(serialTlv(DSO_TYPE.HEARTBEAT, 5), clusterVersionTlv(clusterVersion(101)));
    await until('one again', () => row()?.processes === 1);
    // The answers of the one that was left would go with no change.
    await until('all are dropped', () => row()?.flushes['by-server'] === flushes! + 1);
    expect(row()).toMatchObject({ state: 'live', events: { started: 2 } });
  });
});
