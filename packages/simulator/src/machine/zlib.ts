import { Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import type { RunningProcess } from '../host.js';

type Whole = (bytes: Buffer, options?: zlib.ZlibOptions) => Buffer;
type Done = (error: Error | null, result?: Buffer) => void;

/**
 * `node:zlib` whose work takes no time: Node's own does it in another thread, and when it is done would be by the real
 * clock. A stream gives its result at its end.
 */
export function zlibModule(process: RunningProcess): object {
  const stream =
    (whole: Whole) =>
    (options?: zlib.ZlibOptions): Transform => {
      const chunks: Buffer[] = [];
      return new Transform({
        transform(chunk: Buffer, _encoding, done) {
          chunks.push(chunk);
          done();
        },
        flush(done) {
          attempt(() => whole(Buffer.concat(chunks), options), done);
        },
      });
    };
  const later =
    (whole: Whole) =>
    (bytes: Buffer, ...rest: unknown[]) => {
      const done = rest.at(-1) as Done;
      const options = rest.length > 1 ? (rest[0] as zlib.ZlibOptions) : undefined;
      process.schedule(0, () => attempt(() => whole(bytes, options), done));
    };
  return {
    ...zlib,
    createGzip: stream(zlib.gzipSync),
    createGunzip: stream(zlib.gunzipSync),
    gzip: later(zlib.gzipSync),
    gunzip: later(zlib.gunzipSync),
  };
}

function attempt(work: () => Buffer, done: Done): void {
  let result: Buffer;
  try {
    result = work();
  } catch (error) {
    done(error as Error);
    return;
  }
  done(null, result);
}
