import { fileURLToPath } from 'node:url';
import { Readable } from 'node:stream';
import { kubeDns } from '../../src/program.js';
import { LogText } from './log-text.js';

const REPOSITORY = fileURLToPath(new URL('../../../../', import.meta.url));

/** The end of a command and its output. */
export interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `kube-dns` in this process, to its end. */
export async function runHere(args: readonly string[], input = ''): Promise<Ran> {
  const [stdin, stdout, stderr] = [
    Readable.from([Buffer.from(input)]),
    new LogText(),
    new LogText(),
  ];
  const status = await kubeDns(args, { repository: REPOSITORY, stdin, stdout, stderr });
  return { status, stdout: stdout.text, stderr: stderr.text };
}
