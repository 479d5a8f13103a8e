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
  it('has the keys of the newest version and no others', () => {
    const volume = new ConfigVolume(join(folder, 'config'), { one: '1', two: '2' });
    expect(keys(volume.path)).toEqual({ one: '1', two: '2' });
    volume.write({ two: '22', three: '3' });
    expect(keys(volume.path)).toEqual({ two: '22', three: '3' });
  });

  it('keeps nothing of versions that are gone', () => {
    const volume = new ConfigVolume(folder, { one: '1' });
    for (let i = 0; i < 5; i++) volume.write({ one: String(i) });
    expect(readdirSync(folder).filter((name) => name.startsWith('..version'))).toHaveLength(1);
  });
});
