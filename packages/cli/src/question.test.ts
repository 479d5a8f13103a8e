import { describe, expect, it } from '@jest/globals';
import { dashedLabel, hashLabel, nameProblem, withHashLabel } from './question.js';

describe('a name that can be asked for', () => {
  it.each(['web', 'web.shop.', '.', '_http._tcp.web.shop', '*.example', 'bücher.example', 'a\\.b'])(
    'is %s',
    (name) => {
      expect(nameProblem(name)).toBeUndefined();
    },
  );

  it.each([
    ['', 'it is empty'],
    [' ', 'it is empty'],
    ['a b', 'no name has blanks'],
    ['web\n', 'no name has blanks'],
    ['a\0b', 'no name has the character "\\u0000"'],
    ['"web"', 'no name has the character "\\""'],
    ['a..b', 'empty label'],
    [`${'a'.repeat(64)}.b`, 'label longer than 63 bytes'],
    ['a.'.repeat(128), 'longer than 255 bytes'],
  ])('is not %j', (name, reason) => {
    expect(nameProblem(name)).toBe(reason);
  });
});

describe('the label of an endpoint without hostname', () => {
  it.each([
    ['10.0.0.10', '32643961613639', '10-0-0-10'],
    ['1.2.3.4', '6263626163303737', '1-2-3-4'],
    ['fd00::11', '3135336462333864', 'fd00--11'],
    ['2001:db8::8a2e:370:7334', '3535663862643933', '2001-db8--8a2e-370-7334'],
  ])('of %s is the hash of kube-dns or the dashes of CoreDNS', (address, hash, dashed) => {
    expect([hashLabel(address), dashedLabel(address)]).toEqual([hash, dashed]);
    const rest = '.db.shop.svc.cluster.local';
    expect(withHashLabel(dashed + rest)).toBe(hash + rest);
    expect(withHashLabel(hash + rest)).toBe(hash + rest);
  });

  it.each(['10-0-0-1.shop.pod.cluster.local', '10-0-0-300.a.b.svc.x', 'db-0.a.b.svc.x', '1-2-3-4'])(
    'is not that of %s',
    (name) => {
      expect(withHashLabel(name)).toBe(name);
    },
  );
});
