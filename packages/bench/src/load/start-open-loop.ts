import { type CorePlan, outputOf, type Owned, pinProcess, Remote } from '@kube-dns/testkit';
import type { OpenLoopMethods } from '../dns/open-loop.js';

/** Its garbage is collected seldom: what it has of answers dies young. */
const LOAD_NODE_FLAGS = ['--max-semi-space-size=32'];

/**
 * The open loop in its own process, on the core of the load. It never sleeps, so where something else that
 * is needed has the same core, `yields` lets that go first.
 */
export async function startOpenLoop(
  owned: Owned,
  cores: CorePlan | undefined,
  yields: boolean,
): Promise<Remote<OpenLoopMethods>> {
  const entry = new URL('../dns/open-loop.js#OpenLoop', import.meta.url);
  const options = { nodeFlags: LOAD_NODE_FLAGS };
  const remote = owned.add(new Remote<OpenLoopMethods>('the open loop', entry, options));
  await pinProcess(remote.pid, cores?.load);
  if (yields) await yieldToOthers(remote.pid);
  return remote;
}

/** Lets a process run only when no other one wants its core (SCHED_IDLE); a system without `chrt` does not. */
async function yieldToOthers(pid: number): Promise<void> {
  await outputOf('chrt', ['--all-tasks', '--idle', '--pid', '0', String(pid)]).catch(
    () => undefined,
  );
}
