import * as http from 'node:http';
import type { RunningProcess } from '../host.js';
import {
  Listener,
  listenArguments,
  type NetModule,
  SimulatedServer,
  type SimulatedSocket,
} from './net.js';

type RequestArguments = [url: string | URL, options?: object, onResponse?: () => void];

/** Longer than a simulation takes in real time: Node's check of slow requests never runs. */
const NEVER_MS = 2 ** 31 - 1;

/** `node:http` of a machine: Node's own parser, agents and messages, over simulated sockets. */
export function httpModule(
  process: RunningProcess,
  net: NetModule,
  SimulatedDate: DateConstructor,
): object {
  class Agent extends http.Agent {
    // Node's own has more parameters, which sockets of a machine do not need.
    override createConnection(options: object) {
      return net.connect(options) as never;
    }
  }
  const globalAgent = new Agent({ keepAlive: true, timeout: 5_000 });

  const request = (...args: RequestArguments) => {
    const [first, second, third] = args;
    const isUrl = typeof first === 'string' || first instanceof URL;
    const options = (isUrl ? (typeof second === 'object' ? second : {}) : first) as http.RequestOptions; // prettier-ignore
    const onResponse = [second, third].find((arg) => typeof arg === 'function');
    const agent = options.agent === false ? new Agent() : (options.agent ?? globalAgent);
    const withAgent = { ...options, agent };
    return isUrl
      ? http.request(first, withAgent, onResponse as never)
      : http.request(withAgent, onResponse as never);
  };

  const createServer = (...args: unknown[]) => {
    const options = args.find((arg) => typeof arg === 'object') ?? {};
    const onRequest = args.find((arg) => typeof arg === 'function') as
      http.RequestListener | undefined;
    const server = http.createServer({ ...options, connectionsCheckingInterval: NEVER_MS });
    server.on('request', (_request, response) => {
      // Node reads the real clock for this header.
      response.sendDate = false;
      response.setHeader('Date', new SimulatedDate().toUTCString());
    });
    if (onRequest !== undefined) server.on('request', onRequest);
    listenSimulated(process, server);
    return server;
  };

  return {
    ...http,
    Agent,
    globalAgent,
    request,
    get: (...args: RequestArguments) => request(...args).end(),
    createServer,
    Server: createServer,
  };
}

/** Gives a server of Node a port of the machine in place of one of the system. */
function listenSimulated(process: RunningProcess, server: http.Server): void {
  let listener: Listener | undefined;
  const sockets = new Set<SimulatedSocket>();
  /** Those with a request that is not answered yet. */
  const busy = new Set<unknown>();
  server.on('request', ({ socket }, response) => {
    busy.add(socket);
    response.once('close', () => busy.delete(socket));
  });
  // Node's own lists of connections are in the order of their addresses in memory.
  const closeConnections = (mayClose: (socket: SimulatedSocket) => boolean) => {
    for (const socket of [...sockets]) if (mayClose(socket)) socket.destroy();
  };
  const emitClose = () => {
    if (listener === undefined && sockets.size === 0)
      process.schedule(0, () => server.emit('close'));
  };
  Object.defineProperty(server, 'listening', { get: () => listener !== undefined });
  Object.assign(server, {
    listen: (...args: unknown[]) => {
      const done = args.at(-1);
      if (typeof done === 'function') server.once('listening', done as () => void);
      const [first] = args;
      const onSocket = (socket: SimulatedSocket) => {
        sockets.add(socket);
        socket.once('close', () => {
          sockets.delete(socket);
          emitClose();
        });
        server.emit('connection', socket);
      };
      try {
        listener = first instanceof SimulatedServer ? first.listener! : new Listener(process, listenArguments(args), onSocket); // prettier-ignore
        listener.onSocket = onSocket;
      } catch (error) {
        process.schedule(0, () => server.emit('error', error));
        return server;
      }
      process.schedule(0, () => server.emit('listening'));
      return server;
    },
    close: (done?: () => void) => {
      if (done !== undefined) server.once('close', done);
      server.closeIdleConnections();
      listener?.close();
      listener = undefined;
      emitClose();
      return server;
    },
    closeAllConnections: () => closeConnections(() => true),
    closeIdleConnections: () => closeConnections((socket) => !busy.has(socket)),
    address: () => listener?.address() ?? null,
    ref: () => server,
    unref: () => server,
  });
}
