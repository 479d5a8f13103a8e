import type {
  Endpoint,
  ProcessMachine,
  Route,
  RunningProcess,
  Stream,
  StreamHandler,
} from './host.js';

interface Segment {
  readonly kind: 'syn' | 'accepted' | 'bytes' | 'end' | 'reset';
  readonly bytes?: Buffer;
}

/** What waits unread at the receiver; more stays with the sender. */
const WINDOW_BYTES = 256 * 1024;
/** What waits at the sender before its program has to wait. */
const SEND_BUFFER_BYTES = 256 * 1024;
/** The retransmission timeout is the round trip and this time, or three round trips when that is longer (RFC 6298 and `tcp_rto_min_us`). */
const MIN_RETRY_US = 200_000;
const MAX_RETRY_US = 120_000_000;
/**
 * A SYN is sent again each second, four times, then after twice as long each time: 131 s in all (`tcp_syn_linear_timeouts`,
 * `tcp_syn_retries`). Each gets an answer, so a lost answer is sent again at these times, too.
 */
const SYN_RETRY_US = 1_000_000;
const LINEAR_SYN_RETRIES = 4;
const SYN_LIMIT_US = 131_000_000;
/** What is sent is given up after so long without an acknowledgement (`tcp_retries2`). */
const SEND_LIMIT_US = 924_000_000;
const NO_ROUTE_US = 3_000_000;

/**
 * One end of a TCP connection, as the kernel of its machine has it. The model: bytes arrive in order and once; a lost
 * segment arrives after a retransmission, and all behind it wait; a receiver that does not read stops the sender; a
 * kernel that does not know the connection resets it. There are no acknowledgements of their own: a partition in either
 * direction is one in both.
 */
export class StreamEnd implements Stream {
  readonly machine: ProcessMachine;
  readonly process: RunningProcess;
  readonly local: Endpoint;
  readonly remote: Endpoint;
  peer: StreamEnd | undefined;
  handler: StreamHandler | undefined;
  /** Neither end's kernel knows it any longer. */
  isClosed = false;
  #queue: Segment[] = [];
  #queuedBytes = 0;
  #unreadBytes = 0;
  #lastArrivalUs = 0;
  /** How often the first segment that waits was sent. */
  #attempts = 0;
  #roundTripUs = 0;
  /** When the SYN was sent that arrived. */
  #synUs = 0;
  #waitingSinceUs: number | undefined;
  #isRetrying = false;
  #hasSentEnd = false;
  #hasReceivedEnd = false;
  /** Its program has closed it, or is gone. */
  #isOrphan = false;

  constructor(process: RunningProcess, local: Endpoint, remote: Endpoint) {
    this.process = process;
    this.machine = process.machine;
    this.local = local;
    this.remote = remote;
  }

