/** `node:child_process` of a machine that has no other programs: each start fails as one that is not installed. */
export function childProcessModule(): object {
  const refuse = (program: string) => {
    throw Object.assign(new Error(`spawn ${program} ENOENT`), {
      code: 'ENOENT',
      syscall: `spawn ${program}`,
    });
  };
  return { spawn: refuse, spawnSync: refuse, execFile: refuse, execFileSync: refuse, fork: refuse };
}
