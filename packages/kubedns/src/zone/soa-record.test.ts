import { describe, expect, it } from '@jest/globals';
import { readUint32 } from '@kube-dns/wire';
import { SoaRecord } from './soa-record.js';

function open(): { readonly soa: SoaRecord; readonly at: (seconds: number) => void } {
  let seconds = 1_000;
  const now = () => seconds * 1_000 + 999;
  const soa = new SoaRecord({ domain: 'example.com.', negativeTtlSeconds: 5, now });
  return { soa, at: (next) => (seconds = next) };
}

describe('the serial of a zone', () => {
  it('is the time of the last change, also after thousands of changes in one second', () => {
    const { soa, at } = open();
    for (let i = 0; i < 5_000; i++) soa.change();
    expect(soa.serial).toBe(1_000);
    at(1_060);
    expect(soa.serial).toBe(1_000);
    soa.change();
    expect(soa.serial).toBe(1_060);
  });

  it('rises by one with a change in the second in which a secondary was told it', () => {
    const { soa } = open();
    const told = soa.tell();
    soa.change();
    soa.change();
    expect(readUint32(told, told.length - 20)).toBe(1_000);
    expect(soa.serial).toBe(1_001);
    soa.tell();
    soa.change();
    expect(soa.serial).toBe(1_002);
  });

  it('does not decrease when the clock does', () => {
    const { soa, at } = open();
    at(10);
    soa.change();
    expect(soa.serial).toBe(1_000);
  });
});
