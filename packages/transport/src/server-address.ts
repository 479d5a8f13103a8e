/** A name server: an IP address (never a name) and a port. */
export interface ServerAddress {
  readonly address: string;
  readonly port: number;
}

/** The text of a server as dnsmasq writes it: `127.0.0.1#10053`. */
export function serverText(server: ServerAddress): string {
  return `${server.address}#${server.port}`;
}
