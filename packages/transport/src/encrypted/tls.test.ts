import { describe, expect, it } from '@jest/globals';
import { tlsFailure } from './tls.js';

const server = {
  address: '192.0.2.1',
  port: 853,
  encryption: { protocol: 'tls', name: 'dns.example', path: '' },
} as const;
const textOf = (error: string, at = server) =>
  Buffer.from(tlsFailure(at, error, false).failure.option.subarray(6)).toString();

describe('the failure of a connection', () => {
  it.each([
    ['CERT_HAS_EXPIRED', 'certificate', 'CERT_HAS_EXPIRED 192.0.2.1#853'],
    ['CERT_NOT_YET_VALID', 'certificate', 'CERT_NOT_YET_VALID 192.0.2.1#853'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate', 'CERT_ALTNAME_INVALID 192.0.2.1#853'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'certificate', 'UNKNOWN_CA 192.0.2.1#853'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate', 'SELF_SIGNED_CERT 192.0.2.1#853'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'handshake', 'NO_TLS 192.0.2.1#853'],
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'handshake', 'ALERT_PROTOCOL_VERSION 192.0.2.1#853'],
    ['ECONNRESET', 'handshake', 'connection closed 192.0.2.1#853'],
    ['ECONNREFUSED', 'refused', 'port closed 192.0.2.1#853'],
    ['EHOSTUNREACH', 'unreachable', 'unreachable 192.0.2.1#853'],
    ['ETIMEDOUT', 'timeout', 'timeout 192.0.2.1#853'],
  ])('%s counts as %s and says why, and which server', (error, code, text) => {
    expect(tlsFailure(server, error, false)).toMatchObject({ code, failure: { code: 23 } });
    expect(textOf(error)).toBe(text);
  });

  it('is that the connection was closed, once that was open', () => {
    expect(tlsFailure(server, 'ECONNRESET', true).code).toBe('closed');
  });

  it('has port and all of an IPv4 address, or no port', () => {
    const far = { ...server, address: '198.51.100.100' } as never;
    expect(textOf('ERR_TLS_CERT_ALTNAME_INVALID', far)).toBe(
      'CERT_ALTNAME_INVALID 198.51.100.100#853',
    );
    expect(textOf('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', far)).toBe(
      'ALERT_PROTOCOL_VERSION 198.51.100.100',
    );
  });

  it('has the whole cause in the text, whatever the address', () => {
    const long = { ...server, address: '2001:db8:1111:2222:3333:4444:5555:6666' } as never;
    const text = textOf('CERT_HAS_EXPIRED', long);
    expect(text).toHaveLength(40);
    expect(text).toBe('CERT_HAS_EXPIRED 2001:db8:1111:2222:3333');
  });

  it('says what to do', () => {
    expect(tlsFailure(server, 'CERT_HAS_EXPIRED', false).text).toBe(
      'its certificate has expired: renew it, or set the clock of this machine (CERT_HAS_EXPIRED)',
    );
  });
});
