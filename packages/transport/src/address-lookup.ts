import type { SocketOptions } from 'node:dgram';

/**
 * The `lookup` of sockets that get IP addresses only. It calls back immediately: the system's lookup
 * would delay every bind, connect and send to the next tick, with a closure each.
 */
export const noLookup: NonNullable<SocketOptions['lookup']> = (address, options, callback) => {
  // node:dgram passes the family as a plain number.
  callback(null, address, options as unknown as number);
};
