import { describe, expect, it } from '@jest/globals';
import { dashedLabel, hashLabel, withHashLabel } from './question.js';

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
