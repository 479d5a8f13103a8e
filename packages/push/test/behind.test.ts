import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import {
  appendZoneVersion,
  clusterVersionTlv,
  encodeKey,
  RCODE,
  readClusterVersion,
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
