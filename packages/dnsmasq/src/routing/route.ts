import type { ServerAddress, ServerGroup } from '@kube-dns/transport';

/** Where the questions of one domain go. */
export interface Route {
  /** Presentation text; `.` for the default, empty for names of one label. */
  readonly domain: string;
  readonly servers: readonly ServerAddress[];
  /** The same servers with their state; undefined without any. */
  readonly group: ServerGroup | undefined;
  /** Never forwarded: the answer is NXDOMAIN. */
  readonly isLocal: boolean;
}
