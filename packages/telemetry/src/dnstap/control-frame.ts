import { readUint32, writeUint32 } from '@kube-dns/wire';

/** The control frames of Frame Streams (fstrm's control.h). */
export const CONTROL = { ACCEPT: 1, START: 2, STOP: 3, READY: 4, FINISH: 5 } as const;
export type Control = (typeof CONTROL)[keyof typeof CONTROL];

/** What the frames of a stream have in them. */
const CONTENT_TYPE = Buffer.from('protobuf:dnstap.Dnstap');
const FIELD_CONTENT_TYPE = 1;
/** A frame begins with its length; 0 announces a control frame, whose length follows. */
export const LENGTH_BYTES = 4;
/** The largest control frame (fstrm's control.h). */
const MAX_CONTROL_BYTES = 512;

/** The bytes of a control frame; READY and START name the content. */
export function controlFrame(control: Control): Uint8Array {
  const hasContent = control === CONTROL.READY || control === CONTROL.START;
  const content = hasContent ? CONTENT_TYPE : Buffer.alloc(0);
  const fieldBytes = hasContent ? 2 * LENGTH_BYTES + content.length : 0;
  const frame = new Uint8Array(3 * LENGTH_BYTES + fieldBytes);
  writeUint32(frame, LENGTH_BYTES, LENGTH_BYTES + fieldBytes);
  writeUint32(frame, 2 * LENGTH_BYTES, control);
  if (!hasContent) return frame;
  writeUint32(frame, 3 * LENGTH_BYTES, FIELD_CONTENT_TYPE);
  writeUint32(frame, 4 * LENGTH_BYTES, content.length);
  frame.set(content, 5 * LENGTH_BYTES);
  return frame;
}

/** Cuts what a reader sends back into control frames; it sends nothing else. Holds one frame. */
export class ControlFrameReader {
  readonly #frame = new Uint8Array(2 * LENGTH_BYTES + MAX_CONTROL_BYTES);
  #length = 0;
  /** What has arrived and is not in the frame yet. */
  #input: Uint8Array = this.#frame.subarray(0, 0);
  #inputAt = 0;

  /** Takes bytes as they arrive, which do not change until `next` has returned `unfinished`; only then there may be more. */
  push(bytes: Uint8Array): void {
    this.#input = bytes;
    this.#inputAt = 0;
  }

  /**
   * The next control frame: `unfinished` until it is complete, `malformed` for what is none, or an ACCEPT of other
   * contents than dnstap.
   */
  next(): Control | 'unfinished' | 'malformed' {
    const frame = this.#frame;
    if (!this.#fill(LENGTH_BYTES)) return 'unfinished';
    if (readUint32(frame, 0) !== 0) return 'malformed';
    if (!this.#fill(2 * LENGTH_BYTES)) return 'unfinished';
    const bytes = readUint32(frame, LENGTH_BYTES);
    if (bytes < LENGTH_BYTES || bytes > MAX_CONTROL_BYTES) return 'malformed';
    const end = 2 * LENGTH_BYTES + bytes;
    if (!this.#fill(end)) return 'unfinished';
    this.#length = 0;
    return controlOf(frame.subarray(2 * LENGTH_BYTES, end));
  }

  /** Whether the frame has so many bytes, with those that have arrived. */
  #fill(length: number): boolean {
    while (this.#length < length && this.#inputAt < this.#input.length) {
      this.#frame[this.#length++] = this.#input[this.#inputAt++]!;
    }
    return this.#length >= length;
  }
}

function controlOf(frame: Uint8Array): Control | 'malformed' {
  const control = Object.values(CONTROL).find((each) => each === readUint32(frame, 0));
  if (control === undefined) return 'malformed';
  let takesDnstap = true;
  for (let at = LENGTH_BYTES; at < frame.length;) {
    const valueAt = at + 2 * LENGTH_BYTES;
    if (valueAt > frame.length || readUint32(frame, at) !== FIELD_CONTENT_TYPE) return 'malformed';
    const next = valueAt + readUint32(frame, at + LENGTH_BYTES);
    if (next > frame.length) return 'malformed';
    // A reader may take several; one that names none takes all.
    const isDnstap = CONTENT_TYPE.equals(frame.subarray(valueAt, next));
    takesDnstap = at === LENGTH_BYTES ? isDnstap : takesDnstap || isDnstap;
    at = next;
  }
  return takesDnstap ? control : 'malformed';
}
