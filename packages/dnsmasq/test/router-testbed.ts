import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readQuery } from '@kube-dns/wire';
import { encodeQuery } from '@kube-dns/testkit';
import { parseDnsConfig } from '@kube-dns/daemon';
import { serverText, UpstreamServers, UpstreamSockets } from '@kube-dns/transport';
import { ResolvFiles } from '../src/config/resolv-files.js';
import { parseServerRule } from '../src/options/server-value.js';
import {
  NO_ROUTER_EVENTS,
  Router,
  type RouterEvents,
  type RouterOptions,
} from '../src/routing/router.js';
import { ServerStatistics } from '@kube-dns/resolver';
import { recordedLog } from './recorded-log.js';

/** Events of which a test receives these. */
export function eventsWith(events: Partial<RouterEvents>): RouterEvents {
  return { ...NO_ROUTER_EVENTS, ...events };
}

/** A router with a folder for its resolv file. */
export class RouterTestbed {
  readonly folder = mkdtempSync(join(tmpdir(), 'router-'));
  readonly resolvPath = join(this.folder, 'resolv.conf');
  readonly log = recordedLog();
  readonly #sockets = new UpstreamSockets();
  readonly statistics = new ServerStatistics();
  readonly upstreams = new UpstreamServers(this.#sockets, this.statistics);
  /** There from `create` on. */
  router!: Router;

  create(...rules: string[]): void {
    this.createWith({}, ...rules);
  }

  createWith(
    { events = NO_ROUTER_EVENTS, ...more }: Partial<RouterOptions> & { events?: RouterEvents },
    ...rules: string[]
  ): void {
    const { resolvPath, log, upstreams } = this;
    this.router = new Router({
      rules: rules.map(parseServerRule),
      resolvFiles: new ResolvFiles({ paths: [resolvPath], log, periodMs: 20 }),
      upstreams,
      log,
      ...more,
    });
    this.router.listen(events);
  }

  /** Applies the keys of a ConfigMap. */
  configure(config: Readonly<Record<string, unknown>>): void {
    const files = Object.entries(config).map(
      ([key, value]) => [key, JSON.stringify(value)] as const,
    );
    this.router.configure(parseDnsConfig(new Map(files)));
  }

  /** The servers that are asked for a name. */
  serversOf(name: string): readonly string[] {
    return this.router.routes
      .find(readQuery(encodeQuery({ name })))
      .servers.map((server) => serverText(server));
  }

  close(): void {
    this.router.close();
    this.#sockets.close();
    rmSync(this.folder, { recursive: true });
  }
}
