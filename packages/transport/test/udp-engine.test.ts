import { describe, expect, it } from '@jest/globals';
import { unless } from '@kube-dns/testkit';
import { chooseUdpEngine } from '../src/choose-udp-engine.js';
import { NO_BATCH } from './engines.js';

describe('the choice of a UDP engine', () => {
  it('takes dgram when that is chosen', async () => {
    expect(await chooseUdpEngine('dgram')).toMatchObject({
      engine: { name: 'dgram' },
      description: 'dgram',
    });
  });

  unless(NO_BATCH, it).each(['auto', 'batch'] as const)(
    'takes batch for %s where it works',
    async (choice) => {
      expect(await chooseUdpEngine(choice)).toMatchObject({
        engine: { name: 'batch' },
        description: 'batch',
      });
    },
  );
});
