import { getSystemErrorName } from 'node:util';
import * as linux from './constants.js';
import type { Libc } from './libc.js';

/** Whether the system takes several datagrams as one message (UDP_SEGMENT), and gives several as one (UDP_GRO). */
export class Offload {
  readonly canJoin: boolean;
  readonly canMerge: boolean;
  /** What is missing and why, for the log; undefined when nothing is. */
  readonly lack: string | undefined;

  constructor(libc: Libc) {
    const fd = libc.socket(linux.AF_INET, linux.SOCK_DGRAM | linux.SOCK_CLOEXEC, 0);
    const lacks: string[] = [];
    const has = (name: string, option: number, value: number): boolean => {
      if (libc.setsockopt(fd, linux.SOL_UDP, option, Int32Array.of(value), 4) === 0) return true;
      lacks.push(`${name}: ${getSystemErrorName(-libc.errno())}`);
      return false;
    };
    this.canJoin = has('UDP_SEGMENT', linux.UDP_SEGMENT, 0);
    this.canMerge = has('UDP_GRO', linux.UDP_GRO, 1);
    if (fd >= 0) libc.close(fd);
    this.lack = lacks.length === 0 ? undefined : `without ${lacks.join(', ')}`;
  }
}
