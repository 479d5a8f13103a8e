import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { encodeQuestionFile } from '../queries.js';
import { SingleQuestions } from './single-questions.js';

const NXDOMAIN = 3;
const QUESTIONS = encodeQuestionFile([{ name: 'host.example', type: 'A' }]);

let server: Server;
let connections: number;
let onData: (socket: Socket, query: Buffer) => void;

beforeEach(async () => {
  connections = 0;
  server = createServer((socket) => {
    connections++;
    socket.on('data', (query) => onData(socket, query));
    socket.on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => void server.close());

const load = () => ({
  port: (server.address() as AddressInfo).port,
  seconds: 0.1,
  connections: 3,
  questions: QUESTIONS,
  rcodes: [0],
});

describe('questions with a connection each', () => {
  it('are counted and timed', async () => {
    onData = (socket, query) => void socket.write(query);
    const { sent, answered, wrong, answers } = await new SingleQuestions().run(load());
    expect([sent, answered, wrong]).toEqual([connections, connections, 0]);
    expect(connections).toBeGreaterThanOrEqual(3);
    expect(answers.count).toBe(connections);
    expect(answers.p50Ms).toBeGreaterThan(0);
  });

  it('are wrong with another rcode', async () => {
    onData = (socket, query) => {
      query[5]! |= NXDOMAIN;
      socket.write(query);
    };
    const { answered, wrong } = await new SingleQuestions().run(load());
    expect(answered).toBeGreaterThanOrEqual(3);
    expect(wrong).toBe(answered);
  });

  it('have no answer where the connection is closed', async () => {
    onData = (socket) => socket.destroy();
    const { sent, answered, answers } = await new SingleQuestions().run(load());
    expect(sent).toBeGreaterThanOrEqual(3);
    expect(answered).toBe(0);
    expect(answers.p50Ms).toBe(1_000);
  });
});
