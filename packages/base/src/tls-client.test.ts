import { EventEmitter } from 'node:events';
import { createSecureContext } from 'node:tls';
import { expect, it } from '@jest/globals';
import { TLS_CLIENT, watchTickets } from './tls-client.js';

it('attack 21: more than 16 session tickets are noticed, once', () => {
  const socket = new EventEmitter();
  let excesses = 0;
  watchTickets(socket, () => excesses++);
  for (let i = 0; i < 16; i++) socket.emit('session');
  expect(excesses).toBe(0);
  for (let i = 0; i < 100; i++) socket.emit('session');
  expect(excesses).toBe(1);
});

it('finding 1: no cipher towards a server has DHE, and OpenSSL knows them all', () => {
  createSecureContext(TLS_CLIENT);
  expect(TLS_CLIENT.ciphers).not.toMatch(/(?<!EC)DHE/);
});
