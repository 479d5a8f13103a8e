import { isIP, isIPv4, isIPv6 } from 'node:net';

/** A name server: an IP address (never a name) and a port. */
export interface ServerAddress {
  readonly address: string;
  readonly port: number;
}

/** The text of a server as dnsmasq writes it: `127.0.0.1#10053`. */
export function serverText(server: ServerAddress): string {
  return `${server.address}#${server.port}`;
}

/**
 * Reads `IP`, `IPv4:port`, `[IPv6]` or `[IPv6]:port`, as the ConfigMap keys have them; undefined when
 * it is none of these. Without a port it is 53.
 */
export function parseServerAddress(text: string): ServerAddress | undefined {
  if (isIP(text) !== 0) return { address: text, port: 53 };
  const match = /^(?:\[([^\]]+)\]|([^:]+))(?::([0-9]{1,5}))?$/.exec(text);
  const [, inBrackets, bare, portText = '53'] = match ?? [];
  const address = inBrackets ?? bare ?? '';
  const port = Number(portText);
  const isAddress = inBrackets === undefined ? isIPv4(address) : isIPv6(address);
  return isAddress && port >= 1 && port <= 65_535 ? { address, port } : undefined;
}
