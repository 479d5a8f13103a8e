import { type CorePlan, type Owned, pinProcess, Remote } from '@kube-dns/testkit';
import { echoName, type Subject } from '../load/contest.js';
import type { EchoMethods } from './echo.js';

/** The echo as one more contestant, on the core of the measured servers and with the flags of their Node. */
export async function startEcho(
  owned: Owned,
  nodeFlags: readonly string[],
  cores: CorePlan | undefined,
): Promise<Subject> {
  const entry = new URL('./echo.js#Echo', import.meta.url);
  const remote = owned.add(new Remote<EchoMethods>('the echo', entry, { nodeFlags }));
  const { port, engine } = await remote.call('start');
  await pinProcess(remote.pid, cores?.server);
  return {
    name: echoName(engine),
    port,
    pid: remote.pid,
    isOneProcess: true,
    isUdpOnly: true,
    isEcho: true,
    check: () => undefined,
  };
}
