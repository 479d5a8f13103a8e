import { INSTANCE_BYTES, isOfInstance, ROOT_NAME, suffixOffset } from '@kube-dns/wire';
import { type Teller, ToldChanges, WITH_TTL } from '../cache/announced-changes.js';

/** A process behind the address of a server, which tells what changes in the server's zones. */
export class ServerInstance implements Teller {
  readonly number: number;
  readonly changes = new ToldChanges();
  /** For its answers that are of others: they may change with its zone, and have their TTL. */
  readonly relayed: Teller;
  isLive = false;
  /** What it told last: the apex of its zone, and which process it is. */
  apex: Uint8Array = ROOT_NAME;
  #id: Uint8Array = new Uint8Array(INSTANCE_BYTES);
  readonly #zones: readonly Uint8Array[];

  /** `number` is that of its subscription; it serves these zones. */
  constructor(number: number, zones: readonly Uint8Array[]) {
    this.number = number;
    this.#zones = zones;
    const { changes } = this;
    const apexOf = () => this.apex;
    this.relayed = {
      number: number + WITH_TTL,
      changes,
      get apex() {
        return apexOf();
      },
    };
  }

  /** Which process it is now. */
  become(id: Uint8Array, apex: Uint8Array): void {
    this.#id = id;
    this.apex = apex;
  }

  /** Whether it is the process whose instance is at an offset. */
  is(bytes: Uint8Array, at: number): boolean {
    return isOfInstance(bytes, at, this.#id);
  }

  /** Whether a name (lower-cased, in wire form) is in one of its zones. */
  has(name: Uint8Array, length: number): boolean {
    for (const zone of this.#zones) if (suffixOffset(name, length, zone) >= 0) return true;
    return false;
  }
}
