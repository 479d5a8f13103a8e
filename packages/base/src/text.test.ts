import { describe, expect, it } from '@jest/globals';
import { hideUrlSecrets, MAX_SHOWN, quote, shownText, shownUrl } from './text.js';

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

describe('finding 10: a URL that is malformed', () => {
  const SECRET = 'SeCrEt1';
  const URLS = [
    'https://h/a b?SeCrEt1',
    'https://h/p?a SeCrEt1',
    'https://h/p# ?SeCrEt1',
    'https://h#853/p?SeCrEt1',
    'https://h /p?SeCrEt1',
    'https:// h/p?SeCrEt1',
    ' https://h/p?SeCrEt1',
    'https:/h/p?SeCrEt1',
    'tls://h#x?SeCrEt1',
    'https://h/p?a=b c=SeCrEt1',
    'https://h/p?a"SeCrEt1',
    'https://h/p?a\nSeCrEt1',
    'https://u: SeCrEt1@h/p',
    'https://u:p SeCrEt1@h/x',
    'https://u:p#SeCrEt1@h/x',
    'h/p?SeCrEt1',
    '?SeCrEt1',
  ];

  it.each(URLS)('is shown without its secret: %j', (url) => {
    expect(shownUrl(url)).not.toContain(SECRET);
    expect(quote(url)).not.toContain(SECRET);
  });

  it.each(URLS.filter((url) => /[a-z]:/.test(url) && !url.includes('@')))(
    'is shown without what follows its ? where a text quotes it: %j',
    (url) => {
      const text = `server ${JSON.stringify(url)} is none, "x" is`;
      expect(hideUrlSecrets(text)).not.toContain(SECRET);
      expect(hideUrlSecrets(text)).toMatch(/ is none, "x" is$/);
    },
  );

  it.each(['10.0.0.1#53@eth0', 'fd00::1#53@eth0', 'https://h/dns-query', 'a.b', '/metrics?x', ''])(
    'is shown whole when it is well-formed and has none: %j',
    (text) => {
      expect(shownUrl(text)).toBe(text);
    },
  );
});

const JWT = `eyJhbGciOiJSUzI1NiIsImtpZCI6IjEyMyJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl-_x`;
const BASE64 = 'q8Z0N1Yw7m+Rk3vXh2T9sLbQpEwUaJcF5dGiKoMnB4A=';
const HEX = '0123456789abcdef0123456789abcdef';

describe('a shown text', () => {
  it.each([
    ['https://user:hunter2@10.0.0.1:6443/api', 'https://***@10.0.0.1:6443/api'],
    ['"https://u:hunter2@h/": port "hunter2@h" is not', '"https://***@h/": port "***@h" is not'],
    ['https://hunter2@host', 'https://***@host'],
    ['Authorization: Bearer abc.def-ghi', 'Authorization: *** ***'],
    [`got 401 for Bearer ${JWT}`, 'got 401 for Bearer ***'],
    [`token is ${JWT}; and`, 'token is ***; and'],
    ['"token": "abc", "x": 1', '"token": "***", "x": 1'],
    ['password=abc&user=x', 'password=***&user=x'],
    [
      `key "k" { algorithm hmac-sha256; secret "${BASE64}"; };`,
      'key "k" { algorithm hmac-sha256; secret "***"; };',
    ],
    [`bad line ${BASE64}`, 'bad line ***'],
    [`${HEX} is not`, '*** is not'],
    [
      `a\n-----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY-----\nb`,
      'a\\u000a***\\u000ab',
    ],
    ['-----BEGIN PRIVATE KEY-----\nMHcC', '***'],
  ])('hides the secret of %j', (text, shown) => {
    expect(shownText(text)).toBe(shown);
  });

  it.each([
    'kubernetes.default.svc.cluster.local',
    '/var/lib/kubelet/pods/4f1c9d3e-7b1a-4b3c-9a44-1b2c3d4e5f60/volumes/kubernetes.io~configmap/dns',
    'tls://dns.example.com#853',
    '--cookie-secret-file=/etc/dns/cookie',
    'a-very-long-stub-domain-of-some-company.with-many-labels.example.internal',
  ])('leaves %s', (text) => {
    expect(shownText(text)).toBe(text);
  });

  it('is one line without control and direction characters, and never ends within a character', () => {
    expect(shownText('a\u0000\u001b[31m\u202eb\u2028c\ud800')).toBe(
      'a\\u0000\\u001b[31m\\u202eb\\u2028c\\ud800',
    );
    const text = shownText(`${'x'.repeat(MAX_SHOWN - 1)}😀${'y'.repeat(1e6)}`);
    expect(text).toBe(`${'x'.repeat(MAX_SHOWN - 1)}…`);
  });
});
