import { statSync } from 'node:fs';
import { errorText } from '@kube-dns/base';
import { type Log, readTextFile } from '@kube-dns/daemon';
import { parseResolvConf, type ServerAddress, ServerGroup } from '@kube-dns/transport';
import type { ForwardRules, ForwardTarget } from '../corefile/server-block.js';
import type { Upstreams } from './upstreams.js';

/** The servers that a block forwards to; a resolv file is read again when it changes. */
export class BlockServers {
  #group: ServerGroup | undefined;
  readonly #zone: string;
  readonly #rules: ForwardRules;
  readonly #upstreams: Upstreams;
  readonly #log: Log;
  /** What was read, by file. */
  readonly #files = new Map<string, { version: string; servers: readonly ServerAddress[] }>();

  /** Throws a StartupError for a bad file of authorities. */
  constructor(zone: string, rules: ForwardRules, upstreams: Upstreams, log: Log) {
    this.#zone = zone;
    this.#rules = rules;
    this.#upstreams = upstreams;
    this.#log = log;
    this.refresh();
  }

  /** Undefined while there is none. */
  get group(): ServerGroup | undefined {
    return this.#group;
  }

  /** Reads the resolv files that have changed; true when the servers are others then. */
  refresh(): boolean {
    const { targets, policy, tlsCaFile } = this.#rules;
    const addresses = targets.flatMap((target) => this.#addressesOf(target));
    const servers = this.#upstreams.at(addresses, tlsCaFile);
    const before = this.#group?.servers ?? [];
    const isSame =
      before.length === servers.length && servers.every((server, at) => server === before[at]);
    if (isSame) return false;
    const order = policy === 'sequential' ? 'strict' : 'preferred';
    this.#group = servers.length === 0 ? undefined : new ServerGroup(this.#zone, servers, order);
    return true;
  }

  #addressesOf(target: ForwardTarget): readonly ServerAddress[] {
    if ('resolvFile' in target)
      return this.#read(target.resolvFile).map((each) => this.#asked(each));
    const { address, port, encryption } = target;
    return [
      encryption === undefined ? this.#asked({ address, port }) : { address, port, encryption },
    ];
  }

  #asked(address: ServerAddress): ServerAddress {
    return this.#rules.protocol === 'tcp' ? { ...address, keepsTcp: true } : address;
  }

  /** A file that cannot be read leaves the servers that it had. */
  #read(path: string): readonly ServerAddress[] {
    const known = this.#files.get(path);
    try {
      const { mtimeMs, size, ino } = statSync(path);
      const version = `${ino} ${size} ${mtimeMs}`;
      if (known?.version === version) return known.servers;
      const servers = parseResolvConf(readTextFile(path));
      this.#files.set(path, { version, servers });
      if (servers.length === 0) this.#log.warn(`no servers found in ${path}, will retry`);
      return servers;
    } catch (error) {
      if (known?.version !== '') this.#log.warn(`failed to access ${path}: ${errorText(error)}`);
      const servers = known?.servers ?? [];
      this.#files.set(path, { version: '', servers });
      return servers;
    }
  }
}
