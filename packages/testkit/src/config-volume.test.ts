import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigVolume } from './config-volume.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'config-volume-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

function keys(path: string): Record<string, string> {
  const names = readdirSync(path).filter((name) => !name.startsWith('.'));
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(path, name), 'utf8')]));
}

describe('the volume of a ConfigMap', () => {
  it('has the keys of the newest version and no others', async () => {
    const volume = new ConfigVolume(join(folder, 'config'));
    await volume.put({ one: '1', two: ['2'] });
    expect(keys(volume.path)).toEqual({ one: '1', two: '["2"]' });
    await volume.put({ two: '22', three: '3' });
    expect(keys(volume.path)).toEqual({ two: '22', three: '3' });
  });

  it('removes the files of former versions', async () => {
    const volume = new ConfigVolume(folder);
    for (let i = 0; i < 5; i++) await volume.put({ one: String(i) });
    expect(readdirSync(folder).filter((name) => name.startsWith('..2'))).toHaveLength(1);
  });
});
