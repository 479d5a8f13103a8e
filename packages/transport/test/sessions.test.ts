import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ownedBy, TcpClient, UdpClient, until } from '@kube-dns/testkit';
import { DSO_TYPE, writeDso } from '@kube-dns/wire';
import { ServerCookies } from '../src/server-cookies.js';
import { ListenerCounters } from '../src/counters.js';
import { listen } from '../src/listener.js';
import { MessageHandler } from '../src/message-handler.js';
import type { Session, SessionService } from '../src/answerer.js';
import { TcpConnection, TcpShares } from '../src/tcp-listener.js';
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
async function start(receive?: SessionService['receive']) {
  const failures: unknown[] = [];
  const listener = opened(
    await listen({
      answerer: { answer: oneAddress },
      address: '127.0.0.1',
      port: 0,
      tcp: { idleTimeoutMs: 60_000, maxConnections: 2 },
      onFailure: (error) => void failures.push(error),
      ...(receive && { sessions: { receive } }),
    }),
  );
  const connect = async () => opened(await TcpClient.connect(listener.port));
  return { listener, connect, failures };
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
    const server = opened(createServer().listen(0, '127.0.0.1'));
    await once(server, 'listening');
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    opened(await TcpClient.connect((server.address() as AddressInfo).port));
    const [socket] = await accepted;
    socket.setTimeout(60_000);
    const handler = new MessageHandler({
      answerer: { answer: oneAddress },
      counters: new ListenerCounters(),
      maxUdpBytes: 1_232,
      cookies: new ServerCookies(),
      onFailure: () => undefined,
    });
    const connection = new TcpConnection(socket, handler, new TcpShares(), () => undefined);
    expect([connection.isBusy(), socket.timeout]).toEqual([false, 60_000]);
    connection.stay();
    expect([connection.isBusy(), socket.timeout]).toEqual([true, 0]);
    connection.close();
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
