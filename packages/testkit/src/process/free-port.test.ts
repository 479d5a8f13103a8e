import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from '@jest/globals';
import { freePort } from './free-port.js';

it('a free port is one that no other process was given before', async () => {
  const first = await freePort();
  const other = createServer().listen(`\0kube-dns-test-port-${first + 1}`);
  await once(other, 'listening').catch(() => undefined);
  const later = [await freePort(), await freePort()];
  other.close();
  expect(later).not.toContain(first + 1);
  expect(new Set([first, ...later]).size).toBe(3);
});
