import { describe, expect, it } from '@jest/globals';
import { readLogLine } from './gather.js';

const question = (name: string, type: string) => ({ name, type, kind: 'given' });

describe('a line of a query log', () => {
  it.each([
    [
      '[INFO] 10.244.0.7:50759 - 29008 "A IN abc. udp 21 false 512" NOERROR qr,aa 94 0.1s',
      'abc',
      'A',
    ],
    ['[INFO] [fd00::1]:5 - 8 "TYPE65 IN A.b. tcp 21 true 1232" - - 0 2s "0"', 'a.b', 'TYPE65'],
    ['dnsmasq[7]: query[SRV] _http._tcp.web.shop from 10.0.0.1', '_http._tcp.web.shop', 'SRV'],
    ['dnsmasq: 12 10.0.0.1/4321 query[type=65] a.b from 10.0.0.1', 'a.b', 'TYPE65'],
    [
      'I1121 10:00:00.1  1 dnsmasq] query[PTR] 1.0.0.10.in-addr.arpa from ::1',
      '1.0.0.10.in-addr.arpa',
      'PTR',
    ],
  ])('has the question of %s', (line, name, type) => {
    expect(readLogLine(line)).toEqual(question(name, type));
  });

  it.each([
    '[INFO] 10.0.0.7:5 - 8 "TXT CH version.bind. udp 30 false 512" NOERROR qr 94 0.1s',
    '[INFO] 10.0.0.7:5 - 8 "AXFR IN a. tcp 30 false 512" REFUSED qr 94 0.1s',
    '[ERROR] plugin/errors: 2 a. A: timeout',
    'dnsmasq[7]: forwarded a.b to 10.0.0.9',
    'dnsmasq[7]: /etc/hosts a.b is 10.0.0.9',
    'dnsmasq[7]: query[A] <name unprintable> from 10.0.0.1',
  ])('has none to ask in %s', (line) => {
    expect(readLogLine(line)).toBe('other');
  });

  it.each(['Lorem ipsum', 'GET / HTTP/1.1 "A IN" 200', '{"level":"info"}', '\u0000\u0001'])(
    'is no such line: %j',
    (line) => {
      expect(readLogLine(line)).toBe('stranger');
    },
  );
});
