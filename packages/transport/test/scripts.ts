import type { Script } from '@kube-dns/testkit';
import { FLAG, readUint16, writeUint16 } from '@kube-dns/wire';
import { replyTo } from './messages.js';
import { readQuery, responseWith } from './questions.js';

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
export const referring: Script = ({ query }) => {
  const authorities = [{ owner: '.', type: 'NS', data: 'ns.example' }] as const;
  const reply = responseWith(readQuery(query), {}, authorities);
  writeUint16(reply, 2, readUint16(reply, 2) & ~FLAG.RA);
  return [reply];
};
/** A reply that ends in the middle of a record. */
export const cutting: Script = ({ query }) => [
  replyTo(query, { addresses: ['10.0.0.9'] }).subarray(0, -1),
];
/** Closes the connection of a query over TCP. */
export const hangingUp: Script = ({ socket }) => {
  socket?.destroy();
  return null;
};

/** A script whose answers wait for `release`. */
export function held(address: string): { script: Script; release: () => void } {
  const releases: (() => void)[] = [];
  return {
    script: async (request) => {
      await new Promise<void>((resolve) => releases.push(resolve));
      return says(address)(request);
    },
    release: () => {
      for (const release of releases.splice(0)) release();
    },
  };
}
