import { networkInterfaces } from 'node:os';
import { shownUrl } from '@kube-dns/base';
import { addressText, parseAddress } from '@kube-dns/wire';
import {
  CorefileError,
  type Directive,
  directiveText,
  type FindImports,
  importsOnDisk,
  parseCorefile,
  placeOf,
  resolveCorefile,
  type WrittenBlock,
} from './corefile.js';
import { type CorefileHost, PLUGINS, REFUSED, withoutEffect } from './plugins.js';
import { type Draft, readKey, type ServerBlock, type ZoneKey } from './server-block.js';
import { DirectiveError, ignore } from './words.js';

export interface CorefileSurroundings extends Partial<CorefileHost> {
  /** The port of a zone without one; 53 by default. */
  readonly port?: number;
  /** Variables; those of the process by default. */
  readonly env?: NodeJS.ProcessEnv;
  /** Where imports are; on disk, beside the Corefile, by default. */
  readonly findImports?: FindImports;
}

/** Further ones are only refused: a Corefile can be one mistake, again and again. */
const MAX_MISTAKES = 100;
/** Each has a cache and questions in flight of its own, some 40 KiB at first. */
const MAX_BLOCKS = 1_024;

/**
 * Reads a Corefile: its server blocks with CoreDNS's defaults. What is not obeyed is refused: throws a CorefileError
 * with a mistake for each such directive, with its line and what to do.
 */
export function readServerBlocks(
  text: string,
  file: string,
  surroundings: CorefileSurroundings = {},
): readonly ServerBlock[] {
  const { env = process.env, findImports = importsOnDisk(file), port } = surroundings;
  const host = { interfaceAddresses: surroundings.interfaceAddresses ?? addressesOfInterface };
  const mistakes: string[] = [];
  const note = (where: string, reason: string) => {
    if (mistakes.length < MAX_MISTAKES) mistakes.push(`${file}: ${where}: ${reason}`);
  };
  const written = resolveCorefile(parseCorefile(text, file), env, findImports, (each) => {
    // As in Caddy, a pattern may match no file.
    if (!/[*?]/.test(each.args[0] ?? ''))
      note(placeOf(each), `File to import not found: ${each.args[0] ?? ''}`);
  });
  if (written.length > MAX_BLOCKS) {
    note(`line ${written[MAX_BLOCKS]!.line}`, `more than ${MAX_BLOCKS} server blocks`);
  }
  const blocks = written.slice(0, MAX_BLOCKS).map((block) => readBlock(block, host, port, note));
  for (const { block, reason } of overlaps(blocks)) note(`line ${block.line}`, reason);
  if (mistakes.length > 0) throw new CorefileError(mistakes.join('; '), {}, mistakes);
  return blocks;
}

type Note = (where: string, reason: string) => void;

function readBlock(
  block: WrittenBlock,
  host: CorefileHost,
  port: number | undefined,
  note: Note,
): ServerBlock {
  const zones = block.keys.flatMap((key): ZoneKey[] => {
    const read = readKey(key, port);
    if (typeof read !== 'string') return [read];
    note(placeOf(block), `server block ${key}: ${read}`);
    return [];
  });
  const draft = emptyBlock(zones, block.line);
  const seen = new Set<string>();
  for (const each of block.directives) {
    try {
      const why = withoutEffect(each, block);
      if (why !== undefined) ignore(each, why, draft);
      else readDirective(each, seen.has(each.name), draft, host);
    } catch (error) {
      if (!(error instanceof DirectiveError)) throw error;
      const { directive, message } = error;
      const within = directive === each ? '' : `${each.name}: `;
      note(placeOf(directive), `${within}${shownUrl(directiveText(directive))}: ${message}`);
    }
    seen.add(each.name);
  }
  return draft;
}

function readDirective(
  each: Directive,
  isRepeated: boolean,
  draft: Draft<ServerBlock>,
  host: CorefileHost,
): void {
  const plugin = PLUGINS.get(each.name);
  if (plugin === undefined) {
    throw new DirectiveError(each, REFUSED.get(each.name) ?? `Unknown directive '${each.name}'`);
  }
  if (isRepeated && plugin.isRepeated !== true) {
    throw new DirectiveError(each, 'this plugin can only be used once per Server Block');
  }
  plugin.read(each, draft, host);
}

/** A block without directives. */
function emptyBlock(zones: ServerBlock['zones'], line: number): Draft<ServerBlock> {
  return {
    zones,
    addresses: [],
    line,
    cache: undefined,
    forward: undefined,
    hosts: undefined,
    dns64: undefined,
    rewrites: [],
    templates: [],
    logsErrors: false,
    errorPatterns: [],
    log: undefined,
    detectsLoops: false,
    metrics: undefined,
    health: undefined,
    ready: undefined,
    maxUdpBytes: undefined,
    rotatesRecords: false,
    ignored: [],
  };
}

function addressesOfInterface(name: string): readonly string[] | undefined {
  return networkInterfaces()[name]?.map(({ address, family, scopeid }) =>
    family === 'IPv6' && scopeid !== 0 ? `${address}%${name}` : address,
  );
}

/** A zone that two blocks serve in one place. */
interface Overlap {
  /** The later one. */
  readonly block: ServerBlock;
  readonly reason: string;
}

/**
 * Zones that are served twice on one port and address; a block without `bind` is on every address. Words and rule
 * are those of CoreDNS (core/dnsserver/register.go, validateZonesAndListeningAddresses).
 */
function overlaps(blocks: readonly ServerBlock[]): Overlap[] {
  const found: Overlap[] = [];
  /** By zone and port: the addresses so far, '' for all. */
  const served = new Map<string, Set<string>>();
  for (const block of blocks) {
    for (const { zone, port } of block.zones) {
      const key = `dns://${zone === '.' ? '.' : `${zone}.`}:${port}`;
      const addresses = served.get(key) ?? new Set<string>();
      served.set(key, addresses);
      const own = block.addresses.length === 0 ? [''] : block.addresses.map(canonical);
      for (const address of own) {
        const where = on(key, address);
        const [other = ''] = address === '' || addresses.has('') ? addresses : [];
        if (addresses.has(address)) {
          found.push({ block, reason: `cannot serve ${where} - it is already defined` });
        } else if (addresses.size > 0 && (address === '' || addresses.has(''))) {
          const reason = `cannot serve ${where} - zone overlap listener capacity with ${on(key, other)}`;
          found.push({ block, reason });
        }
        addresses.add(address);
      }
    }
  }
  return found;
}

function on(key: string, address: string): string {
  return address === '' ? key : `${key} on ${address}`;
}

function canonical(address: string): string {
  const bytes = parseAddress(address);
  const scope = /%.*$/.exec(address)?.[0] ?? '';
  return bytes === undefined ? address : addressText(bytes) + scope;
}
