import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Balancer } from './balancer.js';

const HOST = '127.0.0.1';
const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

function owned<T extends { close(): unknown }>(one: T): T {
  open.push(one);
  return one;
}

/** A server that answers with its own name; `holds` delays the answers. */
async function server(name: string, held?: (() => void)[]): Promise<number> {
  const socket = owned(createSocket('udp4'));
  socket.on('message', (_, { port, address }) => {
    const answer = () => socket.send(name, port, address);
    if (held) held.push(answer);
    else answer();
  });
  socket.bind(0, HOST);
  await once(socket, 'listening');
  return socket.address().port;
}

async function client(): Promise<Socket> {
  const socket = owned(createSocket('udp4'));
  socket.bind(0, HOST);
  await once(socket, 'listening');
  return socket;
}

async function ask(socket: Socket, port: number): Promise<string> {
  const answer = once(socket, 'message') as Promise<[Buffer]>;
  socket.send('?', port, HOST);
  const [message] = await answer;
  return message.toString();
}

async function startBalancer() {
  const balancer = owned(new Balancer());
  return { balancer, port: await balancer.start() };
}

describe('the balancer', () => {
  it('assigns a flow to one endpoint, also after another one is added', async () => {
    const { balancer, port } = await startBalancer();
    const first = await server('first');
    balancer.setEndpoints([first]);
    const asker = await client();
    expect(await ask(asker, port)).toBe('first');
    balancer.setEndpoints([first, await server('second')]);
    for (let i = 0; i < 20; i++) expect(await ask(asker, port)).toBe('first');
    expect(balancer.figures()).toMatchObject({ flows: 1, cutFlows: 0, datagrams: 21 });
  });

  it('spreads new flows over all endpoints', async () => {
    const { balancer, port } = await startBalancer();
    balancer.setEndpoints([await server('first'), await server('second')]);
    const seen = new Set<string>();
    for (let i = 0; i < 64 && seen.size < 2; i++) seen.add(await ask(await client(), port));
    expect([...seen].sort()).toEqual(['first', 'second']);
  });

  it('deletes the flows of a removed endpoint, and what is in flight in them', async () => {
    const { balancer, port } = await startBalancer();
    const held: (() => void)[] = [];
    balancer.setEndpoints([await server('first', held)]);
    const asker = await client();
    const answers: string[] = [];
    asker.on('message', (message) => answers.push(message.toString()));
    asker.send('?', port, HOST);
    while (held.length === 0) await new Promise(setImmediate);
    balancer.setEndpoints([await server('second')]);
    for (const answer of held) answer();
    expect(await ask(asker, port)).toBe('second');
    expect(answers).toEqual(['second']);
    expect(balancer.figures().cutFlows).toBe(1);
  });

  it('forwards connections, and the end of either side', async () => {
    const { balancer, port } = await startBalancer();
    const pod = owned(createServer({ allowHalfOpen: true }, (socket) => void socket.pipe(socket)));
    pod.listen(0, HOST);
    await once(pod, 'listening');
    balancer.setEndpoints([(pod.address() as { port: number }).port]);
    const socket = connect(port, HOST);
    socket.end('hello');
    const parts: Buffer[] = [];
    for await (const part of socket) parts.push(part as Buffer);
    expect(Buffer.concat(parts).toString()).toBe('hello');
    expect(balancer.figures().connections).toBe(1);
  });

  it('refuses connections while there is no endpoint', async () => {
    const { port } = await startBalancer();
    const socket = connect(port, HOST);
    socket.on('error', () => undefined);
    await once(socket, 'close');
    expect(socket.bytesRead).toBe(0);
  });
});
