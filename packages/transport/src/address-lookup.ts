import type { SocketOptions } from 'node:dgram';

/**
 * The `lookup` of sockets that are only ever given IP addresses. It answers at once: the system's one
 * would put every bind, connect and send off to the next tick, with a closure each.
 */
export const noLookup: NonNullable<SocketOptions['lookup']> = (address, options, callback) => {
  // node:dgram passes the family as a plain number.
  callback(null, address, options as unknown as number);
};
