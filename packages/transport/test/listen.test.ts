import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { freePort, ownedBy } from '@kube-dns/testkit';
import { ListenError } from '../src/errors.js';
import { listen } from '../src/listener.js';
import { ENGINES } from './engines.js';

const opened = ownedBy(afterEach);

describe.each(ENGINES)('a port that a listener with the engine %s has', (_, engine) => {
  const start = async (port = 0, address = '127.0.0.1') => {
    const answerer = { answer: () => 0 };
    const options = { answerer, address, port, onFailure: () => undefined, engine };
    return opened(await listen(options));
  };

  it('can be closed twice, and the port is free then', async () => {
    const listener = await start();
    await Promise.all([listener.close(), listener.close()]);
    await listener.close();
    const again = await start(listener.port);
    expect(again.port).toBe(listener.port);
  });

  it('says that it is in use for UDP', async () => {
    const socket = opened(createSocket('udp4'));
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const { port } = socket.address();
    const failed = start(port);
    await expect(failed).rejects.toThrow(ListenError);
    await expect(failed).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port} over UDP: address already in use`,
    );
  });

  it('says that it is in use for TCP, and lets go of UDP', async () => {
    const server = opened(createServer());
    // A port of the system's choice may be another program's for UDP.
    const port = await freePort();
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    await expect(start(port)).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port} over TCP: address already in use`,
    );
    const socket = opened(createSocket('udp4'));
    socket.bind(port, '127.0.0.1');
    await once(socket, 'listening');
  });

  it('says that the address is not of this machine', async () => {
    await expect(start(0, '192.0.2.1')).rejects.toMatchObject({
      code: 'listen-failed',
      message: 'cannot listen on 192.0.2.1:0 over UDP: address not available',
    });
  });
});
