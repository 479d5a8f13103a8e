import { parseAddress } from '@kube-dns/wire';
import type { Interfaces } from '../listen/listen-addresses.js';

/** A network of this machine, IPv4. */
interface Network {
  readonly address: Uint8Array;
  readonly mask: Uint8Array;
}

const IPV4_BYTES = 4;

/**
 * Which addresses are in a client's own network, among those that this machine is in
 * (`--localise-queries`).
 */
export class NearAddresses {
  readonly #networks: readonly Network[];
  #network: Network | undefined;
  readonly isNear = (address: Uint8Array): boolean =>
    this.#network !== undefined && isIn(this.#network, address);

  constructor(interfaces: Interfaces) {
    this.#networks = Object.values(interfaces).flatMap((addresses) =>
      (addresses ?? []).flatMap(({ family, address, netmask }) => {
        const [bytes, mask] = [parseAddress(address), parseAddress(netmask)];
        const isWhole = family === 'IPv4' && bytes !== undefined && mask !== undefined;
        return isWhole ? [{ address: bytes, mask }] : [];
      }),
    );
  }

  /** Makes `isNear` compare with the network of this client, if it is in one of ours. */
  lookFrom(client: Uint8Array): void {
    this.#network = this.#networks.find((network) => isIn(network, client));
  }
}

function isIn({ address, mask }: Network, candidate: Uint8Array): boolean {
  if (candidate.length !== IPV4_BYTES) return false;
  return address.every((byte, i) => ((byte ^ candidate[i]!) & mask[i]!) === 0);
}
