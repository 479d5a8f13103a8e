import { isIPv6 } from 'node:net';

/** How a server is asked where that is not plain UDP and TCP: DNS over TLS (RFC 7858) or over HTTPS (RFC 8484). */
export interface Encryption {
  readonly protocol: 'tls' | 'https';
  /** The DNS name or IP address that the server's certificate must have. */
  readonly name: string;
  /** Over HTTPS: the path of the URL, with its first slash; else empty. */
  readonly path: string;
}

/** A name server: an IP address (never a name) and a port. */
export interface ServerAddress {
  readonly address: string;
  readonly port: number;
  /** Plain UDP and TCP without it. */
  readonly encryption?: Encryption;
  /** It is asked over TCP alone, in plain text, on few connections that are kept (RFC 7766). */
  readonly keepsTcp?: boolean;
}

/** Whether a server is asked over connections that are kept, with many queries in flight on each. */
export function isStreamed({ encryption, keepsTcp }: ServerAddress): boolean {
  return encryption !== undefined || keepsTcp === true;
}

/** `ADDRESS#PORT`, also of an encrypted server: what has a place in a text of 40 bytes. */
export function addressText({ address, port }: ServerAddress): string {
  return `${address}#${port}`;
}

/**
 * The text of a server as dnsmasq writes it: `127.0.0.1#10053`; of an encrypted one `tls://9.9.9.9#853%dns.example`
 * or `https://dns.example/dns-query (9.9.9.9#443)`; of one that is asked over TCP alone `tcp://127.0.0.1#53`.
 * It is shown, so it is without what a URL has after `?`, which may be a secret.
 */
export function serverText(server: ServerAddress): string {
  return textWith(server, server.encryption?.path.replace(/\?.*$/s, '') ?? '');
}

/** What tells servers apart: the text, with all of a URL. Never shown. */
export function serverKey(server: ServerAddress): string {
  return textWith(server, server.encryption?.path ?? '');
}

function textWith(server: ServerAddress, path: string): string {
  const { address, encryption } = server;
  const text = addressText(server);
  if (encryption === undefined) return server.keepsTcp === true ? `tcp://${text}` : text;
  const { protocol, name } = encryption;
  if (protocol === 'https') {
    return `https://${isIPv6(name) ? `[${name}]` : name}${path} (${text})`;
  }
  return name === address ? `tls://${text}` : `tls://${text}%${name}`;
}
