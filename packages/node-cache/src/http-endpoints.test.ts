import { afterEach, expect, it } from '@jest/globals';
import { freePort, ownedBy } from '@kube-dns/testkit';
import { readServerBlocks } from './corefile/read-server-blocks.js';
import { HealthEndpoints } from './http-endpoints.js';

const opened = ownedBy(afterEach);

it('an address that several blocks name is served once, also after another Corefile, and then closed', async () => {
  const lines: string[] = [];
  const log = (line: string) => void lines.push(line);
  const endpoints = opened(
    new HealthEndpoints({
      isReady: () => true,
      log: { info: log, warn: log, error: log, verbose: () => undefined, isEnabled: () => false },
    }),
  );
  const port = await freePort();
  const block = (zone: string) => `${zone}:53 {\n    ready 127.0.0.1:${port}\n}\n`;
  const blocks = readServerBlocks(block('a.example') + block('b.example'), 'Corefile');
  const status = async () => (await fetch(`http://127.0.0.1:${port}/ready`)).status;
  for (let i = 0; i < 2; i++) {
    await endpoints.serve(blocks);
    expect(await status()).toBe(200);
  }
  expect(lines).toEqual([]);
  await endpoints.serve([]);
  await expect(status()).rejects.toThrow();
});
