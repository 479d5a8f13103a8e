import type { Directive } from './corefile.js';
import type { ServerBlock } from './server-block.js';

/** A server block under construction. */
export type BlockDraft = { -readonly [K in keyof ServerBlock]: ServerBlock[K] };

/** What of the machine a Corefile names. */
export interface CorefileHost {
  /** The addresses of an interface by its name; undefined for one that does not exist. */
  readonly interfaceAddresses: (name: string) => readonly string[] | undefined;
}

/** Reads one directive into a draft; throws a DirectiveError. */
export type ReadPlugin = (each: Directive, draft: BlockDraft, host: CorefileHost) => void;

/** A block without directives. */
export function emptyBlock(zones: ServerBlock['zones'], line: number): BlockDraft {
  return {
    zones,
    addresses: [],
    line,
    cache: undefined,
    forward: undefined,
    hosts: undefined,
    logsErrors: false,
    errorPatterns: [],
    log: undefined,
    detectsLoops: false,
    metrics: undefined,
    health: undefined,
    ready: undefined,
    maxUdpBytes: undefined,
    rotatesRecords: false,
  };
}
