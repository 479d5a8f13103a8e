import { parseAddress } from '@kube-dns/wire';
import type { AddressedClient } from '../src/answerer.js';

/** A client at this address, whose queries are answered at once. */
export function clientAt(text: string): AddressedClient {
  const bytes = parseAddress(text)!;
  return {
    address: text,
    port: 40_000,
    copyAddress: (to, at) => {
      to.set(bytes, at);
      return bytes.length;
    },
    answersFrom: () => undefined,
    defer: () => {
      throw new Error('nothing is deferred here');
    },
  };
}
