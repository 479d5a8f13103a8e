import { closeSync, openSync, readSync, writeSync } from 'node:fs';

/** What happens to packets between two hosts, in both directions. */
export interface WireConditions {
  /** One way. */
  readonly delayMs: number;
  /** A probability from 0 to 1, for each packet. */
  readonly loss: number;
}

/** The methods of a switch in its own process. */
export interface TapSwitchMethods {
  /** Makes a network interface of this process's namespace, whose packets go through the switch; returns its hardware address. */
  plug(host: string): Promise<string>;
  /** Conditions between two hosts; `cut` loses all. */
  setWire(one: string, other: string, conditions: WireConditions): void;
}

/** The part of koffi in use; its own types are `any`. */
interface Koffi {
  load(path: null): { func(prototype: string): (...args: readonly unknown[]) => number };
  readonly node: {
    poll(fd: number, events: { readonly readable: boolean }, onReady: () => void): unknown;
  };
}

/** Not a literal: it may not be installed. */
const KOFFI = 'koffi' as string;
const O_RDWR_NONBLOCK = 0x802;
/** `TUNSETIFF`, `IFF_TAP` and `IFF_NO_PI` of linux/if_tun.h; `struct ifreq` has a name of 16 bytes, then the flags. */
const TUNSETIFF = 0x400454ca;
const TAP_WITHOUT_HEADER = 0x1002;
const IFREQ_BYTES = 40;
const NAME_BYTES = 16;
const MAX_FRAME_BYTES = 65_536;
const HARDWARE_BYTES = 6;

/**
 * A switch between network interfaces of the kernel (TAP). It knows which host has which hardware address; all else, such
 * as a question who has an address, reaches no host. A delay is no shorter than it says.
 */
export class TapSwitch implements TapSwitchMethods {
  readonly #ports = new Map<string, number>();
  readonly #wires = new Map<string, WireConditions>();
  /** Held: what is collected watches no more. */
  readonly #watches: unknown[] = [];
  readonly #frame = Buffer.alloc(MAX_FRAME_BYTES);

  async plug(host: string): Promise<string> {
    const { default: koffi } = (await import(KOFFI)) as { default: Koffi };
    const ioctl = koffi.load(null).func('int ioctl(int, unsigned long, void *)');
    const fd = openSync('/dev/net/tun', O_RDWR_NONBLOCK);
    const request = Buffer.alloc(IFREQ_BYTES);
    request.write(host);
    request.writeUInt16LE(TAP_WITHOUT_HEADER, NAME_BYTES);
    if (ioctl(fd, TUNSETIFF, request) !== 0) {
      closeSync(fd);
      throw new Error(`no interface ${host} can be made`);
    }
    const hardware = `02:00:00:00:00:0${this.#ports.size + 1}`;
    this.#ports.set(hardware, fd);
    const onReady = () => this.#readAll(fd, hardware);
    this.#watches.push(koffi.node.poll(fd, { readable: true }, onReady));
    return hardware;
  }

  setWire(one: string, other: string, conditions: WireConditions): void {
    this.#wires.set(`${one} ${other}`, conditions).set(`${other} ${one}`, conditions);
  }

  #readAll(fd: number, source: string): void {
    for (;;) {
      let length;
      try {
        length = readSync(fd, this.#frame);
      } catch {
        return; // nothing more waits, or the interface is down
      }
      const frame = Buffer.from(this.#frame.subarray(0, length));
      const target = hardwareAt(frame);
      const port = this.#ports.get(target);
      if (port === undefined) continue;
      const { delayMs = 0, loss = 0 } = this.#wires.get(`${source} ${target}`) ?? {};
      if (Math.random() < loss) continue;
      if (delayMs === 0) this.#write(port, frame);
      else setTimeout(() => this.#write(port, frame), delayMs);
    }
  }

  #write(port: number, frame: Buffer): void {
    try {
      writeSync(port, frame);
    } catch {
      // the interface is down
    }
  }
}

function hardwareAt(frame: Buffer): string {
  return Array.from(frame.subarray(0, HARDWARE_BYTES), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join(':');
}
