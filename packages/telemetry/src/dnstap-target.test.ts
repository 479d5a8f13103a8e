import { describe, expect, it } from '@jest/globals';
import { parseDnstapTarget, targetText } from './dnstap-target.js';

const NO_SETTING =
  'is no setting, which is identity=TEXT, once; a path and an identity have no comma';

describe('the flag --dnstap', () => {
  it.each([
    ['unix:/run/dnstap.sock', { kind: 'unix', path: '/run/dnstap.sock' }],
    ['file:/var/log/dns=tap', { kind: 'file', path: '/var/log/dns=tap' }],
    ['tcp:127.0.0.1:6000', { kind: 'tcp', host: '127.0.0.1', port: 6_000 }],
    ['tcp:collector.logging:6000', { kind: 'tcp', host: 'collector.logging', port: 6_000 }],
    ['tcp:[2001:db8::1]:6000', { kind: 'tcp', host: '2001:db8::1', port: 6_000 }],
  ])('takes %s', (text, expected) => {
    expect(parseDnstapTarget(text)).toEqual({ ...expected, identity: undefined });
    expect(targetText(parseDnstapTarget(text))).toBe(text);
    expect(parseDnstapTarget(`${text},identity=node 1`)).toEqual({
      ...expected,
      identity: 'node 1',
    });
  });

  it.each([
    ['', 'must be unix:PATH, tcp:HOST:PORT or file:PATH'],
    ['/run/dnstap.sock', 'must be unix:PATH, tcp:HOST:PORT or file:PATH'],
    ['udp:127.0.0.1:6000', 'must be unix:PATH, tcp:HOST:PORT or file:PATH'],
    ['unix:dnstap.sock', 'the path must begin with /'],
    ['file:/a\0b', 'the path must begin with /'],
    [`unix:/${'a'.repeat(107)}`, 'the path of a socket has 107 bytes at most'],
    ['tcp:127.0.0.1', 'must be tcp:HOST:PORT'],
    ['tcp::6000', 'must be tcp:HOST:PORT'],
    ['tcp:a:0', 'must be tcp:HOST:PORT'],
    ['tcp:2001:db8::1:6000', 'must be tcp:HOST:PORT'],
    ['unix:/tmp/x,foo=1', `"foo=1" ${NO_SETTING}`],
    ['unix:/tmp/x,identity=a,foo=1', `"foo=1" ${NO_SETTING}`],
    ['file:/tmp/x,y', `"y" ${NO_SETTING}`],
    ['tcp:a:1,', `"" ${NO_SETTING}`],
    ['file:/a,identity=', 'the identity must have 1 to 255 bytes'],
    [`file:/a,identity=${'é'.repeat(128)}`, 'the identity must have 1 to 255 bytes'],
  ])('refuses %s', (text, reason) => {
    expect(() => parseDnstapTarget(text)).toThrow(reason);
  });
});
