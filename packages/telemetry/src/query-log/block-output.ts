import { constants, fstatSync, openSync, write } from 'node:fs';
import { isatty } from 'node:tty';

/** Where blocks of lines go. It never blocks the event loop, nor the end of the process. */
export interface BlockOutput {
  /** As much as it takes at once. */
  readonly blockBytes: number;
  /**
   * Writes the bytes from `start` to `end`, which do not change meanwhile. Calls `done` later, with how many of them are
   * written: 0 for none yet, -1 when none will be any more because the reader is gone.
   */
  write(bytes: Uint8Array, start: number, end: number, done: (written: number) => void): void;
}

/** The part of `process.stdout` that is used. */
export type OutputStream = Pick<NodeJS.WritableStream, 'on'> & {
  write(block: Uint8Array, done: (error?: Error | null) => void): boolean;
};

const STDOUT = 1;
const FILE_BLOCK_BYTES = 64 * 1024;
/** A pipe takes all of this or nothing (PIPE_BUF, pipe(7)): no line is torn when its reader stops. */
const WHOLE_PIPE_BYTES = 4_096;
/** A terminal whose output is stopped has no event for when it goes on. */
const FULL_PAUSE_MS = 20;
/** Such as a full disk: what is dropped meanwhile is counted. */
const FAILED_PAUSE_MS = 1_000;

/**
 * The standard output of the process. A pipe or a socket is written as Node does, when it has room. Any other is written in
 * a thread of the pool, which the end of the process waits for: a terminal, which can be stopped, therefore in a way that
 * does not wait.
 */
export function stdoutOutput(): BlockOutput {
  const kind = fstatSync(STDOUT);
  if (kind.isFIFO() || kind.isSocket()) return new StreamOutput(process.stdout);
  return new DescriptorOutput(isatty(STDOUT) ? openTerminal() : STDOUT);
}

/** Opened again, as others that have this terminal open must not get EAGAIN. */
function openTerminal(): number {
  try {
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
    return openSync(`/proc/self/fd/${STDOUT}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    return STDOUT; // of another user, who has to let it go on
  }
}

/** A stream that does not block, such as that of a pipe. */
export class StreamOutput implements BlockOutput {
  readonly blockBytes = WHOLE_PIPE_BYTES;
  readonly #stream: OutputStream;

  constructor(stream: OutputStream) {
    this.#stream = stream;
    stream.on('error', () => {
      /* such as EPIPE: `done` gets it, too */
    });
  }

  write(bytes: Uint8Array, start: number, end: number, done: (written: number) => void): void {
    this.#stream.write(bytes.subarray(start, end), (error) => {
      done(error === undefined || error === null ? end - start : -1);
    });
  }
}

/** A file, or what else is open as this descriptor. */
export class DescriptorOutput implements BlockOutput {
  readonly blockBytes = FILE_BLOCK_BYTES;
  readonly #descriptor: number;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  write(bytes: Uint8Array, start: number, end: number, done: (written: number) => void): void {
    write(this.#descriptor, bytes, start, end - start, null, (error, written) => {
      if (error === null) done(written);
      else setTimeout(done, error.code === 'EAGAIN' ? FULL_PAUSE_MS : FAILED_PAUSE_MS, 0).unref();
    });
  }
}
