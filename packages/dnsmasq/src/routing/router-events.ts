import type { ServerRule } from '../options/server-value.js';

/** Is notified of what the router reads and builds. */
export interface RouterEvents {
  /** Every active rule was read; each server of the resolv file is a rule for every name. */
  onRulesRead(rules: readonly ServerRule[]): void;
  /** The routes were built again; queries in flight use the old ones. */
  onRoutesChanged(): void;
  /** The configured servers of these domains (in wire form) changed. */
  onDomainsChanged(domains: readonly Uint8Array[]): void;
  /** A resolv file that names servers changed and was read. */
  onResolvFileChanged(): void;
}

export const NO_ROUTER_EVENTS: RouterEvents = {
  onRulesRead: () => undefined,
  onRoutesChanged: () => undefined,
  onDomainsChanged: () => undefined,
  onResolvFileChanged: () => undefined,
};
