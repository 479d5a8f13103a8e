import { createSocket } from 'node:dgram';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { StartupError } from '@kube-dns/daemon';
import { encodeQuery, until } from '@kube-dns/testkit';
import { type Answerer, listen } from '@kube-dns/transport';
import { AnswerWriter } from '@kube-dns/wire';
import { type RecordedLog, recordedLog } from '../../test/recorded-log.js';
import { DynamicListeners } from './listeners.js';

const writer = new AnswerWriter();
const ANSWERER: Answerer = {
  answer: (query, out) => {
    writer.begin(query, out);
    return writer.finish();
  },
};
/** An address that is on no machine (RFC 5737). */
const ABSENT = '192.0.2.250';

let there: string[];
let log: RecordedLog;
let listeners: DynamicListeners | undefined;

beforeEach(() => {
  there = [];
  log = recordedLog();
});

afterEach(() => listeners?.close());

async function start(port = 0): Promise<DynamicListeners> {
  listeners = await DynamicListeners.start({
    addresses: () => there,
    port,
    open: (address, samePort) =>
      listen({ answerer: ANSWERER, address, port: samePort, onFailure: () => undefined }),
    log,
    periodMs: 10,
  });
  return listeners;
}

/** Whether an address answers; if not, its port is refused. */
const isServed = (address: string) =>
  new Promise<boolean>((resolve) => {
    const socket = createSocket('udp4');
    const end = (isAnswered: boolean) => {
      socket.close();
      resolve(isAnswered);
    };
    socket.once('message', () => end(true)).once('error', () => end(false));
    socket.connect(listeners!.port, address, () => socket.send(encodeQuery({ name: 'x' })));
  });

describe('--bind-dynamic', () => {
  it('serves an added address on the same port, and stops serving a removed one', async () => {
    there = ['127.0.0.2'];
    await start();
    await until(() => isServed('127.0.0.2'));
    expect(await isServed('127.0.0.3')).toBe(false);
    there = ['127.0.0.3'];
    await until(() => isServed('127.0.0.3'));
    expect(await isServed('127.0.0.2')).toBe(false);
    expect(log.messages).toEqual(['stopped listening on 127.0.0.2', 'listening on 127.0.0.3']);
  });

  it('waits for a missing address, and logs it once', async () => {
    there = [ABSENT, '127.0.0.2'];
    await start();
    await until(() => isServed('127.0.0.2'));
    there = [ABSENT, '127.0.0.2', '127.0.0.3'];
    await until(() => isServed('127.0.0.3'));
    expect(log.messages.filter((message) => message.includes(ABSENT))).toHaveLength(1);
  });

  it('starts without any address', async () => {
    await start();
    expect([listeners!.port, listeners!.listeners]).toEqual([0, []]);
    there = ['127.0.0.2'];
    await until(() => listeners!.port > 0);
    await until(() => isServed('127.0.0.2'));
  });

  it('does not start on a port that another program uses, and leaves nothing open', async () => {
    there = ['127.0.0.3'];
    const { port } = await start();
    const first = listeners!;
    there = ['127.0.0.2', '127.0.0.3'];
    await expect(start(port)).rejects.toThrow(
      new StartupError(`cannot listen on 127.0.0.3:${port} over UDP: address already in use`, 2),
    );
    await first.close();
    there = ['127.0.0.2'];
    await start(port);
    await until(() => isServed('127.0.0.2'));
  });

  it('continues when the addresses cannot be read for a while', async () => {
    there = ['127.0.0.2'];
    let isBroken = true;
    listeners = await DynamicListeners.start({
      addresses: () => {
        if (there.length > 1 && isBroken) throw new Error('no memory');
        return there;
      },
      port: 0,
      open: (address, port) =>
        listen({ answerer: ANSWERER, address, port, onFailure: () => undefined }),
      log,
      periodMs: 10,
    });
    there = ['127.0.0.2', '127.0.0.3'];
    await until(() => log.messages.includes('--bind-dynamic: no memory'));
    isBroken = false;
    await until(() => isServed('127.0.0.3'));
  });

  it('may be closed twice', async () => {
    there = ['127.0.0.2'];
    await start();
    await listeners!.close();
    await listeners!.close();
    expect(await isServed('127.0.0.2')).toBe(false);
  });
});
