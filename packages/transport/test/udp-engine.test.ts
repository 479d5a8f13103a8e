import { describe, expect, it } from '@jest/globals';
import { chooseUdpEngine } from '../src/choose-udp-engine.js';
import { HAS_BATCH } from './engines.js';

describe('the choice of a UDP engine', () => {
  it('takes dgram when that is chosen', async () => {
    expect(await chooseUdpEngine('dgram')).toMatchObject({
      engine: { name: 'dgram' },
      description: 'dgram',
    });
  });

  (HAS_BATCH ? it : it.skip).each(['auto', 'batch'] as const)(
    'takes batch for %s where it works',
    async (choice) => {
      expect(await chooseUdpEngine(choice)).toMatchObject({
        engine: { name: 'batch' },
        description: 'batch',
      });
    },
  );
});
