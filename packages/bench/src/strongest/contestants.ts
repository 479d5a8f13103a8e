import { setTimeout as delay } from 'node:timers/promises';
import {
  awaitRecord,
  freePort,
  NodeCache,
  outputOf,
  type Owned,
  pinnedCommand,
  pinProcess,
  RunningProgram,
  runProgram,
  TemporaryFolder,
  nodeFlagsOf,
} from '@kube-dns/testkit';
import { encodeQuery } from '@kube-dns/wire';
import type { Subject } from '../load/scores.js';
import type { Programs } from '../load/testbed.js';
import { installedProgram, PEERS, type PeerWord, type Task } from './configurations.js';

/** A server that takes part, and all its processes. */
export interface Contestant extends Subject {
  readonly pids: readonly number[];
}

/** One of the processes is the server. */
export function contestant(subject: Subject, more: Partial<Contestant> = {}): Contestant {
  return { ...subject, pids: [subject.pid], ...more };
}

/** Starts a server; none where it is not here. */
export type Start = (owned: Owned) => Promise<readonly Contestant[]>;

/** Where a peer runs. */
interface PeerPlace {
  readonly owned: Owned;
  /** The core that it is pinned to; undefined: none. */
  readonly core: number | undefined;
  readonly threads?: number;
  /** It serves when this name has an address. */
  readonly knownName: string;
}

const START_LIMIT_MS = 60_000;
/** From the first answer on, until the parts of a server that start later have started. */
const SETTLE_MS = 200;

/** Starts a peer on a free port of 127.0.0.1; none where it is not installed. Throws a MeasureError. */
export async function startPeer(
  word: PeerWord,
  task: Task,
  { owned, core, threads = 1, knownName }: PeerPlace,
): Promise<readonly Contestant[]> {
  const { program, configure } = PEERS[word];
  const path = installedProgram(program);
  if (path === undefined) return [];
  const folder = owned.add(new TemporaryFolder());
  const port = await freePort();
  const { args, files } = configure({ task, port, folder: folder.path, threads });
  for (const [name, text] of Object.entries(files)) folder.file(name, text);
  // Pinned before it starts its threads and processes.
  const pinned = pinnedCommand(core, path, args);
  const how = { isForeign: true, cwd: folder.path };
  const server = owned.add(new RunningProgram(word, pinned.command, pinned.args, how));
  const query = encodeQuery({ id: 1, name: knownName, type: 'A' });
  await awaitRecord(server, port, query, START_LIMIT_MS);
  await delay(SETTLE_MS);
  const { pid } = server;
  const check = () => server.check();
  return [contestant({ name: word, port, pid, server, isOneProcess: true, check })];
}

/** Our node-cache with one block. */
export async function startOurNodeCache(
  { node, nodeFlags }: Programs,
  directives: readonly string[],
  { owned, core, knownName }: PeerPlace,
): Promise<Contestant> {
  const cache = owned.add(await NodeCache.create());
  const { dns: port } = cache.ports;
  const lines = ['bind 127.0.0.1', ...directives].map((line) => `  ${line}\n`);
  await cache.putTemplate(`.:${port} {\n${lines.join('')}}\n`);
  const server = await cache.start({ node, nodeFlags: nodeFlagsOf('node-cache', nodeFlags) });
  const query = encodeQuery({ id: 1, name: knownName, type: 'A' });
  await awaitRecord(server, port, query, START_LIMIT_MS);
  const { pid } = server;
  await pinProcess(pid, core);
  const check = () => server.check();
  return contestant({ name: 'our node-cache', port, pid, server, isOneProcess: true, check });
}

/** Lets these processes run on each of the cores; without cores wherever the system likes. */
export async function pinToAll(pids: readonly number[], cores: readonly number[]): Promise<void> {
  if (cores.length === 0) return;
  for (const pid of pids) {
    await outputOf('taskset', ['-a', '-c', '-p', cores.join(','), String(pid)]);
  }
}

const VERSION_LIMIT_MS = 5_000;

/** The version that a peer prints. */
export async function versionOf(word: PeerWord): Promise<string> {
  const { program, versionFlag } = PEERS[word];
  const path = installedProgram(program) ?? program;
  const how = { isForeign: true, limitMs: VERSION_LIMIT_MS };
  const { stdout, stderr } = await runProgram(path, [versionFlag], how);
  return /\d+\.\d+(?:\.\d+)?/.exec(stdout + stderr)?.[0] ?? 'of an unknown version';
}
