import { once } from 'node:events';
import { createSocket } from 'node:dgram';
import { expect, it } from '@jest/globals';
import { FakeUpstream } from '../src/fixtures/fake-upstream.js';

it('waits for its port while a forwarder has it as the source port of a query', async () => {
  const upstream = await FakeUpstream.start({ network: 1 });
  await upstream.close();
  const forwarder = createSocket('udp4').bind(upstream.port, '127.0.0.1');
  await once(forwarder, 'listening');

  let isOpen = false;
  const opened = upstream.open().then(() => (isOpen = true));
  // Another one, which begins later, is open before.
  await (await FakeUpstream.start({ network: 2 })).close();
  expect(isOpen).toBe(false);

  forwarder.close();
  await opened;
  await upstream.close();
});
