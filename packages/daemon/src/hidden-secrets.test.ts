import { describe, expect, it } from '@jest/globals';
import { ConfigError } from './errors.js';
import { hideUrlSecrets } from './hidden-secrets.js';
import { createLog } from './log.js';
import { parseDnsConfig, parseNameservers } from './dns-config.js';

describe('a text without the secrets of URLs', () => {
  it.each([
    ['following https://user:hunter2@10.0.0.1:6443', 'following https://***@10.0.0.1:6443'],
    ['"user:hunter2@127.0.0.1": port "hunter2@x"', '"***@127.0.0.1": port "***@x"'],
    ['--server=user:hunter2@127.0.0.1', '--server=***@127.0.0.1'],
    ['user:hun=ter2@h, a', '***@h, a'],
    ['servers: https://h/q?token=hunter2, 10.0.0.1', 'servers: https://h/q?***, 10.0.0.1'],
    ['"https://h/q?hun\\"ter2": bad', '"https://h/q?***": bad'],
    ['(see https://h/q?a=hunter2)', '(see https://h/q?***)'],
    ['token=hunter2 and password=hunter3', 'token=*** and password=***'],
  ])('hides the secret of %j', (text, shown) => {
    expect(hideUrlSecrets(text)).toBe(shown);
  });

  it.each([
    '--server=fd00::1#53@eth0',
    '--server=/a.b/10.0.0.1:5353@192.0.2.1#55',
    '--server=/a.b/[fd00::1]:5353@eth0',
    'Running configuration SHA512 = 0123456789abcdef0123456789abcdef0123456789abcdef',
    'at file:///app/node_modules/@kube-dns/daemon/dist/log.js:12:3',
    'is it up? see https://h/q',
    '/run/secrets/token: no such file, errno=2',
  ])('leaves %s', (text) => {
    expect(hideUrlSecrets(text)).toBe(text);
  });

  it('comes to its end for texts that are made to take long', () => {
    for (const part of ['a:', 'a@', '://', 'https://h?', '-a=', '?']) {
      const text = `${part.repeat(16_384 / part.length)}?@`;
      expect(hideUrlSecrets(text)).toContain(part[0]);
    }
  });
});

const REFUSED = [
  'https://user:hunter2@127.0.0.1/dns-query',
  'tls://user:hunter2@127.0.0.1',
  'user:hunter2@127.0.0.1',
  `https://user:hunter2${'x'.repeat(200)}@127.0.0.1`,
  'https://127.0.0.1/{}?token=hunter2',
];

describe('a line of the log', () => {
  it.each(REFUSED)('has no password of a refused configuration: %s', (server) => {
    const lines: string[] = [];
    const log = createLog({ name: 'test', verbosity: 0, write: (line) => lines.push(line) });
    const refusals = [
      () => parseDnsConfig(new Map([['upstreamNameservers', JSON.stringify([server])]])),
      () => parseDnsConfig(new Map([['stubDomains', JSON.stringify({ 'a.b': [server] })]])),
      () => parseNameservers(server),
    ];
    for (const refuse of refusals) {
      expect(refuse).toThrow(ConfigError);
      try {
        refuse();
      } catch (error) {
        log.error((error as ConfigError).message);
      }
    }
    expect(lines).toHaveLength(3);
    expect(lines.join('')).not.toMatch(/hunter2|user/);
  });
});
