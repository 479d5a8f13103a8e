import {
  type CorePlan,
  messageOf,
  NetworkNamespace,
  outputOf,
  type Owned,
  pinProcess,
  Remote,
} from '@kube-dns/testkit';
import type { Subject } from '../load/contest.js';
import type { OneAddressMethods } from './one-address.js';

/** A name server that a forwarder asks over a network. */
export interface OutsideServer {
  readonly address: string;
  readonly port: number;
  readonly behind: NonNullable<Subject['behind']>;
  /** Why it is on loopback all the same; undefined where it has a network of its own. */
  readonly loopbackReason: string | undefined;
}

const NETWORK = '198.18';
const NAME = 'the name server';

/**
 * A fast name server in a network namespace of its own, behind a pair of virtual links; where this
 * process may not make these, on loopback. The addresses are those for benchmarks (RFC 2544 appendix C.2.2).
 */
export async function startOutside(
  owned: Owned,
  cores: CorePlan | undefined,
): Promise<OutsideServer> {
  const link = await createLink(owned).catch((error: unknown) => messageOf(error));
  const isLinked = typeof link !== 'string';
  const address = isLinked ? link.address : '127.0.0.1';
  const entry = new URL('./one-address.js#OneAddress', import.meta.url);
  const through = isLinked ? { through: link.entrance } : {};
  const remote = owned.add(new Remote<OneAddressMethods>(NAME, entry, through));
  const port = await remote.call('start', address);
  await pinProcess(remote.pid, cores?.upstream);
  const behind = { name: NAME, pid: remote.pid, check: () => undefined };
  return { address, port, behind, loopbackReason: isLinked ? undefined : link };
}

/** The far end's address, and the words in front of a command that is to run there. */
interface Link {
  readonly address: string;
  readonly entrance: readonly string[];
}

/** It ends with its namespace. Throws a MeasureError. */
async function createLink(owned: Owned): Promise<Link> {
  const namespace = owned.add(await NetworkNamespace.create());
  const { pid } = namespace;
  // The links of two benches at the same time have different addresses.
  const block = `${NETWORK}.${(pid >> 6) & 0xff}`;
  const first = (pid & 0x3f) * 4;
  const address = `${block}.${first + 2}`;
  const link = `bench${pid}`;
  const ends = ['type', 'veth', 'peer', 'name', link, 'netns', String(pid)];
  await outputOf('ip', ['link', 'add', link, ...ends]);
  await outputOf('ip', ['address', 'add', `${block}.${first + 1}/30`, 'dev', link]);
  await outputOf('ip', ['link', 'set', link, 'up']);
  await namespace.run('ip', 'address', 'add', `${address}/30`, 'dev', link);
  await namespace.run('ip', 'link', 'set', link, 'up');
  return { address, entrance: namespace.entrance };
}
