import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** A process and the network that it is in, as the kernel names it. */
export interface NetworkedProcess {
  readonly pid: number;
  readonly parent: number;
  readonly network: string;
  /** Its command line, words separated by spaces. */
  readonly command: string;
}

/** Every process of this machine that can be looked at. */
export function processes(): readonly NetworkedProcess[] {
  return readdirSync('/proc').flatMap((entry) => {
    const pid = Number(entry);
    if (Number.isNaN(pid)) return [];
    try {
      // After the name, which may contain any character: the state, then the parent.
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
      const network = readlinkSync(`/proc/${pid}/ns/net`);
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return [{ pid, parent, network, command }];
    } catch {
      // It has ended, or belongs to another user.
      return [];
    }
  });
}

/** All that a process has started, and what these have. */
export function descendants(pid: number): readonly NetworkedProcess[] {
  const all = processes();
  const found: NetworkedProcess[] = [];
  const parents = new Set([pid]);
  for (let count = -1; count !== found.length;) {
    count = found.length;
    for (const each of all) {
      if (!parents.has(each.parent) || parents.has(each.pid)) continue;
      parents.add(each.pid);
      found.push(each);
    }
  }
  return found;
}
