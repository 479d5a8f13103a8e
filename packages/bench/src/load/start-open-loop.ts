import { setPriority } from 'node:os';
import { type CorePlan, type Owned, pinProcess, Remote } from '@kube-dns/testkit';
import type { OpenLoopMethods } from '../dns/open-loop.js';

/** Its garbage is collected seldom: what it has of answers dies young. */
const LOAD_NODE_FLAGS = ['--max-semi-space-size=32'];
/** Nice: a tenth of the core where the others want all of it. */
const LOW_PRIORITY = 10;

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
  if (yields) setPriority(remote.pid, LOW_PRIORITY);
  return remote;
}
