import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { TestAuthority } from './certificate.js';

describe('TestAuthority', () => {
  it('signs certificates that Node reads, with names, addresses and times', () => {
    const authority = new TestAuthority();
    const { cert } = authority.issue({
      names: ['dns.example', '127.0.0.1', '2001:db8::1'],
      fromDays: -10,
      toDays: -5,
    });
    const certificate = new X509Certificate(cert);
    expect(certificate.verify(new X509Certificate(authority.cert).publicKey)).toBe(true);
    expect(certificate.verify(new X509Certificate(new TestAuthority().cert).publicKey)).toBe(false);
    expect(certificate.checkHost('dns.example')).toBe('dns.example');
    expect(certificate.checkHost('other.example')).toBeUndefined();
    expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(certificate.checkIP('2001:db8::1')).toBe('2001:db8::1');
    expect(Date.parse(certificate.validTo)).toBeLessThan(Date.now());
    expect(new X509Certificate(authority.cert).ca).toBe(true);
  });
});
