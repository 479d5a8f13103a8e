import type { CreateTarget, FuzzTarget } from './fuzz-target.js';

/** A parser as the command knows it. */
export interface FuzzParser {
  readonly name: string;
  /** Whether its inputs come in packets, from anyone; the others are texts. */
  readonly isPacket: boolean;
  /** So many times longer than the others may an input take: it is a file of who runs the program. */
  readonly times: number;
  readonly create: () => Promise<FuzzTarget>;
}

/** A table of rows, which brings the products along that its parsers belong to: a process loads only what it needs. */
type Table<Name extends string> = () => Promise<Readonly<Record<Name, CreateTarget>>>;

const messages = async () => (await import('./targets/messages.js')).ROWS;
const servers = async () => (await import('./targets/servers.js')).ROWS;
const zones = async () => (await import('./targets/zones.js')).ROWS;
const api = async () => (await import('./targets/api.js')).ROWS;
const names = async () => (await import('./targets/names.js')).ROWS;
const pages = async () => (await import('./targets/pages.js')).ROWS;
const texts = async () => (await import('./targets/texts.js')).ROWS;

/** A tree of YAML is made. */
const FILE_TIMES = 20;

/** Every parser that reads what others send. */
export const PARSERS: readonly FuzzParser[] = [
  packet('query', messages),
  packet('tcp-frames', messages),
  packet('dnsmasq-queries', servers),
  packet('dnsmasq-replies', servers),
  packet('kubedns-queries', servers),
  packet('kubedns-replies', servers),
  packet('zonal-queries', names),
  packet('beside-queries', names),
  packet('notify', servers),
  packet('transfer-requests', zones),
  packet('dns64-replies', zones),
  packet('dso-messages', messages),
  packet('dso-subscribed', messages),
  packet('dso-changed', messages),
  packet('dso-serial', messages),
  packet('dnstap-reader', messages),
  packet('host-replies', messages),
  packet('sidecar-replies', messages),
  packet('query-log-lines', messages),
  text('hosts-file', texts),
  text('resolv-file', texts),
  text('servers-file', texts),
  text('query-log-rules', texts),
  text('explain-question', texts),
  text('tsig-key', texts),
  text('status-page', texts),
  text('config-map', texts),
  text('config-hosts', names),
  text('corefile', texts),
  text('list-stream', api),
  text('watch-stream', api),
  text('service-imports', api),
  text('route-objects', names),
  text('snapshot-lines', api),
  text('dnsmasq-flags', texts),
  text('dnsmasq-config', texts),
  text('nanny-flags', texts),
  text('kubedns-flags', texts),
  text('sidecar-flags', texts),
  text('node-cache-flags', texts),
  text('check-files', pages, FILE_TIMES),
  text('check-pages', pages),
  text('query-pages', pages),
];

function packet<Name extends string>(name: Name, table: Table<NoInfer<Name>>): FuzzParser {
  return { name, isPacket: true, times: 1, create: async () => (await table())[name]() };
}

function text<Name extends string>(name: Name, table: Table<NoInfer<Name>>, times = 1): FuzzParser {
  return { name, isPacket: false, times, create: async () => (await table())[name]() };
}
