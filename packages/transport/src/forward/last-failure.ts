import { type Failure, failureFrom } from './failure.js';
import type { FailureReason } from './reply-flaw.js';
import type { ServerGroup } from './server-group.js';
import type { UpstreamServer } from './upstream-servers.js';

/** Why a question has no answer so far. */
export class LastFailure {
  /** Why the forwarder ended it. */
  ended: Failure | undefined;
  #reason: FailureReason = 'timeout';
  #server: UpstreamServer | undefined;

  /** As new. */
  clear(): void {
    this.ended = this.#server = undefined;
    this.#reason = 'timeout';
  }

  /** This server had no answer. */
  note(server: UpstreamServer, reason: FailureReason): void {
    this.#server = server;
    this.#reason = reason;
  }

  /** What is told: that no server of the group is up, or why the last one had no answer; at first the one at `current`. */
  of({ failure, servers }: ServerGroup, current: number): Failure {
    const server = this.#server ?? servers[current] ?? servers[0];
    return this.ended ?? failure ?? failureFrom(this.#reason, server);
  }
}
