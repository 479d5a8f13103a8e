import { describe, expect, it } from '@jest/globals';
import { realStockArguments, stockArguments } from './peers.js';

describe('the arguments of the stock manifest', () => {
  it('lead to the kubedns that is measured', () => {
    const args = stockArguments(5_353);
    expect(args[0]).toBe('--cache-size=1000');
    expect(args).toContain('--server=/cluster.local/127.0.0.1#5353');
    expect(args.join(' ')).not.toContain('10053');
  });

  it('cache negative answers in the real dnsmasq', () => {
    expect(realStockArguments(53).join(' ')).not.toContain('negcache');
  });
});
