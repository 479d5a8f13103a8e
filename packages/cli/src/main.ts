import { join } from 'node:path';
import { kubeDns } from './program.js';

/** The bundle is packages/cli/dist/kube-dns.cjs of the repository. */
const repository = join(__dirname, '..', '..', '..');
/** How long the process waits at most for a reader to take the last lines of output. */
const FLUSH_MS = 1_000;

const { stdin, stdout, stderr } = process;
// A reader that closes the pipe (`kube-dns … | head`) is no reason for a stack trace.
for (const stream of [stdout, stderr]) stream.on('error', () => undefined);

void kubeDns(process.argv.slice(2), { repository, stdin, stdout, stderr }).then((status) => {
  process.exitCode = status;
  setTimeout(() => process.exit(status), FLUSH_MS).unref();
});
