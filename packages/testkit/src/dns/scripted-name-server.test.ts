import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ownedBy } from '../owned.js';
import { ask, exchange, TcpClient, UdpClient } from './clients.js';
import { addressRecords, encodeQuery, questionOf } from './messages.js';
import { type Script, ScriptedNameServer } from './scripted-name-server.js';

const own = ownedBy(afterEach);

async function serve(script: Script): Promise<ScriptedNameServer> {
  return own(await ScriptedNameServer.start(script));
}

describe('a scripted name server', () => {
  it('answers later, also by a promise of Node itself', async () => {
    const { port } = await serve(() => delay(20, { rcode: 'NXDOMAIN' }));
    expect((await ask(port, 'none.example')).rcode).toBe('NXDOMAIN');
  });

  it.each([false, true])('answers by its script, over TCP: %s', async (isOverTcp) => {
    const { port, requests } = await serve(({ question, protocol }) =>
      Promise.resolve({
        rcode: question.name === 'none.example' ? 'NXDOMAIN' : 'NOERROR',
        answers: addressRecords(protocol === 'tcp' ? 6 : 17, '192.0.2.1'),
      }),
    );
    expect(await ask(port, 'Host.example', { isOverTcp })).toMatchObject({
      rcode: 'NOERROR',
      answers: [{ name: 'Host.example', ttl: isOverTcp ? 6 : 17, data: '192.0.2.1' }],
    });
    expect((await ask(port, 'none.example', { isOverTcp })).rcode).toBe('NXDOMAIN');
    expect(requests.map(({ count, question }) => [count, question.name])).toEqual([
      [0, 'Host.example'],
      [1, 'none.example'],
    ]);
  });

  it('is silent, or sends the bytes of its script', async () => {
    const { port } = await serve(({ count }) => (count === 0 ? null : [Buffer.from('bytes')]));
    const client = own(await UdpClient.connect(port));
    const query = encodeQuery({ name: 'a' });
    client.send(query);
    expect((await client.ask(query)).toString()).toBe('bytes');
  });

  it('takes no notice of a response, which is for a program that had its port before', async () => {
    const server = await serve(() => ({}));
    const client = own(await UdpClient.connect(server.port));
    const late = encodeQuery({ id: 1, name: 'a' });
    late[2]! |= 0x80;
    client.send(late);
    const first = await client.ask(encodeQuery({ id: 2, name: 'a' }));
    expect(first.readUInt16BE(0)).toBe(2);
    expect(server.requests).toHaveLength(1);
  });

  it('announces no changes: a request of DNS Stateful Operations is no query', async () => {
    const server = await serve(() => ({}));
    const request = Buffer.from('123430000000000000000000', 'hex');
    const response = await exchange(server.port, request, { isOverTcp: true });
    expect(response.toString('hex')).toBe('1234b0040000000000000000');
    expect(server.requests).toEqual([]);
  });

  it('reads queries that arrive over TCP in one piece and in many', async () => {
    const { port } = await serve(() => ({}));
    const client = own(await TcpClient.connect(port));
    const queries = ['a', 'b', 'c'].map((name) => encodeQuery({ name }));
    client.send(queries[0]!, queries[1]!);
    const frame = Buffer.concat([Buffer.of(0, queries[2]!.length), queries[2]!]);
    for (const byte of frame) client.socket.write(Buffer.of(byte));
    const names = (await client.inbox.take(3)).map((reply) => questionOf(reply).name);
    expect(names).toEqual(['a', 'b', 'c']);
  });

  it('serves again on its port after it was closed, and sends nothing in between', async () => {
    const first = await serve(() => null);
    const { port } = first;
    const client = own(await TcpClient.connect(port));
    client.send(encodeQuery({ name: 'a' }));
    while (first.requests.length === 0) await new Promise(setImmediate);
    const [request] = first.requests;
    await first.close();
    await client.closed;
    request!.send(encodeQuery({ name: 'late' }));
    own(await ScriptedNameServer.start(() => ({ rcode: 'REFUSED' }), { port }));
    expect((await ask(port, 'b')).rcode).toBe('REFUSED');
  });
});
