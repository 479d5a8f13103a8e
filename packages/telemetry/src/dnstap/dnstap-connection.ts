import { createWriteStream } from 'node:fs';
import { connect } from 'node:net';
import type { Duplex, Writable } from 'node:stream';
import { CONTROL, type Control, controlFrame, ControlFrameReader } from './control-frame.js';
import type { DnstapTarget } from './dnstap-target.js';

/** What a connection needs of its owner; each is called at most once, but `onDrained`. */
export interface ConnectionEvents {
  /** Messages may be written from now on. */
  onOpen(): void;
  /** What was written before has been taken by the system. */
  onDrained(): void;
  /** It has ended: with the reason, unless `finish` was called. */
  onEnd(error: Error | undefined): void;
}

/** Files have what clients ask. */
const FILE_MODE = 0o600;

/**
 * One stream of frames to a reader, or into a file. A reader is asked first (READY, ACCEPT), and says in the end that it
 * has all (STOP, FINISH); a file has START and STOP only. What a reader sends else ends the connection.
 */
export class DnstapConnection {
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
    if (this.#isFile) stream.once('open', () => this.#start());
    stream.on('drain', () => {
      if (this.#state === 'open') events.onDrained();
    });
    stream.on('error', (error) => this.#end(error));
    stream.on('close', () => this.#end(new Error('the reader has gone')));
  }

  /** Writes frames, whose bytes do not change later; false when more is to wait until `onDrained`. */
  write(bytes: Uint8Array, onTaken: (error: Error | null | undefined) => void): boolean {
    return this.#stream.write(bytes, onTaken);
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
  return createWriteStream(path, { mode: FILE_MODE });
}
