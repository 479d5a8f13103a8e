// Loaded into a container (`node --import`) by the proofs: writes once a second what keeps its loop
// alive, timers and handles by type, to the file that RESOURCE_FILE names.
import { renameSync, writeFileSync } from 'node:fs';

const INTERVAL_MS = 1_000;

const file = process.env.RESOURCE_FILE;
if (file !== undefined) {
  setInterval(() => {
    const counts: Record<string, number> = {};
    for (const type of process.getActiveResourcesInfo()) counts[type] = (counts[type] ?? 0) + 1;
    writeFileSync(`${file}.new`, JSON.stringify(counts));
    renameSync(`${file}.new`, file);
  }, INTERVAL_MS).unref();
}
