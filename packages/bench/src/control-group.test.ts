import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ownedBy, TemporaryFolder } from '@kube-dns/testkit';
import { ControlGroup, type ControlGroupFiles, Precedence } from './control-group.js';

const own = ownedBy(afterEach);
const MIB = 2 ** 20;

/** Folders with the files that a kernel would have, and where this process is among them. */
function filesOf(version: 1 | 2): ControlGroupFiles {
  const { path } = own(new TemporaryFolder());
  const groups = join(path, 'cgroup');
  const processes = join(path, 'proc');
  const lines =
    version === 2 ? '0::/of/a/user' : '12:memory:/some/where\n4:cpu,cpuacct:/of/a/user\n0::/else';
  const folders = version === 2 ? ['of/a/user'] : ['cpu/of/a/user', 'memory/some/where'];
  for (const folder of folders) mkdirSync(join(groups, folder), { recursive: true });
  mkdirSync(join(processes, String(process.pid)), { recursive: true });
  writeFileSync(join(processes, String(process.pid), 'cgroup'), `${lines}\n`);
  if (version === 2) writeFileSync(join(groups, 'cgroup.controllers'), 'cpu memory\n');
  return { groups, processes };
}

function create(name: string, controller: 'cpu' | 'memory', files: ControlGroupFiles) {
  const group = ControlGroup.create(name, controller, files);
  if (typeof group === 'string') throw new Error(group);
  return group;
}

/** The folder in the words in front of a command, and what these do. */
function pathOf(group: ControlGroup): string {
  return /^echo \$\$ >(.*)\/cgroup\.procs; exec "\$@"$/.exec(group.entrance[2]!)![1]!;
}

describe('a control group', () => {
  it.each([1, 2] as const)('of version %d limits the CPU and takes that back', (version) => {
    const files = filesOf(version);
    const group = create('limited', 'cpu', files);
    const read = (name: string) => readFileSync(join(pathOf(group), name), 'utf8');
    group.limitCpu(50);
    if (version === 2) {
      expect(read('cpu.max')).toBe('5000 100000');
      expect(readFileSync(join(files.groups, 'cgroup.subtree_control'), 'utf8')).toBe('+cpu');
    } else {
      expect([read('cpu.cfs_quota_us'), read('cpu.cfs_period_us')]).toEqual(['5000', '100000']);
      expect(pathOf(group)).toMatch(/\/cpu\/limited-/);
    }
    group.limitCpu(undefined);
    expect(read(version === 2 ? 'cpu.max' : 'cpu.cfs_quota_us')).toMatch(/^(max 100000|-1)$/);
  });

  it.each([1, 2] as const)('of version %d has the memory of its processes', (version) => {
    const files = filesOf(version);
    const group = create('measured', 'memory', files);
    const write = (name: string, text: string) => writeFileSync(join(pathOf(group), name), text);
    const [stat, current, peak] =
      version === 2
        ? ['inactive_anon 1\nanon 31457280\nfile 2', 'memory.current', 'memory.peak']
        : ['rss_huge 1\nrss 31457280', 'memory.usage_in_bytes', 'memory.max_usage_in_bytes'];
    write('memory.stat', `${stat}\n`);
    write(current, `${40 * MIB}\n`);
    const known = { anonymous: 30 * MIB, current: 40 * MIB };
    expect(group.memory()).toEqual({ ...known, peak: Number.NaN });
    write(peak, `${50 * MIB}\n`);
    expect(group.memory()).toEqual({ ...known, peak: 50 * MIB });
  });

  it.each([
    [1, 'cpu', 'cpu/of/a/user'],
    [1, 'memory', 'memory/some/where'],
    [2, 'memory', 'of/a/user'],
  ] as const)('of version %d is found by a process in it: %s', (version, controller, path) => {
    const files = filesOf(version);
    const group = ControlGroup.of(process.pid, controller, files);
    expect(pathOf(group)).toBe(join(files.groups, path));
  });

  it('says why there can be none', () => {
    const files = { ...filesOf(1), groups: '/nowhere' };
    expect(ControlGroup.create('none', 'cpu', files)).toMatch(/ENOENT/);
    expect(Precedence.take(files)).toMatch(/ENOENT/);
  });
});

describe('precedence', () => {
  it.each([
    [1, 'cpu.shares', '262144', 'cpu/of/a/user'],
    [2, 'cpu.weight', '10000', 'of/a/user'],
  ] as const)(
    'of version %d is a group of the highest weight with this process',
    (version, file, weight, before) => {
      const files = filesOf(version);
      const precedence = Precedence.take(files);
      if (typeof precedence === 'string') throw new Error(precedence);
      const path = pathOf(precedence.group);
      expect(readFileSync(join(path, file), 'utf8')).toBe(weight);
      expect(readFileSync(join(path, 'cgroup.procs'), 'utf8')).toBe(String(process.pid));
      precedence.leave();
      const left = join(files.groups, before, 'cgroup.procs');
      expect(readFileSync(left, 'utf8')).toBe(String(process.pid));
    },
  );
});
