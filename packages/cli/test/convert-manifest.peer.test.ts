import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { needsPrograms, unless } from '@kube-dns/testkit';
import { MANIFESTS, render, STOCK_FILE } from '@kube-dns/testkit/manifests';
import { convertFile, convertText } from './support/converted.js';

unless(needsPrograms('kubectl'), describe)('the manifest of the newest kube-dns', () => {
  it('becomes what manifests/kube-dns is', () => {
    const base = render(join(MANIFESTS, 'kube-dns'));
    const { objects, notes } = convertFile(STOCK_FILE);
    expect(notes.hasLosses).toBe(false);
    expect(objects).toHaveLength(base.length);
    for (const each of base) {
      const isSame = ({ kind, metadata }: typeof each) =>
        kind === each.kind && metadata.name === each.metadata.name;
      expect(objects.find(isSame)).toEqual(each);
    }
  });

  it('has all of our own one', () => {
    const text = render(join(MANIFESTS, 'kube-dns')).map((each) => JSON.stringify(each));
    const { lines } = convertText(text.join('\n---\n'));
    expect(lines.filter((line) => !line.includes('it is not written again'))).toEqual([]);
  });
});
