import { MeasureError } from '@kube-dns/testkit';
import type { UdpEngine } from '@kube-dns/transport';
import { HEADER_BYTES, RCODE_MASK, readUint16, writeUint16 } from '@kube-dns/wire';
import { LatencyHistogram } from './latency-histogram.js';
import type { LoadClock } from './load-clock.js';

type Port = NonNullable<ReturnType<UdpEngine['openUpstreamPort']>>;

/** The server that is asked, and from how many sockets. */
export interface ClientPlan {
  readonly port: number;
  readonly sockets: number;
  readonly rcodes: readonly number[];
  /** An answer after this time, in ms, is late: its time is not counted. */
  readonly limitMs: number;
}

const IDS = 0x1_0000;
/** Questions in flight of all sockets, where they are many. */
const MAX_IN_FLIGHT = 1 << 20;
const MIN_IN_FLIGHT = 4_096;
const QR = 0x80;
const NOT_ASKED = Number.NaN;

/** Sockets that are connected to one server, and when each of their questions in flight was planned. */
export class ClientSockets {
  readonly #server: { readonly address: string; readonly port: number };
  readonly #ports: readonly Port[];
  readonly #isRight: readonly boolean[];
  #times = new LatencyHistogram();
  readonly #limitMs: number;
  readonly #clock: Pick<LoadClock, 'nowMs'>;
  /** Of each socket this many questions can be in flight. */
  readonly #window: number;
  readonly #nextId: Uint16Array;
  /** By socket and by the last bits of the ID. */
  readonly #ids: Uint16Array;
  readonly #plannedMs: Float64Array;
  #current = -1;
  /** In time. */
  answered = 0;
  late = 0;
  wrong = 0;

  /** Throws a MeasureError where there cannot be as many sockets. */
  constructor(
    engine: Pick<UdpEngine, 'openUpstreamPort'>,
    { port, sockets, rcodes, limitMs }: ClientPlan,
    clock: Pick<LoadClock, 'nowMs'>,
  ) {
    this.#clock = clock;
    this.#server = { address: '127.0.0.1', port };
    this.#limitMs = limitMs;
    this.#isRight = Array.from({ length: RCODE_MASK + 1 }, (_, rcode) => rcodes.includes(rcode));
    const share = 2 ** Math.floor(Math.log2(MAX_IN_FLIGHT / sockets));
    this.#window = Math.max(MIN_IN_FLIGHT, Math.min(IDS, share));
    this.#nextId = new Uint16Array(sockets);
    this.#ids = new Uint16Array(sockets * this.#window);
    this.#plannedMs = new Float64Array(sockets * this.#window).fill(NOT_ASKED);
    const options = { port: 0, sourceAddress: undefined, server: this.#server, isIpv6: false };
    const ports: Port[] = [];
    for (let i = 0; i < sockets; i++) {
      const opened = engine.openUpstreamPort(options, {
        onDatagram: (bytes) => this.#receive(i, bytes),
        onUnreachable: () => undefined,
      });
      if (opened !== undefined) ports.push(opened);
    }
    this.#ports = ports;
    if (ports.length === sockets) return;
    this.close();
    throw new MeasureError(`the load has only ${ports.length} of its ${sockets} sockets`);
  }

  /** Forgets what is in flight, and counts from 0 again; the times of answers go to `times` from now on. */
  restart(times: LatencyHistogram): void {
    this.#times = times;
    this.#plannedMs.fill(NOT_ASKED);
    this.answered = 0;
    this.late = 0;
    this.wrong = 0;
  }

  /** The next questions leave from the next socket. */
  turn(): void {
    this.#current = (this.#current + 1) % this.#ports.length;
  }

  /** Sends a question under an ID of its own; `plannedMs` is when it should have left. */
  ask(query: Buffer, plannedMs: number): void {
    const socket = this.#current;
    const id = this.#nextId[socket]!++;
    const at = socket * this.#window + (id & (this.#window - 1));
    this.#ids[at] = id;
    this.#plannedMs[at] = plannedMs;
    writeUint16(query, 0, id);
    this.#ports[socket]!.send(query, this.#server);
  }

  close(): void {
    for (const port of this.#ports) port.close();
  }

  #receive(socket: number, answer: Buffer): void {
    if (answer.length < HEADER_BYTES || (answer[2]! & QR) === 0) return;
    const id = readUint16(answer, 0);
    const at = socket * this.#window + (id & (this.#window - 1));
    const plannedMs = this.#plannedMs[at]!;
    if (this.#ids[at] !== id || Number.isNaN(plannedMs)) return;
    this.#plannedMs[at] = NOT_ASKED;
    const tookMs = this.#clock.nowMs() - plannedMs;
    if (tookMs > this.#limitMs) {
      this.late++;
      return;
    }
    this.answered++;
    if (!this.#isRight[answer[3]! & RCODE_MASK]!) this.wrong++;
    this.#times.add(tookMs);
  }
}
