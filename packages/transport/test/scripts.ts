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
