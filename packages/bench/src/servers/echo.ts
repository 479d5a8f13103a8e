import { chooseUdpEngine, ListenerCounters } from '@kube-dns/transport';

/** The methods of a echo in its own process. */
export interface EchoMethods {
  /** Serves on a free port of 127.0.0.1. */
  start(): Promise<{ readonly port: number; readonly engine: string }>;
}

const QR = 0x80;

/**
 * Sends every query back as its own answer, with the best engine there is: what the system and the load
 * generator allow to a server that does nothing.
 */
export class Echo implements EchoMethods {
  async start(): Promise<{ readonly port: number; readonly engine: string }> {
    const { engine } = await chooseUdpEngine('auto');
    const socket = engine.createSocket(new ListenerCounters());
    await socket.open('127.0.0.1', 0, (bytes, length, peer) => {
      if (length < 3) return;
      bytes[2]! |= QR;
      socket.send(bytes, length, peer);
    });
    return { port: socket.port, engine: engine.name };
  }
}
