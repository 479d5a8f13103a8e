import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { needsPrograms, unless } from '@kube-dns/testkit';
import { proveTransfersUnderChurn } from './support/transfer-churn.js';
import { TransferTestbed } from './support/transfer-testbed.js';

const programs = needsPrograms('dig', 'named', 'nsd', 'knotd');

let testbed: TransferTestbed;
beforeAll(async () => {
  testbed = await TransferTestbed.create();
});
afterAll(async () => {
  await testbed.endSecondaries();
  await testbed.close();
});

describe('secondaries of a large cluster', () => {
  unless(programs, it)('have 10,000 services while these change, each time one state', async () => {
    const startedMs = performance.now();
    await proveTransfersUnderChurn(testbed, 10_000);
    expect(performance.now() - startedMs).toBeLessThan(300_000);
  });
});