  /** Opens a connection; the handler learns what became of it. */
  static connect(process: RunningProcess, local: Endpoint, remote: Endpoint): StreamEnd {
    const end = new StreamEnd(process, local, remote);
    const { machine } = process;
    const { network, scheduler } = machine;
    const route = network.route('tcp', machine, local, remote);
    if (route === undefined) scheduler.after(NO_ROUTE_US, () => end.#fail('EHOSTUNREACH'));
    else if (route === 'refused') scheduler.after(0, () => end.#fail('ECONNREFUSED'));
    else end.#sendSyn(route, 1, scheduler.nowUs + SYN_LIMIT_US);
    return end;
  }

  #sendSyn(route: Route, attempt: number, limitUs: number): void {
    if (this.isClosed) return;
    const { network, scheduler } = this.machine;
    const transitUs = network.transit(this.machine, route.machine);
    if (transitUs !== undefined) {
      this.#synUs = scheduler.nowUs;
      scheduler.after(transitUs, () => this.#onSyn(route));
      return;
    }
    const retryUs = synRetryUs(attempt);
    if (scheduler.nowUs + retryUs >= limitUs) {
      scheduler.at(limitUs, () => this.#fail('ETIMEDOUT'));
      return;
    }
    scheduler.after(retryUs, () => this.#sendSyn(route, attempt + 1, limitUs));
  }

  /** The SYN has arrived at the machine of the server. */
  #onSyn({ machine, source, target }: Route): void {
    if (this.isClosed) return;
    const listener = machine.isOn ? machine.findListener(target) : undefined;
    if (listener === undefined) {
      const { network, scheduler } = this.machine;
      const backUs = network.transit(machine, this.machine);
      if (backUs !== undefined) scheduler.after(backUs, () => this.#fail('ECONNREFUSED'));
      return;
    }
    const { process } = listener;
    const end = new StreamEnd(process, target, source);
    end.peer = this;
    this.peer = end;
    end.#send({ kind: 'accepted' });
    process.run(() => listener.onConnection(end));
  }

  write(bytes: Buffer): boolean {
    this.#queuedBytes += bytes.length;
    this.#send({ kind: 'bytes', bytes });
    return this.#queuedBytes < SEND_BUFFER_BYTES;
  }

  end(): void {
    if (this.#hasSentEnd) return;
    this.#hasSentEnd = true;
    this.#send({ kind: 'end' });
    this.#closeWhenDone();
  }

  close(): void {
    this.#isOrphan = true;
    this.end();
  }

  reset(): void {
    if (this.isClosed) return;
    this.#queue = [];
    this.#send({ kind: 'reset' });
    this.isClosed = true;
  }

  consumed(length: number): void {
    this.#unreadBytes -= length;
    if (this.peer !== undefined) this.peer.#pump();
  }

  #send(segment: Segment): void {
    if (this.isClosed) return;
    this.#queue.push(segment);
    this.#pump();
  }

  #pump(): void {
    while (!this.#isRetrying && this.peer !== undefined && this.#queue.length > 0) {
      const [segment] = this.#queue as [Segment];
      const length = segment.bytes?.length ?? 0;
      const isFull = this.peer.#unreadBytes > 0 && this.peer.#unreadBytes + length > WINDOW_BYTES;
      if (length > 0 && isFull) return;
      const { scheduler, network } = this.machine;
      const transitUs = network.transit(this.machine, this.peer.machine);
      if (transitUs === undefined) {
        this.#retryLater(segment);
        return;
      }
      this.#roundTripUs = 2 * transitUs;
      this.#attempts = 0;
      this.#waitingSinceUs = undefined;
      this.#queue.shift();
      this.#lastArrivalUs = Math.max(this.#lastArrivalUs, scheduler.nowUs + transitUs);
      const { peer } = this;
      if (length > 0) network.trace?.onStream(this.machine.name, peer.machine.name, segment.bytes!);
      peer.#unreadBytes += length;
      scheduler.at(this.#lastArrivalUs, () => peer.#receive(segment));
      if (length === 0) continue;
      const wasFull = this.#queuedBytes >= SEND_BUFFER_BYTES;
      this.#queuedBytes -= length;
      if (wasFull && this.#queuedBytes < SEND_BUFFER_BYTES) {
        this.process.run(() => this.handler?.onDrained());
      }
    }
  }

  #retryLater({ kind }: Segment): void {
    const { scheduler } = this.machine;
    this.#waitingSinceUs ??= scheduler.nowUs;
    if (scheduler.nowUs - this.#waitingSinceUs > SEND_LIMIT_US) {
      this.#fail('ETIMEDOUT');
      return;
    }
    this.#attempts++;
    const timeoutUs = kind === 'accepted' ? synRetryUs(this.#attempts) : this.#retryUs(this.#attempts); // prettier-ignore
    this.#isRetrying = true;
    scheduler.after(Math.min(timeoutUs, MAX_RETRY_US), () => {
      this.#isRetrying = false;
      this.#pump();
    });
  }

  /** First a tail loss probe (RFC 8985), then after the retransmission timeout, which is doubled from then on. */
  #retryUs(attempt: number): number {
    const timeoutUs = this.#roundTripUs + Math.max(MIN_RETRY_US, 2 * this.#roundTripUs);
    if (attempt === 1) return Math.min(2 * this.#roundTripUs + MIN_RETRY_US, timeoutUs);
    return timeoutUs * 2 ** (attempt - 2);
  }

  #receive(segment: Segment): void {
    if (!this.machine.isOn) return;
    if (this.isClosed) {
      // The kernel does not know the connection, or no longer reads from it.
      if (segment.kind === 'bytes' || segment.kind === 'accepted') this.#resetPeer();
      return;
    }
    switch (segment.kind) {
      case 'accepted':
        // An answer that was sent again makes a long round trip, as it has the timestamp of the SYN.
        this.#roundTripUs = this.machine.scheduler.nowUs - this.#synUs;
        this.process.run(() => this.handler?.onConnected());
        break;
      case 'bytes':
        if (this.#isOrphan) {
          this.isClosed = true;
          this.#queue = [];
          this.#resetPeer();
          return;
        }
        this.process.run(() => this.handler?.onBytes(segment.bytes!));
        break;
      case 'end':
        this.#hasReceivedEnd = true;
        this.process.run(() => this.handler?.onEnd());
        this.#closeWhenDone();
        break;
      case 'reset':
        this.#fail('ECONNRESET');
        break;
      default:
        break;
    }
  }

  #resetPeer(): void {
    const { peer } = this;
    const backUs = peer && this.machine.network.transit(this.machine, peer.machine);
    if (peer !== undefined && backUs !== undefined) {
      this.machine.scheduler.after(backUs, () => peer.#receive({ kind: 'reset' }));
    }
  }

  #closeWhenDone(): void {
    if (this.#hasSentEnd && this.#hasReceivedEnd && this.#queue.length === 0) this.isClosed = true;
  }

  #fail(code: string): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#queue = [];
    this.process.run(() => this.handler?.onFailure(code));
  }
}

/** From the n-th SYN to the next one. */
function synRetryUs(attempt: number): number {
  return SYN_RETRY_US * 2 ** Math.max(0, attempt - LINEAR_SYN_RETRIES - 1);
}
