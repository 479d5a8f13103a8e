import { describe, expect, it } from '@jest/globals';
import { parseCidr } from './ip.js';
import { IpAllocator } from './service-allocation.js';

function takeAll(allocator: IpAllocator): string[] {
  const allocated: string[] = [];
  for (let next = allocator.propose(); next; next = allocator.propose()) {
    allocator.acquire(next);
    allocated.push(next);
  }
  return allocated;
}

describe('IpAllocator', () => {
  it('allocates each usable address of a range once and then none', () => {
    const allocated = takeAll(new IpAllocator(parseCidr('10.0.0.0/28')!));
    expect(new Set(allocated).size).toBe(14);
    expect(allocated).not.toContain('10.0.0.0');
    expect(allocated).not.toContain('10.0.0.15');
  });

  it('begins above the part that is reserved for requested addresses', () => {
    expect(new IpAllocator(parseCidr('10.96.0.0/16')!).propose()).toBe('10.96.1.1');
    expect(new IpAllocator(parseCidr('fd00:10:96::/112')!).propose()).toBe('fd00:10:96::101');
  });

  it('does not allocate a released address before the end of the range is reached', () => {
    const allocator = new IpAllocator(parseCidr('10.96.0.0/16')!);
    allocator.acquire(allocator.propose()!);
    allocator.release('10.96.1.1');
    expect(allocator.propose()).toBe('10.96.1.2');
    expect(allocator.refuse('10.96.1.1')).toBeUndefined();
  });

  it('skips addresses that were requested', () => {
    const allocator = new IpAllocator(parseCidr('10.96.0.0/16')!);
    allocator.acquire('10.96.1.1');
    expect(allocator.propose()).toBe('10.96.1.2');
  });

  it('refuses addresses outside the range, its ends and allocated ones', () => {
    const allocator = new IpAllocator(parseCidr('10.0.0.0/28')!);
    allocator.acquire('10.0.0.3');
    expect(allocator.refuse('10.0.0.3')).toBe('provided IP is already allocated');
    for (const address of ['10.0.0.0', '10.0.0.15', '10.0.0.16', '::1', 'x']) {
      expect(allocator.refuse(address)).toMatch(/not in the valid range/);
    }
  });
});
