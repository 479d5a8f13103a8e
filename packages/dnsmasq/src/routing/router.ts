import { type DnsConfig, EMPTY_DNS_CONFIG, type Log } from '@kube-dns/daemon';
import { type ServerAddress, serverText } from '@kube-dns/transport';
import { configuredRules, type ConfiguredRules } from '../config/server-rules.js';
import type { ResolvFile } from '../config/resolv-file.js';
import type { ServerRule } from '../options/server-value.js';
import { LoopDetector } from '../upstream/loop-detector.js';
import type { ServerStatistics } from '../upstream/server-statistics.js';
import { Routes } from './routes.js';

export interface RouterOptions {
  /** The rules of the command line. */
  readonly rules: readonly ServerRule[];
  /** Undefined when there is none to be read. */
  readonly resolvFile: ResolvFile | undefined;
  readonly statistics: ServerStatistics;
  readonly log: Log;
}

/** As many servers are listed in the log (dnsmasq src/config.h, SERVERS_LOGGED). */
const MAX_LISTED = 30;

/**
 * Keeps the routes in step with where they come from: the command line, the ConfigMap, the resolv file,
 * and what the loop detector found. Queries under way keep the servers that they were given.
 */
export class Router {
  readonly loops: LoopDetector;
  readonly #options: RouterOptions;
  #configured: ConfiguredRules = configuredRules(EMPTY_DNS_CONFIG);
  #rules: readonly ServerRule[] = [];
  #resolvServers: readonly ServerAddress[] = [];
  #routes = new Routes({ rules: [], resolvServers: [] });
  #isProbing = false;

  constructor(options: RouterOptions) {
    this.#options = options;
    this.loops = new LoopDetector(options.log, () => this.#build());
  }

  get routes(): Routes {
    return this.#routes;
  }

  /** Takes the ConfigMap's part for the next `load`. Throws for one that cannot be used and keeps the last. */
  configure(config: DnsConfig): void {
    this.#configured = configuredRules(config);
  }

  /** Reads every source again and puts the new routes in force. */
  load(): void {
    const { resolvFile, statistics } = this.#options;
    const { rules, usesResolvFile } = this.#configured;
    this.#rules = [...this.#options.rules, ...rules];
    this.#resolvServers = usesResolvFile ? (resolvFile?.read() ?? []) : [];
    this.loops.reset();
    this.#build();
    const servers = [...this.#serversOfRules(), ...this.#resolvServers];
    statistics.keep(servers);
    this.#list();
    if (this.#isProbing) this.loops.probe(this.#routes.defaultServers);
  }

  /** Looks for loops among the default servers, now and after each load; once probes can arrive. */
  startProbing(): void {
    this.#isProbing = true;
    this.loops.probe(this.#routes.defaultServers);
  }

  close(): void {
    this.loops.close();
  }

  #build(): void {
    this.#routes = new Routes({
      rules: this.#rules,
      resolvServers: this.#resolvServers,
      isUsable: (server) => !this.loops.isLooping(server),
    });
  }

  *#serversOfRules(): Generator<ServerAddress> {
    for (const { target } of this.#rules) if (target.kind === 'server') yield target.server;
  }

  #list(): void {
    const { log } = this.#options;
    const lines: string[] = [];
    for (const { domain, servers, isLocal } of this.#routes.routes) {
      const suffix = domain === '.' ? '' : ` for domain ${domain}`;
      for (const server of servers) lines.push(`using nameserver ${serverText(server)}${suffix}`);
      if (isLocal) lines.push(`using only locally-known addresses for ${domain}`);
    }
    for (const line of lines.slice(0, MAX_LISTED)) log.info(line);
    if (lines.length > MAX_LISTED) log.info(`using ${lines.length - MAX_LISTED} more nameservers`);
    if (lines.length === 0) log.warn('no upstream servers configured');
  }
}
