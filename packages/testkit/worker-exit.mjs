// A worker of jest ends as `process.exit` does. Where Node ends by itself it takes its heap apart first, which on a busy
// machine lasts longer than the half second after which jest says that a worker "has failed to exit gracefully".
import process from 'node:process';

if (process.argv[1]?.includes('jest-worker')) process.once('beforeExit', () => process.exit());
