import { workerData } from 'node:worker_threads';
import { FindingFiles } from './finding.js';
import { WatchedInput, type WatchdogData } from './watchdog.js';

const LOOKS = 20;

// Started by Watchdog only.
const { shared, corpus, parser, limitMs } = workerData as WatchdogData;
const watched = new WatchedInput(shared);
let count = watched.count;
let sinceMs = performance.now();

setInterval(() => {
  const nowMs = performance.now();
  if (watched.count !== count) {
    count = watched.count;
    sinceMs = nowMs;
  } else if (nowMs - sinceMs > limitMs) {
    new FindingFiles(corpus, parser).write('hangs', '', watched.copy());
    process.kill(process.pid, 'SIGKILL');
  }
}, limitMs / LOOKS);
