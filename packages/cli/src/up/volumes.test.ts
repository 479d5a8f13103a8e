import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  readdirSync,
  readFileSync,
  readlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parsePod } from './manifest.js';
import { Volumes, ConfigMapFolder } from './volumes.js';

let folder: string;
let volumes: Volumes | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kube-dns-test-'));
  mkdirSync(join(folder, 'objects'));
});

afterEach(() => {
  volumes?.close();
  rmSync(folder, { recursive: true });
});

function translator(volumeList: string, mounts: string): (text: string) => string {
  const text = `kind: Pod
metadata: { name: p }
spec:
  volumes: [${volumeList}]
  containers: [{ name: a, volumeMounts: [${mounts}] }]`;
  const pod = parsePod(text, join(folder, 'pod.yaml'));
  volumes = new Volumes(pod.volumes, pod);
  return volumes.translator(pod.containers[0]!);
}

const OBJECTS = '{ name: o, hostPath: { path: ./objects } }';

describe('volumes without mounts', () => {
  it('replaces a mount path by the folder beside the manifest', () => {
    const translate = translator(OBJECTS, '{ name: o, mountPath: /manifests/ }');
    const objects = join(folder, 'objects');
    expect(translate('--manifests=/manifests')).toBe(`--manifests=${objects}`);
    expect(translate('/manifests/web.yaml')).toBe(`${objects}/web.yaml`);
    expect(translate('/manifests:/manifests')).toBe(`${objects}:${objects}`);
  });

  it('leaves alone what only looks like the mount path', () => {
    const translate = translator(OBJECTS, '{ name: o, mountPath: /data }');
    for (const text of ['/database', '/var/data', 'http://host/data', '/data.old', '/data-2']) {
      expect(translate(text)).toBe(text);
    }
  });

  it('takes the longest mount path and replaces it once', () => {
    const translate = translator(
      OBJECTS,
      '{ name: o, mountPath: /a }, { name: o, mountPath: /a/b, subPath: sub }',
    );
    expect(translate('/a/b/c')).toBe(join(folder, 'objects/sub/c'));
    expect(translate('/a/x')).toBe(join(folder, 'objects/x'));
  });

  it('gives the containers of a pod the same empty folder, and removes it', () => {
    const translate = translator(
      '{ name: e, emptyDir: {} }, { name: c, configMap: { name: kube-dns, optional: true } }',
      '{ name: e, mountPath: /e }, { name: e, mountPath: /f }, { name: c, mountPath: /c }',
    );
    const empty = translate('/e');
    expect(translate('/f')).toBe(empty);
    expect(translate('/c')).not.toBe(empty);
    expect(existsSync(empty) && existsSync(translate('/c'))).toBe(true);
    volumes?.close();
    volumes?.close();
    expect(existsSync(dirname(empty))).toBe(false);
  });

  it('makes a host folder when it is asked to', () => {
    const source = '{ name: o, hostPath: { path: new/one, type: DirectoryOrCreate } }';
    translator(source, '{ name: o, mountPath: /o }');
    expect(existsSync(join(folder, 'new/one'))).toBe(true);
  });

  it.each([
    ['{ name: o, hostPath: { path: gone } }', /volume o: .*gone: no such file or directory$/],
    ['{ name: o, configMap: { name: c } }', /volume o: its configMap is not optional, and there/],
    ['{ name: o, nfs: { server: s } }', /volume o: nfs is not supported on this machine$/],
    ['{ name: x, emptyDir: {} }', /container a mounts the volume o, which the pod does not have$/],
  ])('refuses to mount %s', (source, message) => {
    expect(() => translator(source, '{ name: o, mountPath: /o }')).toThrow(message);
  });

  it('ignores a volume that no container mounts', () => {
    expect(translator('{ name: o, nfs: { server: s } }', '')('/o')).toBe('/o');
  });
});

describe('the folder of a ConfigMap', () => {
  let path: string;
  let written: ConfigMapFolder;
  beforeEach(() => {
    path = join(folder, 'objects');
    written = new ConfigMapFolder(path);
  });

  const write = (keys: Readonly<Record<string, string>>) =>
    written.write(new Map(Object.entries(keys).map(([key, value]) => [key, Buffer.from(value)])));
  const data = () => readlinkSync(join(path, '..data'));

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
