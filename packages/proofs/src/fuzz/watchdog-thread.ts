import { workerData } from 'node:worker_threads';
import { FindingFiles } from './finding.js';
import { WatchedInput, type WatchdogData } from './watchdog.js';

const LOOK_MS = 1_000;
/** So long nothing but a loop without an end takes, also on a machine that others use. */
const PATIENCE_MS = 20_000;

// Started by Watchdog, and by nobody else.
const { shared, corpus, parser } = workerData as WatchdogData;
const watched = new WatchedInput(shared);
let count = watched.count;
let sinceMs = performance.now();

setInterval(() => {
  const nowMs = performance.now();
  if (watched.count !== count) {
    count = watched.count;
    sinceMs = nowMs;
  } else if (nowMs - sinceMs > PATIENCE_MS) {
    new FindingFiles(corpus, parser).write('hangs', '', watched.copy());
    process.kill(process.pid, 'SIGKILL');
  }
}, LOOK_MS);
