import { BITS_PER_REVERSE_LABEL, encodeName, parseAddress, reverseName } from '@kube-dns/wire';

/** The zone and the port of a server block. */
export interface ZoneKey {
  /** In lower case, without the last dot; `.` is the root. */
  readonly zone: string;
  readonly port: number;
}

const MAX_PORT = 65_535;
const DEFAULT_PORT = 53;

/**
 * Reads the key of a server block: `[dns://]zone[:port]`; the zone may be a network, for its reverse names. Returns
 * the reason as text when it cannot be served.
 */
export function readKey(key: string, defaultPort = DEFAULT_PORT): ZoneKey | string {
  const [, scheme = 'dns', rest = ''] = /^(?:(\w+):\/\/)?(.*)$/s.exec(key) ?? [];
  if (scheme !== 'dns') return `kube-dns does not speak ${scheme}`;
  const [, name = '', portText] = /^(.*?)(?::(\d{1,5}))?$/s.exec(rest) ?? [];
  const port = portText === undefined ? defaultPort : Number(portText);
  if (port > MAX_PORT) return `${port} is not a port`;
  const zone = readZone(name);
  return typeof zone === 'string' ? { zone, port } : zone.reason;
}

/** A zone, or a network for its reverse names, in the form of a ZoneKey; or why it is none. */
export function readZone(text: string): string | { readonly reason: string } {
  if (text.includes('/')) return reverseZone(text);
  if (text === '' || text === '.') return '.';
  const zone = text.toLowerCase().replace(/\.$/, '');
  if (!/^[\w.*-]+$/.test(zone)) return { reason: 'not a zone' };
  try {
    encodeName(zone);
  } catch {
    return { reason: 'not a zone' };
  }
  return zone;
}

/** The reverse zone of a network that ends with a label of it. */
function reverseZone(network: string): string | { readonly reason: string } {
  const [, address = '', bitsText = ''] = /^([^/]*)\/(\d{1,3})$/.exec(network) ?? [];
  const bytes = parseAddress(address);
  const bits = Number(bitsText);
  if (bytes === undefined || bits === 0 || bits > bytes.length * 8) {
    return { reason: 'not a network' };
  }
  const step = BITS_PER_REVERSE_LABEL[bytes.length === 4 ? 'ipv4' : 'ipv6'];
  if (bits % step !== 0) return { reason: 'this network is several zones: write each of them' };
  return reverseName(bytes, bits);
}
