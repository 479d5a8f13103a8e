import { encodeName } from '@kube-dns/wire';
import { decodeMessage } from '@kube-dns/testkit';
import type { Scheduler } from './scheduler.js';

const QR = 0x8000;

/** Draws the life of one name: each message that has it, from machine to machine, with its time. */
export class NameTrace {
  readonly #text: string;
  readonly #name: Buffer;
  readonly #scheduler: Scheduler;
  readonly #write: (line: string) => void;
  #hasSeen = false;

  /** The name in any case, with or without the dot at its end. */
  constructor(name: string, scheduler: Scheduler, write: (line: string) => void) {
    this.#text = name.toLowerCase().replace(/\.$/u, '');
    // Without the root: a message may have the name before a pointer.
    this.#name = Buffer.from(encodeName(this.#text).subarray(0, -1));
    this.#scheduler = scheduler;
    this.#write = write;
  }

  onDatagram(from: string, to: string, bytes: Buffer, isLost: boolean): void {
    if (!this.#has(bytes)) return;
    this.#line(from, to, `${messageText(bytes)}${isLost ? '   (lost)' : ''}`);
  }

  /** Bytes of a TCP connection: messages with their lengths, or HTTP. */
  onStream(from: string, to: string, bytes: Buffer): void {
    if (this.#has(bytes)) this.#line(from, to, streamText(bytes));
  }

  onChange(service: string, text: string): void {
    if (this.#text.includes(service)) this.#line('api', '', text);
  }

  /** The run is over. */
  end(): void {
    if (!this.#hasSeen) this.#write(`no message has the name ${this.#text}`);
  }

  #has(bytes: Buffer): boolean {
    return lowerCase(bytes).includes(this.#name);
  }

  #line(from: string, to: string, text: string): void {
    this.#hasSeen ||= to !== '';
    const time = (this.#scheduler.nowUs / 1e6).toFixed(6).padStart(12);
    const way = to === '' ? from : `${from} ──▶ ${to}`;
    this.#write(`${time}  ${way.padEnd(24)}  ${text}`);
  }
}

function lowerCase(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString('latin1').toLowerCase(), 'latin1');
}

function messageText(bytes: Buffer): string {
  try {
    const { id, flags, questions, rcode, texts, ttls } = decodeMessage(bytes);
    const [question] = questions;
    const asked = `${question?.type} ${question?.name.toLowerCase()}`;
    if ((flags & QR) === 0) return `${asked} ?   (id ${id})`;
    const parts = texts.map((text, at) => `${text} (${ttls[at]} s)`);
    if (parts.length === 0 || rcode !== 'NOERROR') parts.push(rcode);
    return `${asked} = ${parts.join(', ')}   (id ${id})`;
  } catch {
    return `${bytes.length} bytes`;
  }
}

function streamText(bytes: Buffer): string {
  // DNS over TCP: opcode 6 is DSO (RFC 8490), an announcement of changes.
  const isDso = bytes.length > 4 && ((bytes[4]! >> 3) & 0x0f) === 6;
  if (isDso) return 'TCP: announces that it changed';
  return `TCP: ${messageText(bytes.subarray(2))}`;
}
