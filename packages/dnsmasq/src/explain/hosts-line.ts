import { createReadStream } from 'node:fs';
import { parseAddress } from '@kube-dns/wire';

/** As much of a file is searched; it may have a hundred thousand lines. */
const MAX_BYTES = 8 * 1024 * 1024;
const LAST_BYTE = MAX_BYTES - 1;

/**
 * The line of a hosts file, from 1, that gives a name (lower case, without the final dot) an address, as the file is now;
 * undefined where there is none. `domain` is the one of `--expand-hosts`, or empty.
 */
export async function hostsLine(
  file: string,
  name: string,
  address: Uint8Array,
  domain: string,
): Promise<number | undefined> {
  const short =
    domain !== '' && name.endsWith(`.${domain}`) ? name.slice(0, -domain.length - 1) : name;
  const isIt = (text: string) => {
    const [first = '', ...names] = text.replace(/#.*/, '').toLowerCase().trim().split(/\s+/);
    const given = names.map((each) => each.replace(/\.$/, ''));
    if (!given.includes(name) && !given.includes(short)) return false;
    const bytes = parseAddress(first);
    return bytes !== undefined && Buffer.compare(bytes, address) === 0;
  };
  let count = 0;
  let rest = '';
  try {
    const stream = createReadStream(file, { encoding: 'latin1', end: LAST_BYTE });
    for await (const chunk of stream as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      const at = lines.findIndex(isIt);
      if (at >= 0) return count + at + 1;
      count += lines.length;
    }
  } catch {
    return undefined; // the file is gone, and what was read of it still answers
  }
  return isIt(rest) ? count + 1 : undefined;
}
