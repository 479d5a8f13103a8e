import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { realStockArguments, stockArguments } from './peers.js';

describe('the arguments of the stock manifest', () => {
  it('are those of the manifest', async () => {
    const manifest = await readFile(
      new URL('../../../../manifests/kube-dns/deployment.yaml', import.meta.url),
      'utf8',
    );
    const [, list = ''] = /- --\n +- -k\n(.*?)\n +env:/s.exec(manifest) ?? [];
    const words = list.split('\n').map((line) => line.trim().replace(/^- /, ''));
    expect(words.map((word) => word.replace('$(CLUSTER_DOMAIN)', 'cluster.local'))).toEqual(
      stockArguments(10_053),
    );
  });

  it('cache negative answers in the real dnsmasq', () => {
    expect(realStockArguments(53).join(' ')).not.toContain('negcache');
  });
});
