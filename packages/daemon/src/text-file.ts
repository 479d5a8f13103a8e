import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** Reads a file of settings; throws the system's error, or for a pipe, which may never end, one with a code of its own. */
export function readTextFile(path: string): string {
  // Without NONBLOCK, opening a pipe that has no writer would never return, and no signal would be handled.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (fstatSync(fd).isFIFO())
      throw Object.assign(new Error('it is a pipe'), { code: 'ERR_PIPE' });
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}
