import { afterEach, expect, it, jest } from '@jest/globals';
import { held, ownedBy, until } from '@kube-dns/testkit';
import { changedTlv, decodeName, encodeKey, RCODE, subscribedTlv } from '@kube-dns/wire';
import { SubscriptionConnection } from './subscription.js';
import { SubscriptionPeer } from '../test/subscription-peer.js';

const own = ownedBy(afterEach);
afterEach(() => void jest.useRealTimers());

const MESSAGES = 60;
const TURN_MS = 2;

it('a subscription takes 2 ms of messages in a turn of the event loop, and all of them in their order', async () => {
  jest.useFakeTimers(
    held('setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'),
  );
  const apex = encodeKey('x');
  const subscribed = subscribedTlv({ instance: new Uint8Array(8), serial: 0, apex });
  const peer = own(
    await SubscriptionPeer.start(({ id }) => ({
      id,
      isResponse: true,
      rcode: RCODE.NOERROR,
      tlvs: [subscribed],
    })),
  );
  const names: string[] = [];
  /** The messages of each turn of the event loop. */
  const turns = [0];
  let heard = 0;
  let next: NodeJS.Immediate;
  const count = () => {
    if (turns.at(-1) !== 0) turns.push(0);
    next = setImmediate(count);
  };
  let isLive = false;
  const server = { address: '127.0.0.1', port: peer.port };
  const connection = own(
    new SubscriptionConnection(
      { server, zones: [apex], silenceMs: 12_000 },
      {
        onLive: () => (isLive = true),
        onChanged: (name) => {
          names.push(decodeName(name));
          turns[turns.length - 1]!++;
          // So long it takes to find what is cached of it.
          jest.advanceTimersByTime(1);
        },
        onFlush: (cause) => names.push(cause),
        onSeen: () => heard++,
        onEnd: (_, reason) => names.push(reason),
        onReady: () => names.push('ready'),
        onLeaving: () => names.push('leaving'),
      },
    ),
  );
  await until('live', () => isLive);
  count();
  const told = Array.from({ length: MESSAGES }, (_, i) => `n${i}`);
  peer.tellAtOnce(
    ...told.map((name, i) => changedTlv({ before: i, after: i + 1, names: [encodeKey(name)] })),
  );
  await until('all', () => names.length === MESSAGES && heard > 0);
  clearImmediate(next!);
  expect(names).toEqual(told);
  expect(connection.isLive).toBe(true);
  // One more begins before the time is over.
  expect(Math.max(...turns)).toBe(TURN_MS + 1);
});
