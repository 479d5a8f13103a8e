import type { ListenerCounters } from '../counters.js';
import type { DatagramSocket } from '../datagram-socket.js';
import type { UdpEngine } from '../udp-engine.js';
import type { PortOwner, UpstreamPort, UpstreamPortOptions } from '../upstream-port.js';
import { DgramSocket } from './dgram-socket.js';
import { DgramUpstreamPort } from './dgram-upstream-port.js';

/** UDP through node:dgram: works everywhere, one system call per datagram. */
export class DgramEngine implements UdpEngine {
  readonly name = 'dgram';
  readonly batch = 0;

  createSocket(counters: ListenerCounters): DatagramSocket {
    return new DgramSocket(counters);
  }

  sendTogether(work: () => void): void {
    work();
  }

  openUpstreamPort(options: UpstreamPortOptions, owner: PortOwner): UpstreamPort | undefined {
    return DgramUpstreamPort.open(options, owner);
  }
}
