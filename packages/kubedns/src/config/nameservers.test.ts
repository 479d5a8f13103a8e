import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type KeptLog, keptLog } from '../../test/support/kept-log.js';
import { Nameservers } from './nameservers.js';

let folder: string;
let resolvConf: string;
let log: KeptLog;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubedns-'));
  resolvConf = join(folder, 'resolv.conf');
  log = keptLog();
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

describe('Nameservers', () => {
  it('are those of the configuration', async () => {
    await writeFile(resolvConf, 'nameserver 192.0.2.9\n');
    const nameservers = new Nameservers(log, resolvConf);
    nameservers.apply(['192.0.2.1', '[fd00::1]:5353']);
    expect(nameservers.current).toEqual([
      { address: '192.0.2.1', port: 53 },
      { address: 'fd00::1', port: 5353 },
    ]);
    expect(log.lines).toEqual(['I name servers: 192.0.2.1#53, fd00::1#5353']);
  });

  it('are those that resolv.conf has at the moment when none are configured', async () => {
    const nameservers = new Nameservers(log, resolvConf);
    await writeFile(resolvConf, 'nameserver 192.0.2.9\n');
    nameservers.apply(['192.0.2.1']);
    await writeFile(resolvConf, 'search x\nnameserver 192.0.2.8\nnameserver 192.0.2.7\n');
    nameservers.apply([]);
    expect(nameservers.current.map(({ address }) => address)).toEqual(['192.0.2.8', '192.0.2.7']);
  });

  it('are none without either, which is no reason to stop', () => {
    const nameservers = new Nameservers(log, resolvConf);
    nameservers.apply([]);
    expect(nameservers.current).toEqual([]);
    expect(log.lines[0]).toMatch(/^W .*resolv\.conf: .*ENOENT.*; no name servers$/);
  });
});
