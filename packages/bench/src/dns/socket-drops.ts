import { readFileSync } from 'node:fs';

const LOCAL_ADDRESS = 1;

/** Datagrams that the full sockets of a port dropped, from the text of `/proc/net/udp`. */
export function parseDrops(table: string, port: number): number {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  let drops = 0;
  for (const line of table.split('\n')) {
    const fields = line.trim().split(/\s+/);
    if (fields[LOCAL_ADDRESS]?.endsWith(wanted) === true) drops += Number(fields.at(-1));
  }
  return drops;
}

/** The same for this machine, now; without sockets that were closed. */
export function droppedAt(port: number): number {
  return parseDrops(readFileSync('/proc/net/udp', 'utf8'), port);
}
