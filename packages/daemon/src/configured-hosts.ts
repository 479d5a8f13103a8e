import { quote } from '@kube-dns/base';
import { shortAddress } from '@kube-dns/wire';
import { isDnsSubdomain, isIpAddress } from './name-server.js';

/** The content of the key `hosts`: lines of a hosts file (hosts(5)). */
export interface ConfiguredHosts {
  /** Name (lower case, no final dot) → its addresses, each once in its shortest spelling, in the order of the lines. */
  readonly addresses: ReadonlyMap<string, readonly string[]>;
  /** Each address with the first name of the first line that has it: the name of its PTR record. */
  readonly canonical: ReadonlyMap<string, string>;
  /** The number of the first line of each name. */
  readonly lines: ReadonlyMap<string, number>;
}

export const NO_HOSTS: ConfiguredHosts = {
  addresses: new Map(),
  canonical: new Map(),
  lines: new Map(),
};

/** Reading a configuration is one turn of the event loop, which must not take more than 50 ms. */
const MAX_HOSTS = 4_096;
const MAX_CHARACTERS = 256 * 1024;
/** An answer over UDP has space for as many. */
const MAX_ADDRESSES = 64;
/** Of many wrong lines these are shown. */
const MAX_MISTAKES = 20;

/**
 * Reads lines of an address and the names that have it; `#` begins a comment. `note` gets a sentence for each mistake, with
 * the number of its line.
 */
export function readHosts(text: string, note: (mistake: string) => void): ConfiguredHosts {
  if (text.length > MAX_CHARACTERS) {
    note(`it has more than ${MAX_CHARACTERS} characters`);
    return NO_HOSTS;
  }
  const addresses = new Map<string, string[]>();
  const canonical = new Map<string, string>();
  const lines = new Map<string, number>();
  let count = 0;
  let mistakes = 0;
  const refuse = (number: number, reason: string) => {
    if (++mistakes <= MAX_MISTAKES) note(`line ${number}: ${reason}`);
  };
  for (const [i, line] of text.split('\n').entries()) {
    const [written = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (written === '') continue;
    if (!isIpAddress(written)) {
      refuse(i + 1, `${quote(written)} is not an IP address`);
      continue;
    }
    if (names.length === 0) refuse(i + 1, `${quote(written)} has no name`);
    const address = shortAddress(written);
    for (const name of names) {
      const host = name.toLowerCase().replace(/\.$/, '');
      if (!isDnsSubdomain(host)) refuse(i + 1, `${quote(name)} is not a host name`);
      else if (++count > MAX_HOSTS) break;
      else {
        if (!canonical.has(address)) canonical.set(address, host);
        if (!lines.has(host)) lines.set(host, i + 1);
        const known = addresses.get(host) ?? [];
        if (known.length === 0) addresses.set(host, known);
        if (known.length >= MAX_ADDRESSES)
          refuse(i + 1, `${host} has more than ${MAX_ADDRESSES} addresses`);
        else if (!known.includes(address)) known.push(address);
      }
    }
  }
  if (mistakes > MAX_MISTAKES) note(`${mistakes - MAX_MISTAKES} more lines are wrong`);
  if (count > MAX_HOSTS) note(`more than ${MAX_HOSTS} names`);
  return { addresses, canonical, lines };
}
