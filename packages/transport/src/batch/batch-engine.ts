import type { ListenerCounters } from '../counters.js';
import type { DatagramSocket } from '../datagram-socket.js';
import type { UdpEngine } from '../udp-engine.js';
import type { PortOwner, UpstreamPort, UpstreamPortOptions } from '../upstream-port.js';
import { BatchHub } from './batch-hub.js';
import { BatchListenerSocket } from './batch-listener-socket.js';
import { BatchUpstreamPort } from './batch-upstream-port.js';
import type { Libc } from './libc.js';

/** UDP through recvmmsg and sendmmsg: many datagrams per system call when many come. */
export class BatchEngine implements UdpEngine {
  readonly name = 'batch';
  readonly #hub: BatchHub;

  constructor(libc: Libc) {
    this.#hub = new BatchHub(libc);
  }

  /** What the system lacks of what makes this engine fast; undefined when it has all. */
  get lack(): string | undefined {
    return this.#hub.offload.lack;
  }

  get batch(): number {
    return this.#hub.batch;
  }

  createSocket(counters: ListenerCounters): DatagramSocket {
    return new BatchListenerSocket(this.#hub, counters);
  }

  sendTogether(work: () => void): void {
    this.#hub.together(work);
  }

  openUpstreamPort(options: UpstreamPortOptions, owner: PortOwner): UpstreamPort | undefined {
    try {
      return new BatchUpstreamPort(this.#hub, options, owner);
    } catch {
      // The caller tries another port.
      return undefined;
    }
  }
}
