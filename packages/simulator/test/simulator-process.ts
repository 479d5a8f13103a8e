import { fileURLToPath } from 'node:url';
import { runProgram } from '@kube-dns/testkit';

const PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));
/** Virtual time needs no quiet machine, but the run itself takes real time. */
const LIMIT_MS = 220_000;

/** Runs the built program to its end. */
export async function simulate(...args: string[]) {
  const {
    end: status,
    stdout,
    stderr,
  } = await runProgram(process.execPath, [PROGRAM, ...args], {
    limitMs: LIMIT_MS,
  });
  return { status, stdout, stderr };
}

/** Of each seed, all that happened in one number. */
export function digests(text: string): string[] {
  return [...text.matchAll(/digest (\w+)/gu)].map(([, digest]) => digest!);
}
