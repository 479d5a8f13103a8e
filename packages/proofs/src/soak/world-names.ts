import { createHash } from 'node:crypto';

/** The name servers outside the cluster: of the world, twice, and two that stub domains are given to. */
export const WORLD_SERVERS = ['world', 'mirror', 'first', 'second'] as const;
export type WorldServer = (typeof WORLD_SERVERS)[number];

/** The answer of a name server outside the cluster. */
export interface WorldAnswer {
  /** Undefined where the name does not exist; it has no address of IPv6 in any case. */
  readonly address: string | undefined;
  readonly ttlSeconds: number;
}

const WORLD_NAME = /\.t(\d+)\.world\.test$/;
const STUB_TTL_SECONDS = 60;
const STUB_DOMAINS = ['.corp.test', '.lab.test'];
const STUB_ADDRESS: Readonly<Record<WorldServer, string | undefined>> = {
  world: undefined,
  mirror: undefined,
  first: '203.0.113.1',
  second: '203.0.113.2',
};
const NEGATIVE_TTL_SECONDS = 60;

/**
 * The world: `*.t<seconds>.world.test` has its own address with that TTL; a name in a stub domain has
 * the address that identifies the server; no other name exists.
 */
export function worldAnswer(name: string, server: WorldServer): WorldAnswer {
  const key = name.toLowerCase();
  const ttl = WORLD_NAME.exec(key)?.[1];
  if (ttl !== undefined) {
    const [high = 0, low = 0] = createHash('sha1').update(key).digest();
    return { address: `198.18.${high}.${low}`, ttlSeconds: Number(ttl) };
  }
  if (STUB_DOMAINS.some((domain) => key.endsWith(domain))) {
    return { address: STUB_ADDRESS[server], ttlSeconds: STUB_TTL_SECONDS };
  }
  return { address: undefined, ttlSeconds: NEGATIVE_TTL_SECONDS };
}
