import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigMapFolder } from './config-map-volume.js';

let path: string;
let folder: ConfigMapFolder;

beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'kube-dns-test-'));
  folder = new ConfigMapFolder(path);
});

afterEach(() => rmSync(path, { recursive: true }));

const write = (keys: Readonly<Record<string, string>>) =>
  folder.write(new Map(Object.entries(keys).map(([key, value]) => [key, Buffer.from(value)])));
const data = () => readlinkSync(join(path, '..data'));

describe('the folder of a ConfigMap', () => {
  it('has a link for each key, behind one link that changes with the content', () => {
    expect(write({ one: '1', two: '2' })).toBe(true);
    const first = data();
    expect(readdirSync(path).sort()).toEqual(['..data', first, 'one', 'two'].sort());
    expect(readlinkSync(join(path, 'one'))).toBe('..data/one');
    expect(readFileSync(join(path, 'two'), 'utf8')).toBe('2');
    expect(write({ one: '3' })).toBe(true);
    expect(data()).not.toBe(first);
    expect(readdirSync(path).sort()).toEqual(['..data', data(), 'one'].sort());
    expect(readFileSync(join(path, 'one'), 'utf8')).toBe('3');
  });

  it('does not change with the same content, and is empty without keys', () => {
    expect(write({})).toBe(false);
    expect(readdirSync(path)).toEqual([]);
    write({ one: '1' });
    const first = data();
    expect(write({ one: '1' })).toBe(false);
    expect(data()).toBe(first);
    expect(write({})).toBe(true);
    expect(readdirSync(path).sort()).toEqual(['..data', data()].sort());
  });

  it('leaves out keys that would be elsewhere', () => {
    expect(write({ '../out': '1', '..data': '2', 'a/b': '3' })).toBe(false);
    expect(readdirSync(path)).toEqual([]);
  });
});
