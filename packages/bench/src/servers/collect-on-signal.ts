/**
 * Loaded into a measured server with `--import`: at each SIGPWR it collects the garbage, so that memory can be compared,
 * and prints `memory N BYTES`, those of the heap and what belongs to it.
 */
const ROUNDS = 3;
let count = 0;

process.on('SIGPWR', () => {
  for (let i = 0; i < ROUNDS; i++) globalThis.gc?.({ type: 'major', execution: 'sync' });
  const { heapUsed, external } = process.memoryUsage();
  process.stderr.write(`memory ${++count} ${heapUsed + external}\n`);
});
