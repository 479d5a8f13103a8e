import { constants, createWriteStream, fchmodSync, fstatSync } from 'node:fs';
import { connect } from 'node:net';
import type { Duplex, Writable } from 'node:stream';
import { BackOff, systemReason } from '@kube-dns/base';
import type { Log } from '@kube-dns/daemon';
import { readUint32, writeUint32 } from '@kube-dns/wire';
import { type DnstapTarget, targetText } from './dnstap-target.js';

interface FrameStreamOptions {
  readonly target: DnstapTarget;
  /** What may wait for the reader, in bytes; 1 MiB unless given. */
  readonly maxBytes?: number;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

const MAX_QUEUED_BYTES = 1024 * 1024;
/** How long until the next try after a failure; twice as long each time, 30 s at most. */
const RETRY_MS = 500;
/** How long a reader may take to accept the stream. */
const HANDSHAKE_MS = 5_000;
/** How long a reader that comes after one that went soon must read until the log says so. */
const STEADY_MS = 10_000;
const MAX_RETRY_MS = 30_000;
/** What waits is written so often. */
const FLUSH_MS = 100;
/** A reader has this long to take the last messages. */
const CLOSE_MS = 500;

/**
 * Brings frames to a reader, or into a file. Nothing waits for the reader: while there is none, or it reads too slowly,
 * frames are dropped and counted; the connection is tried again.
 */
export class FrameStream {
  /** Messages that the system took for the reader. */
  written = 0;
  readonly #options: FrameStreamOptions;
  readonly #queue: FrameQueue;
  readonly #where: string;
  #connection: FrameConnection | undefined;
  #isOpen = false;
  #isFull = false;
  #unsent = 0;
  #openedAtMs = 0;
  readonly #backOff = new BackOff({
    firstMs: RETRY_MS,
    longestMs: MAX_RETRY_MS,
    randomPart: 0,
  });
  #timer: NodeJS.Timeout | undefined;
  #flush: NodeJS.Timeout | undefined;
  /** Why there was no connection, as the log has it since messages were sent last; each reason is logged once. */
  readonly #logged = new Set<string>();
  /** Until the reader has read for some time. */
  #steadying: NodeJS.Timeout | undefined;
  /** The last reader went before that. */
  #isUnsteady = false;
  #ended: Promise<void> | undefined;
  #onEnded: () => void = () => undefined;

  constructor(options: FrameStreamOptions) {
    const { target, maxBytes = MAX_QUEUED_BYTES } = options;
    this.#options = options;
    this.#where = `dnstap ${targetText(target)}`;
    this.#queue = new FrameQueue(maxBytes);
    this.#connect();
  }

  /** Messages that no reader got, as far as is known. */
  get dropped(): number {
    return this.#queue.dropped + this.#unsent;
  }

  /** Whether there is a reader. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether there is room for a message; for one that is not made for want of it `drop` is called. */
  get hasRoom(): boolean {
    return this.#queue.hasRoom;
  }

  drop(): void {
    this.#unsent++;
  }

  /** Sends a frame soon, or drops it; copies it. */
  send(frame: Uint8Array): void {
    this.#queue.push(frame);
    if (this.#queue.isBlockFull && this.#isOpen && !this.#isFull) this.#pump();
    else this.#flush ??= setTimeout(() => this.#pump(), FLUSH_MS).unref();
  }

  /** Writes what waits, half a second long at most, and ends. May be called twice. */
  async close(): Promise<void> {
    this.#ended ??= new Promise((resolve) => {
      this.#onEnded = resolve;
    });
    clearTimeout(this.#timer);
    this.#pump();
    if (!this.#isOpen) this.#connection?.close();
    const connection = this.#connection;
    if (connection !== undefined) {
      const limit = setTimeout(this.#onEnded, CLOSE_MS);
      await this.#ended;
      clearTimeout(limit);
      connection.close();
    }
    for (let block = this.#queue.take(); block !== undefined; block = this.#queue.take()) {
      this.#unsent += block.frames;
    }
  }

  #connect(): void {
    const { target } = this.#options;
    this.#connection = new FrameConnection(target, HANDSHAKE_MS, {
      onOpen: () => {
        this.#isOpen = true;
        this.#openedAtMs = performance.now();
        if (!this.#isUnsteady) this.#logOpen();
        this.#steadying = setTimeout(() => this.#noteSteady(), STEADY_MS).unref();
        this.#pump();
      },
      onDrained: () => {
        this.#isFull = false;
        this.#pump();
      },
      onEnd: (error) => this.#noteEnd(error),
    });
  }

  #noteSteady(): void {
    this.#steadying = undefined;
    if (this.#isUnsteady) this.#logOpen();
    this.#isUnsteady = false;
  }

  #logOpen(): void {
    this.#logged.clear();
    this.#options.log.info(`${this.#where}: messages are sent`);
  }

  /** Writes what waits, as far as the connection takes it. */
  #pump(): void {
    clearTimeout(this.#flush);
    this.#flush = undefined;
    while (this.#isOpen && !this.#isFull) {
      const block = this.#queue.take();
      if (block === undefined) break;
      const { bytes, frames } = block;
      this.#isFull = !this.#connection!.write(bytes, (error) => {
        if (error) this.#unsent += frames;
        else this.written += frames;
      });
    }
    const isLast = this.#ended !== undefined && this.#queue.isEmpty;
    if (isLast && this.#isOpen) this.#connection!.finish();
  }

  #noteEnd(error: Error | undefined): void {
    const { log, target } = this.#options;
    const wasOpen = this.#isOpen;
    if (wasOpen) this.#isUnsteady = this.#steadying !== undefined;
    clearTimeout(this.#steadying);
    this.#steadying = undefined;
    this.#connection = undefined;
    this.#isOpen = this.#isFull = false;
    this.#onEnded();
    if (this.#ended !== undefined || error === undefined) return;
    const reason = systemReason(error);
    // To open the file again would empty it.
    const isLast = wasOpen && target.kind === 'file';
    const then = isLast ? 'nothing more is written' : 'messages are dropped until that is mended';
    if (!this.#logged.has(reason)) log.warn(`${this.#where}: ${reason}; ${then}`);
    this.#logged.add(reason);
    if (isLast) return;
    const wasLong = wasOpen && performance.now() - this.#openedAtMs >= MAX_RETRY_MS;
    if (wasLong) this.#backOff.reset();
    this.#timer = setTimeout(() => this.#connect(), this.#backOff.next()).unref();
  }
}

/** What a connection needs of its owner; each is called at most once, but `onDrained`. */
interface ConnectionEvents {
  /** Messages may be written from now on. */
  onOpen(): void;
  /** What was written before has been taken by the system. */
  onDrained(): void;
  /** It has ended: with the reason, unless `finish` was called. */
  onEnd(error: Error | undefined): void;
}

/** Files have what clients ask. */
const FILE_MODE = 0o600;
/** A link may lead to a file that is to stay as it is. */
const FILE_FLAGS =
  constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;

/**
 * One stream of frames to a reader, or into a file. A reader is asked first (READY, ACCEPT), and says in the end that it
 * has all (STOP, FINISH); a file has START and STOP only. What a reader sends else ends the connection.
 */
class FrameConnection {
  readonly #stream: Writable;
  readonly #isFile: boolean;
  readonly #events: ConnectionEvents;
  readonly #answers = new ControlFrameReader();
  #handshake: NodeJS.Timeout | undefined;
  #state: 'opening' | 'open' | 'stopping' | 'ended' = 'opening';

  /** A reader has `handshakeMs` to accept the stream. */
  constructor(target: DnstapTarget, handshakeMs: number, events: ConnectionEvents) {
    this.#events = events;
    this.#isFile = target.kind === 'file';
    const stream =
      target.kind === 'file' ? openFile(target.path) : this.#connect(target, handshakeMs);
    this.#stream = stream;
    if (this.#isFile) stream.once('open', (fd: number) => this.#startFile(fd));
    stream.on('drain', () => {
      if (this.#state === 'open') events.onDrained();
    });
    stream.on('error', (error) => this.#end(this.#isFile ? fileError(error) : error));
    stream.on('close', () => this.#end(new Error('the reader has gone')));
  }

  /** Writes frames, whose bytes do not change later; false when more is to wait until `onDrained`. */
  write(bytes: Uint8Array, onAccepted: (error: Error | null | undefined) => void): boolean {
    return this.#stream.write(bytes, onAccepted);
  }

  /** Says that there is no more, and ends when the reader has all. */
  finish(): void {
    if (this.#state !== 'open') {
      this.close();
      return;
    }
    this.#state = 'stopping';
    const stop = controlFrame(CONTROL.STOP);
    if (this.#isFile) this.#stream.end(stop);
    else this.#stream.write(stop);
  }

  /** Ends it at once. May be called twice. */
  close(): void {
    this.#end(undefined);
  }

  #connect(target: DnstapTarget, handshakeMs: number): Duplex {
    const socket = connect(target);
    socket.unref();
    socket.once('connect', () => socket.write(controlFrame(CONTROL.READY)));
    socket.on('data', (bytes) => this.#read(bytes));
    const late = () => this.#end(new Error('the reader does not accept the stream'));
    this.#handshake = setTimeout(late, handshakeMs).unref();
    return socket;
  }

  #read(bytes: Uint8Array): void {
    this.#answers.push(bytes);
    for (let next = this.#answers.next(); next !== 'unfinished'; next = this.#answers.next()) {
      if (this.#state === 'ended' || !this.#take(next)) return;
    }
  }

  /** False for what a reader does not say now: the connection has ended. */
  #take(control: Control | 'malformed'): boolean {
    if (control === CONTROL.ACCEPT && this.#state === 'opening') {
      this.#start();
      return true;
    }
    const isDone = control === CONTROL.FINISH && this.#state === 'stopping';
    this.#end(isDone ? undefined : new Error('the reader does not speak Frame Streams for dnstap'));
    return false;
  }

  #startFile(fd: number): void {
    try {
      makePrivate(fd);
    } catch (error) {
      this.#end(error as Error);
      return;
    }
    this.#start();
  }

  #start(): void {
    // A file may be there only after its end.
    if (this.#state !== 'opening') return;
    clearTimeout(this.#handshake);
    this.#state = 'open';
    this.#stream.write(controlFrame(CONTROL.START));
    this.#events.onOpen();
  }

  #end(error: Error | undefined): void {
    if (this.#state === 'ended') return;
    const isMeant = error === undefined || this.#state === 'stopping';
    this.#state = 'ended';
    clearTimeout(this.#handshake);
    this.#stream.destroy();
    this.#events.onEnd(isMeant ? undefined : error);
  }
}

function openFile(path: string): Writable {
  // Flags may be a number, as those of fs.open, which the types of the stream leave out.
  return createWriteStream(path, { flags: FILE_FLAGS as unknown as string, mode: FILE_MODE });
}

/** A file that was there before has the mode that it had; a device is everyone's. */
function makePrivate(fd: number): void {
  if (fstatSync(fd).isFile()) fchmodSync(fd, FILE_MODE);
}

function fileError(error: NodeJS.ErrnoException): Error {
  if (error.code !== 'ELOOP') return error;
  return new Error('the path is a symbolic link, which is not followed: name the file itself');
}

/** Frames one after the other, as they are written to a reader. */
interface FrameBlock {
  readonly bytes: Uint8Array;
  readonly frames: number;
}

const BLOCK_BYTES = 32 * 1024;
const USUAL_BYTES = 2 * 1024;

/** The frames that wait for their reader, at most so many bytes of them; a frame that has no room is dropped. */
export class FrameQueue {
  /** Frames that had no room. */
  dropped = 0;
  readonly #maxBytes: number;
  /** Full ones, oldest first. */
  readonly #blocks: FrameBlock[] = [];
  #heldBytes = 0;
  #open = new Uint8Array(0);
  #openBytes = 0;
  #openFrames = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Whether there are enough to write them at once. */
  get isBlockFull(): boolean {
    return this.#blocks.length > 0;
  }

  /** Whether there is room for most frames: while there is none, they need not be made. */
  get hasRoom(): boolean {
    const isOpenFull = this.#open.length - this.#openBytes < USUAL_BYTES;
    return !isOpenFull || this.#heldBytes + this.#open.length + BLOCK_BYTES <= this.#maxBytes;
  }

  get isEmpty(): boolean {
    return this.#openFrames === 0 && this.#blocks.length === 0;
  }

  /** Adds a frame with its length in front; copies it. */
  push(frame: Uint8Array): void {
    const bytes = LENGTH_BYTES + frame.length;
    if (this.#openBytes + bytes > this.#open.length && !this.#makeRoom(bytes)) {
      this.dropped++;
      return;
    }
    writeUint32(this.#open, this.#openBytes, frame.length);
    this.#open.set(frame, this.#openBytes + LENGTH_BYTES);
    this.#openBytes += bytes;
    this.#openFrames++;
  }

  /** Takes the oldest frames out; undefined when there are none. */
  take(): FrameBlock | undefined {
    if (this.#blocks.length === 0) this.#seal();
    const block = this.#blocks.shift();
    if (block === undefined) return undefined;
    this.#heldBytes -= block.bytes.buffer.byteLength;
    return block;
  }

  #makeRoom(bytes: number): boolean {
    const size = Math.max(bytes, BLOCK_BYTES);
    this.#seal();
    if (this.#heldBytes + size > this.#maxBytes) return false;
    this.#open = new Uint8Array(size);
    return true;
  }

  #seal(): void {
    if (this.#openFrames === 0) return;
    const bytes = this.#open.subarray(0, this.#openBytes);
    this.#blocks.push({ bytes, frames: this.#openFrames });
    this.#heldBytes += this.#open.length;
    this.#open = new Uint8Array(0);
    this.#openBytes = this.#openFrames = 0;
  }
}

/** The control frames of Frame Streams (fstrm's control.h). */
export const CONTROL = { ACCEPT: 1, START: 2, STOP: 3, READY: 4, FINISH: 5 } as const;
type Control = (typeof CONTROL)[keyof typeof CONTROL];

/** What the frames of a stream have in them. */
const CONTENT_TYPE = Buffer.from('protobuf:dnstap.Dnstap');
const FIELD_CONTENT_TYPE = 1;
/** A frame begins with its length; 0 announces a control frame, whose length follows. */
const LENGTH_BYTES = 4;
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
