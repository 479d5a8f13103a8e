import { lowerCaseByte, MAX_NAME_BYTES } from '@kube-dns/wire';

const DOT = 0x2e;
const MAX_LABEL_BYTES = 63;

/** A name of a hosts file in wire form. One object reads them all, because there may be 100,000. */
export class HostsFileName {
  /** As it is written, and lower-cased; the first `length` bytes count. */
  readonly written = new Uint8Array(MAX_NAME_BYTES);
  readonly key = new Uint8Array(MAX_NAME_BYTES);
  length = 0;

  /**
   * Reads a text of one byte per character, with or without a final dot; false when it is no name of a host.
   * A backslash is an ordinary character in these files.
   */
  read(text: string): boolean {
    const { written, key } = this;
    const end = text.endsWith('.') ? text.length - 1 : text.length;
    // A byte for each character, one more for the first label's length, and one for the root.
    if (end < 1 || end + 2 > MAX_NAME_BYTES) return false;
    let labelAt = 0;
    for (let i = 0; i <= end; i++) {
      const byte = i === end ? DOT : text.charCodeAt(i);
      if (byte !== DOT) {
        written[i + 1] = byte;
        key[i + 1] = lowerCaseByte(byte);
        continue;
      }
      const length = i - labelAt;
      if (length === 0 || length > MAX_LABEL_BYTES) return false;
      written[labelAt] = length;
      key[labelAt] = length;
      labelAt = i + 1;
    }
    written[labelAt] = 0;
    key[labelAt] = 0;
    this.length = labelAt + 1;
    return true;
  }
}
