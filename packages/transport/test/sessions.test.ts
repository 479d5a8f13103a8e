import { afterEach, describe, expect, it } from '@jest/globals';
import { freePort, ownedBy, TcpClient, UdpClient, until } from '@kube-dns/testkit';
import { DSO_TYPE, writeDso } from '@kube-dns/wire';
import { ServerCookies } from '../src/server-cookies.js';
import { ListenerCounters } from '../src/counters.js';
import { frameMessage } from '../src/frame-reader.js';
import { listen } from '../src/listener.js';
import { MessageHandler } from '../src/message-handler.js';
import type { Session, SessionService } from '../src/answerer.js';
import { TcpConnection, TcpShares } from '../src/tcp-listener.js';
import { ENGINES } from './engines.js';
import { idOf, oneAddress, question } from './tcp-listening.js';

const opened = ownedBy(afterEach);
const DSO = Buffer.from(
  writeDso({
    id: 9,
    isResponse: false,
    rcode: 0,
    tlvs: [{ type: DSO_TYPE.KEEPALIVE, data: new Uint8Array(8) }],
  }),
);
const NOTIMP = 4;

describe.each(ENGINES)('with the engine %s', (_name, engine) => {
  async function start(receive?: SessionService['receive'], limit = 0, maxAgeMs = 0) {
    const failures: unknown[] = [];
    const listener = opened(
      await listen({
        answerer: { answer: oneAddress },
        address: '127.0.0.1',
        port: 0,
        tcp: { idleTimeoutMs: 60_000, maxConnections: 2, maxAgeMs },
        onFailure: (error) => void failures.push(error),
        engine,
        ...(receive && { sessions: { receive, limit } }),
      }),
    );
    const connect = async () => opened(await TcpClient.connect(listener.port));
    return { listener, connect, failures };
  }

  /** One of a client that reads nothing. */
  async function deafSession() {
    const handler = new MessageHandler({
      answerer: { answer: oneAddress },
      counters: new ListenerCounters(),
      maxUdpBytes: 1_232,
      cookies: new ServerCookies(),
      onFailure: () => undefined,
    });
    const shares = new TcpShares();
    const events = {
      stayed: 0,
      closed: 0,
      onTooMuch: () => undefined,
      onUsed: () => undefined,
      onStay: () => (events.stayed += 1),
      onClosed: () => (events.closed += 1),
    };
    const accepted: TcpConnection[] = [];
    const server = opened(
      engine.createTcpServer({
        accept: (socket) => accepted.push(new TcpConnection(socket, handler, shares, events)),
        onAcceptFailure: () => undefined,
        onTurn: () => undefined,
        needsLoop: () => true,
      }),
    );
    const port = await freePort();
    await server.open('127.0.0.1', port, false);
    opened(await TcpClient.connectDeaf(port));
    await until('a connection', () => accepted.length === 1);
    const connection = accepted[0]!;
    opened({
      close: () => {
        connection.close();
        return Promise.resolve();
      },
    });
    return { connection, shares, events };
  }

  describe('a session over TCP', () => {
    it('gets its messages beside queries, and sends its own', async () => {
      const sessions: Session[] = [];
      const { connect } = await start((_, session) => void sessions.push(session));
      const client = await connect();
      client.send(DSO, question(3));
      expect(idOf(await client.inbox.next())).toBe(3);
      sessions[0]!.push(question(4));
      expect(idOf(await client.inbox.next())).toBe(4);
      client.send(DSO);
      await until('the second message', () => sessions.length === 2);
      expect(sessions[1]).toBe(sessions[0]);
      expect(client.hasEnded).toBe(false);
    });

    it('that stays has no limit of idle time any more, and is never the one to give way', async () => {
      const { connection, events } = await deafSession();
      expect(connection.isBusy()).toBe(false);
      connection.stay();
      connection.stay();
      expect([connection.isBusy(), events.stayed]).toEqual([true, 1]);
      connection.close();
    });

    it('that stays takes no place of those who ask, and is ended with them', async () => {
      const { listener, connect } = await start((_, session) => session.stay());
      const sessions: TcpClient[] = [];
      for (let i = 0; i < 3; i++) {
        const session = await connect();
        sessions.push(session);
        session.send(DSO);
        expect(idOf(await session.ask(question(7)))).toBe(7);
      }
      expect(listener.counters).toMatchObject({ tcpOpen: 0, tcpRefused: 0 });
      const [first, second] = [await connect(), await connect()];
      expect(idOf(await first.ask(question(1)))).toBe(1);
      expect(idOf(await second.ask(question(2)))).toBe(2);
      // Two that ask are as many as there may be.
      const third = await connect();
      await first.closed;
      expect(idOf(await third.ask(question(3)))).toBe(3);
      await until('only those who ask are counted', () => listener.counters.tcpOpen === 2);
      expect(sessions.map(({ hasEnded }) => hasEnded)).toEqual([false, false, false]);
      await listener.close();
      await Promise.all(sessions.map(({ closed }) => closed));
      expect(listener.counters.tcpOpen).toBe(0);
    });

    it('that stays has no greatest age', async () => {
      const { connect, listener } = await start((_, session) => session.stay(), 1, 40);
      const session = await connect();
      session.send(DSO);
      expect(idOf(await session.ask(question(7)))).toBe(7);
      const { tcpAgeClosed } = listener.counters;
      await (
        await connect()
      ).closed;
      expect(listener.counters.tcpAgeClosed).toBe(tcpAgeClosed + 1);
      expect(idOf(await session.ask(question(8)))).toBe(8);
    });

    it('is accepted with many others before one of them is read, up to the sessions that there may be', async () => {
      const { listener, connect } = await start((_, session) => session.stay(), 3);
      // Two that ask, and three sessions.
      const clients: TcpClient[] = [];
      for (let i = 0; i < 5; i++) clients.push(await connect());
      await until('all are accepted', () => listener.counters.tcpConnections === 5);
      expect(listener.counters.tcpRefused).toBe(0);
      clients.push(await connect());
      await clients[0]!.closed;
      expect(listener.counters.tcpRefused).toBe(1);
      for (const client of clients.slice(1, 4)) {
        client.send(DSO);
        expect(idOf(await client.ask(question(1)))).toBe(1);
      }
      expect(listener.counters.tcpOpen).toBe(2);
      // Now there are as many as there may be.
      await connect();
      await clients[4]!.closed;
      expect(clients.slice(1, 4).map(({ hasEnded }) => hasEnded)).toEqual([false, false, false]);
    });

    it('may leave more unread than others where there are many connections: what it missed is much', async () => {
      const { connection, shares, events } = await deafSession();
      shares.connections = 5_000;
      connection.stay();
      const frames = Buffer.alloc(8_000);
      while (connection.unsentBytes === 0) connection.pushFrames(frames);
      // More than four times what each of so many may leave unread.
      for (let i = 0; i < 20; i++) connection.push(frames);
      expect([connection.isClosed, connection.unsentBytes > 150_000]).toEqual([false, true]);
      for (let i = 0; i < 20; i++) connection.push(frames);
      expect(connection.isClosed).toBe(true);
      await until('its end is reported', () => events.closed === 1);
    });

    it('sends frames as they are: the same bytes to many', async () => {
      const sessions: Session[] = [];
      const { connect } = await start((_, session) => void sessions.push(session));
      const clients = [await connect(), await connect()];
      for (const client of clients) client.send(DSO);
      await until('two sessions', () => sessions.length === 2);
      const frames = Buffer.concat([frameMessage(question(4)), frameMessage(question(5))]);
      for (const session of sessions) session.pushFrames(frames);
      for (const { inbox } of clients) expect((await inbox.take(2)).map(idOf)).toEqual([4, 5]);
    });

    it('is not charged for bytes that it shares with others, but for its own', async () => {
      const { connection, shares } = await deafSession();
      const frames = Buffer.alloc(1_000_000);
      for (let i = 0; i < 100 && connection.unsentBytes === 0; i++) connection.pushFrames(frames);
      expect(connection.unsentBytes).toBeGreaterThan(0);
      expect(shares.heldBytes).toBe(0);
      connection.push(question(1));
      expect(shares.heldBytes).toBe(2 + question(1).length);
      connection.close();
      await until('it holds nothing', () => shares.heldBytes === 0);
    });

    it('is told when its client has gone, and sends nothing then', async () => {
      let isClosed = false;
      let session: Session | undefined;
      const { connect } = await start((_, own) => {
        session = own;
        own.onClose(() => (isClosed = true));
      });
      const client = await connect();
      client.send(DSO);
      await until('a session', () => session !== undefined);
      client.socket.destroy();
      await until('closed', () => isClosed);
      session!.push(question(1));
    });

    it('ends alone when its service fails', async () => {
      const { connect, failures } = await start(() => {
        throw new Error('defect');
      });
      const [client, other] = [await connect(), await connect()];
      client.send(DSO);
      await client.closed;
      expect(failures).toHaveLength(1);
      expect(idOf(await other.ask(question(2)))).toBe(2);
    });

    it('is not served over UDP, or where there is no service', async () => {
      const withService = await start(() => undefined);
      const udp = opened(await UdpClient.connect(withService.listener.port));
      expect((await udp.ask(DSO))[3]! & 0xf).toBe(NOTIMP);
      const { connect } = await start();
      expect((await (await connect()).ask(DSO))[3]! & 0xf).toBe(NOTIMP);
    });
  });
});
