/** CPU time of this thread so far, in milliseconds. Node before 23.9 has only that of the whole process. */
export function threadCpuMs(): number {
  const { threadCpuUsage } = process as Partial<NodeJS.Process>;
  const { user, system } = (threadCpuUsage ?? process.cpuUsage)();
  return (user + system) / 1_000;
}
