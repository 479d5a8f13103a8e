import type { EventEmitter } from 'node:events';

/** Each of a TLS 1.2 handshake has ECDHE and authenticated encryption (RFC 9325 section 4.2). */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE+AESGCM',
  'ECDHE+CHACHA20',
] as const;
/** SSL_OP_NO_RENEGOTIATION of OpenSSL; the constants of node:crypto are not loaded for it. */
const NO_RENEGOTIATION = 0x4000_0000;

/**
 * How every program speaks TLS to a server. Without DHE: a server, or who stands on the way to it, chooses the group, and one
 * of 10,000 bits takes a second of CPU before the certificate is looked at. Without renegotiation: each would be
 * another handshake. See SECURITY.md, "TLS handshakes".
 */
export const TLS_CLIENT = {
  minVersion: 'TLSv1.2',
  ciphers: CIPHERS.join(':'),
  secureOptions: NO_RENEGOTIATION,
} as const;

/** Milliseconds of CPU that this thread has used: what a handshake has cost is what it has used since. */
export function threadCpuMs(): number {
  // Node 22 has no such function: there, other threads are counted, too.
  const thread: Partial<Pick<NodeJS.Process, 'threadCpuUsage'>> = process;
  const { user, system } = thread.threadCpuUsage?.() ?? process.cpuUsage();
  return (user + system) / 1_000;
}

/** Most servers send two; each costs some 20 µs, and an endless row of them fits into one turn of the event loop. */
const MAX_TICKETS = 16;

/** Calls `onExcess`, once, when a server sends more session tickets than any would. */
export function watchTickets(socket: EventEmitter, onExcess: () => void): void {
  let tickets = 0;
  socket.on('session', () => {
    if (++tickets === MAX_TICKETS + 1) onExcess();
  });
}
