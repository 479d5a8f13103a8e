import { once } from 'node:events';
import type { Server as ServerOfHttp } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { errorText } from '@kube-dns/base';
import type { HttpServer } from './http-server.js';
import { type ListenAddress, listenTcp } from './listen-tcp.js';
import type { Log } from './log.js';

export interface LateHttpServerOptions extends ListenAddress {
  readonly log: Log;
  /** Loads and creates the server, which does not listen yet. */
  readonly load: () => Promise<{ server: ServerOfHttp; close: () => Promise<void> }>;
}

/** Connections that wait while the server is loaded; further ones are closed. */
const MAX_WAITING = 64;

/**
 * An HTTP server that is loaded at its first connection: Node's HTTP and express need some 20 MiB, and a port that only
 * somebody with a question asks shall not cost them. Rejects with a StartupError when it cannot listen.
 */
export async function startLateHttpServer(options: LateHttpServerOptions): Promise<HttpServer> {
  const { log, load, purpose } = options;
  const early = createServer({ pauseOnConnect: true });
  const waiting: Socket[] = [];
  let late: ReturnType<typeof load> | undefined;
  let isClosed = false;

  const take = async () => {
    try {
      const { server, close } = await (late = load());
      if (isClosed) {
        await close();
        return;
      }
      // From now on the server accepts on the same socket, with its limits.
      server.listen(early);
      await once(server, 'listening');
      for (const socket of waiting.splice(0)) {
        server.emit('connection', socket);
        socket.resume();
      }
    } catch (error) {
      late = undefined;
      log.error(`${purpose}: ${errorText(error)}`);
      for (const socket of waiting.splice(0)) socket.destroy();
    }
  };
  early.on('connection', (socket: Socket) => {
    socket.on('error', () => socket.destroy());
    if (isClosed || waiting.length >= MAX_WAITING) socket.destroy();
    else if (waiting.push(socket) === 1 && late === undefined) void take();
  });
  const port = await listenTcp(early, options);
  early.on('error', (error) => log.error(`${purpose}: ${error.message}`));
  return {
    port,
    close: async () => {
      isClosed = true;
      for (const socket of waiting.splice(0)) socket.destroy();
      await (await late?.catch(() => undefined))?.close();
      if (early.listening) early.close();
    },
  };
}
