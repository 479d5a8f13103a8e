import type { Script } from '@kube-dns/testkit';
import { FLAG } from '@kube-dns/wire';
import { replyTo } from './messages.js';

export const says =
  (address: string): Script =>
  ({ query }) => [replyTo(query, { addresses: [address] })];
export const fails =
  (rcode: number): Script =>
  ({ query }) => [replyTo(query, { rcode })];
export const silent: Script = () => null;
export const truncated: Script = ({ query }) => [replyTo(query, { flags: FLAG.TC })];
/** Truncated over UDP; over TCP as the other script does. */
export const truncating =
  (overTcp: Script): Script =>
  (request) =>
    request.protocol === 'tcp' ? overTcp(request) : truncated(request);
/** A referral by a server without recursion. */
export const referring: Script = () => ({
  isRecursionAvailable: false,
  authorities: [{ name: '.', type: 'NS', ttl: 60, data: 'ns.example' }],
});
/** A reply that ends in the middle of a record. */
export const cutting: Script = ({ query }) => [
  replyTo(query, { addresses: ['10.0.0.9'] }).subarray(0, -1),
];
/** Closes the connection of a query over TCP. */
export const hangingUp: Script = ({ socket }) => {
  socket?.destroy();
  return null;
};
