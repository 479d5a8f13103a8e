import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import {
  decodeSnapshot,
  encodeSnapshot,
  SnapshotFile,
  type SnapshotHeader,
} from '@kube-dns/daemon';
import {
  ask,
  becomesTrue,
  type Kubedns,
  type Owned,
  RunningProgram,
  TemporaryFolder,
} from '@kube-dns/testkit';
import { namespace, service } from '../fixtures/change-objects.js';
import { ApiFront } from '../fixtures/relays.js';
import { startKubedns } from '../fixtures/pod-containers.js';
import { Random } from '../random.js';

/** What became of the files of programs that were killed while they wrote. */
export interface KillFindings {
  /** How often the file was still the one before. */
  readonly before: number;
  /** Files that were not whole, or none of the last two: why. */
  readonly bad: readonly string[];
  /** Files beside it at the end. */
  readonly leftOver: number;
}

interface KillPlan {
  readonly kills: number;
  readonly seed: number;
  readonly folder: string;
}

interface NumberedHeader extends SnapshotHeader {
  readonly number: number;
}

const WRITER = fileURLToPath(new URL('./snapshot-writer.js', import.meta.url));
const WRITER_LINES = 5_000;
/** Longer than one write takes. */
const KILL_WITHIN_MS = 120;
const EVER = { kind: 'kill', maxAgeMs: Number.MAX_SAFE_INTEGER };

/** Kills a program at random moments while it writes one snapshot after the other to one file. */
export async function killTrials({ kills, seed, folder }: KillPlan): Promise<KillFindings> {
  const path = join(folder, 'snapshot');
  const random = new Random(seed);
  const bad: string[] = [];
  let before = 0;
  /** The number that the file has. */
  let last = 0;
  for (let kill = 0, first = 0; kill < kills; kill++) {
    const words = [WRITER, path, String(first), String(WRITER_LINES)];
    const writer = new RunningProgram('writer', process.execPath, words);
    // The first one leaves a file behind.
    await writer.waitForLine(kill === 0 ? /^end 0$/m : /^begin /m);
    await delay(random.below(KILL_WITHIN_MS));
    await writer.close('SIGKILL');
    if (writer.stderr !== '') bad.push(writer.stderr);
    const lastOf = (word: string) =>
      [...writer.stdout.matchAll(new RegExp(`^${word} (\\d+)$`, 'gm'))].map(([, n]) => Number(n)).at(-1); // prettier-ignore
    const begun = lastOf('begin') ?? first;
    const ended = lastOf('end') ?? last;
    try {
      const { header, lines } = decodeSnapshot<NumberedHeader>(readFileSync(path), EVER);
      let count = 0;
      for await (const line of lines) if (line.startsWith(`${header.number} `)) count++;
      if (count !== WRITER_LINES) bad.push(`kill ${kill}: ${count} lines of ${WRITER_LINES}`);
      if (header.number !== begun && header.number !== ended)
        bad.push(`kill ${kill}: it is ${header.number}, neither ${ended} nor ${begun}`);
      if (header.number < begun) before++;
      last = header.number;
    } catch (error) {
      bad.push(`kill ${kill}: ${String(error)}`);
    }
    first = begun + 1;
  }
  // Once what the killed ones have left is old, the next write removes it.
  for (const name of readdirSync(folder)) utimesSync(join(folder, name), 0, 0);
  const log = { info: () => undefined, warn: (text: string) => void bad.push(text) };
  await new SnapshotFile({ path, ...EVER, log }).write({ kind: 'kill', writtenMs: 0 }, []);
  return { before, bad, leftOver: readdirSync(folder).length - 1 };
}

/** What kubedns did with a file. */
export interface FileTrial {
  readonly file: string;
  /** What was not as promised; '' for nothing. */
  readonly wrong: string;
  /** What it logged of the file. */
  readonly lines: readonly string[];
}

interface TrialStart {
  readonly node: string;
  readonly nodeFlags: readonly string[];
}

/** A file that kubedns finds at a start without the API server. */
interface BadFile {
  readonly name: string;
  /** Makes what is at the path, of a good snapshot. */
  readonly make: (path: string, good: GoodSnapshot) => Promise<void> | void;
  /** The reason that is logged; without one it is served until the API server is back. */
  readonly reason?: RegExp;
}

interface GoodSnapshot {
  readonly bytes: Buffer;
  readonly header: SnapshotHeader;
  readonly lines: readonly string[];
  /** That of another cluster. */
  readonly foreign: Buffer;
}

const HOUR_MS = 3_600_000;
const HUGE_BYTES = 65 * 1024 * 1024;
const SERVICES = 300;
const KNOWN = 's1.shop.svc.cluster.local';
const KNOWN_ADDRESS = '10.120.0.1';
const FOREIGN_NETWORK = 130;
const INJECTED = 'www.example.com';
const INJECTED_ADDRESS = '192.0.2.66';
/** The API server has 2 s; then there is the file. */
const DECIDED_MS = 10_000;
const BACK_MS = 35_000;
const TOGETHER = 3;

async function encoded(header: SnapshotHeader, lines: Iterable<string>): Promise<Buffer> {
  return Buffer.concat(await Readable.from(encodeSnapshot(header, lines)).toArray());
}

/** Lines with what a file of a stranger may have: other shapes, names outside of the zone, and addresses that are none. */
function* hostileLines(lines: readonly string[]): Generator<string> {
  yield* ['', '{', 'null', '[]', '"text"', '{"resource":"services"}', '['.repeat(10_000)];
  yield `{"__proto__":{"polluted":1},"constructor":{"prototype":{}}}`;
  for (const [i, line] of lines.entries()) {
    if (i % 3 === 0) yield line.replaceAll(/"s\d+"/g, `"${INJECTED}."`);
    if (i % 3 === 1)
      yield line.replaceAll(/\d+\.\d+\.\d+\.\d+/g, INJECTED_ADDRESS).replaceAll('shop', '..');
    if (i % 3 === 2) yield line.replaceAll(/"[^"]*"/g, '7');
  }
}

const FILES: readonly BadFile[] = [
  { name: 'none', make: () => undefined },
  { name: 'empty', make: (path) => writeFileSync(path, ''), reason: /no snapshot/ },
  {
    name: 'torn',
    make: (path, { bytes }) => writeFileSync(path, bytes.subarray(0, bytes.length >> 1)),
    reason: /checksum/,
  },
  {
    name: 'one byte is another',
    make: (path, { bytes }) => {
      const changed = Buffer.from(bytes);
      changed[bytes.length >> 1]! ^= 1;
      writeFileSync(path, changed);
    },
    reason: /checksum/,
  },
  {
    name: 'older than --snapshot-max-age',
    make: async (path, { header, lines }) => {
      const old = Object.assign({}, header, { writtenMs: Date.now() - 25 * HOUR_MS });
      writeFileSync(path, await encoded(old, lines));
    },
    reason: /s old/,
  },
  {
    name: 'from the future',
    make: async (path, { header, lines }) => {
      const late = Object.assign({}, header, { writtenMs: Date.now() + HOUR_MS });
      writeFileSync(path, await encoded(late, lines));
    },
    reason: /of a time to come/,
  },
  {
    name: 'of another program',
    make: async (path, { header, lines }) => {
      const other = Object.assign({}, header, { kind: 'node-cache' });
      writeFileSync(path, await encoded(other, lines));
    },
    reason: /of node-cache/,
  },
  {
    name: 'of the header alone',
    make: async (path) => {
      writeFileSync(path, await encoded({ kind: 'kubedns', writtenMs: Date.now() }, []));
    },
    reason: /./,
  },
  {
    name: 'huge',
    make: (path) => {
      writeFileSync(path, '');
      truncateSync(path, HUGE_BYTES);
    },
    reason: /more than/,
  },
  { name: 'a folder', make: (path) => mkdirSync(path), reason: /no regular file/ },
  {
    name: 'a pipe',
    make: (path) => {
      execFileSync('mkfifo', [path]);
    },
    reason: /no regular file|no snapshot/,
  },
  {
    name: 'a link to /dev/zero',
    make: (path) => symlinkSync('/dev/zero', path),
    reason: /no regular file|ELOOP|too many/i,
  },
  { name: 'another cluster’s', make: (path, { foreign }) => writeFileSync(path, foreign) },
  {
    name: 'hostile lines under a right checksum',
    make: async (path, { header, lines }) => {
      writeFileSync(path, await encoded(header, hostileLines(lines)));
    },
  },
];

/** A way in which a file cannot be written: what a shell does before it becomes kubedns. */
const UNWRITABLE: readonly { readonly name: string; readonly shell: string }[] = [
  {
    name: 'on a disk that is full',
    shell: 'mount -t tmpfs -o size=64k none "$0"; head -c 64k /dev/zero >"$0/other"',
  },
  {
    name: 'in a folder that is read-only',
    shell: 'mount --bind "$0" "$0"; mount -o remount,bind,ro "$0"',
  },
];

/** A cluster whose API server can be taken away. */
class TrialCluster {
  readonly api: ApiServer;
  readonly #owned: Owned;
  readonly #start: TrialStart;

  private constructor(api: ApiServer, owned: Owned, start: TrialStart) {
    this.api = api;
    this.#owned = owned;
    this.#start = start;
  }

  static async start(network: number, owned: Owned, start: TrialStart): Promise<TrialCluster> {
    const services = Array.from({ length: SERVICES }, (_, i) =>
      service(`s${i}`, `10.${network}.${i >> 8}.${i & 0xff}`),
    );
    const api = await createApiServer({
      seed: (objects) => objects.load([namespace('default'), namespace('shop'), ...services]),
    });
    owned.add(api);
    return new TrialCluster(api, owned, start);
  }

  async kubedns(apiUrl: string, path: string, through: readonly string[] = []): Promise<Kubedns> {
    const { node, nodeFlags } = this.#start;
    const flags = [`--kube-master-url=${apiUrl}`, `--snapshot-file=${path}`, '--drain-time=0s'];
    return this.#owned.add(await startKubedns({ node, nodeFlags, through, flags }));
  }

  /** What kubedns writes when it ends. */
  async written(path: string): Promise<Buffer> {
    const kubedns = await this.kubedns(this.api.url, path);
    await kubedns.ready();
    await kubedns.server.close('SIGTERM');
    return readFileSync(path);
  }
}

/** Starts a kubedns without the API server for each file, and gives it the API server then. */
export async function fileTrials(start: TrialStart, owned: Owned): Promise<readonly FileTrial[]> {
  const { path: folder } = owned.add(new TemporaryFolder());
  const cluster = await TrialCluster.start(120, owned, start);
  const other = await TrialCluster.start(FOREIGN_NETWORK, owned, start);
  const bytes = await cluster.written(join(folder, 'good'));
  const { header, lines } = decodeSnapshot(bytes, { kind: 'kubedns', maxAgeMs: HOUR_MS });
  const good = {
    bytes,
    header,
    lines: await Readable.from(lines).toArray(),
    foreign: await other.written(join(folder, 'foreign')),
  };
  const trials = FILES.map((file, i) => async () => {
    const path = join(folder, `file-${i}`);
    await file.make(path, good);
    return tryFile(file, path, cluster, owned);
  });
  const unwritable = UNWRITABLE.map(({ name, shell }, i) => () => {
    const own = join(folder, `unwritable-${i}`);
    mkdirSync(own);
    return tryUnwritable(name, shell, own, cluster);
  });
  const all = [...trials, ...unwritable];
  const results: FileTrial[] = [];
  const next = async () => {
    for (let trial = all.shift(); trial !== undefined; trial = all.shift()) {
      results.push(await trial());
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, next));
  return results;
}

async function textOf(kubedns: Kubedns, name: string): Promise<string> {
  try {
    const { rcode, answers } = await ask(kubedns.ports.dns, name, { limitMs: 5_000 });
    const found = answers.flatMap((each) => (each.type === 'A' ? [each.data] : []));
    return found.length > 0 ? found.join() : rcode;
  } catch {
    return 'no answer';
  }
}

const linesAbout = (kubedns: Kubedns, path: string) =>
  kubedns.server.output
    .split('\n')
    .filter((line) => line.includes(path) && !/^I\d+ .*(?:flag|setting)/i.test(line))
    .map((line) => line.replace(/^.*?\] /, '').replace(path, 'FILE'));

async function tryFile(
  { name, reason }: BadFile,
  path: string,
  cluster: TrialCluster,
  owned: Owned,
): Promise<FileTrial> {
  const wrong: string[] = [];
  const front = owned.add(await ApiFront.start(cluster.api.port));
  await front.close();
  const kubedns = await cluster.kubedns(front.url, path);
  const isServed = () => /answers are from|snapshot/.test(linesAbout(kubedns, path).join('\n'));
  if (name === 'none') await delay(DECIDED_MS / 2);
  else if (!(await becomesTrue(isServed, { limitMs: DECIDED_MS })))
    wrong.push('no line of the log');
  const lines = linesAbout(kubedns, path);
  if (reason !== undefined) {
    if (lines.length !== 1) wrong.push(`${lines.length} lines: ${lines.join('; ')}`);
    if (!reason.test(lines[0] ?? '')) wrong.push('another reason');
    const status = await kubedns.readiness();
    if (status !== 503) wrong.push(`/readiness ${status}`);
    const text = await textOf(kubedns, KNOWN);
    if (text !== 'SERVFAIL') wrong.push(`a name is ${text}`);
  }
  const outside = await textOf(kubedns, INJECTED);
  if (/^\d/.test(outside)) wrong.push(`${INJECTED} is ${outside}`);
  await front.open();
  const isRight = async () =>
    (await textOf(kubedns, KNOWN)) === KNOWN_ADDRESS && (await kubedns.readiness()) === 200;
  if (!(await becomesTrue(isRight, { limitMs: BACK_MS, stepMs: 100 })))
    wrong.push(`after the return of the API server a name is ${await textOf(kubedns, KNOWN)}`);
  if (!kubedns.server.isRunning) wrong.push(`it has ended: ${kubedns.server.lastLines}`);
  await kubedns.close();
  await front.close();
  return { file: name, wrong: wrong.join('; '), lines };
}

async function tryUnwritable(
  name: string,
  shell: string,
  folder: string,
  cluster: TrialCluster,
): Promise<FileTrial> {
  const wrong: string[] = [];
  const path = join(folder, 'snapshot');
  const through = ['unshare', '--mount', 'sh', '-ec', `${shell}; exec "$@"`, folder];
  const kubedns = await cluster.kubedns(cluster.api.url, path, through);
  await kubedns.ready();
  const text = await textOf(kubedns, KNOWN);
  if (text !== KNOWN_ADDRESS) wrong.push(`a name is ${text}`);
  kubedns.server.signal('SIGTERM');
  await kubedns.server.ended;
  const lines = linesAbout(kubedns, path);
  if (lines.length !== 1 || lines[0]?.includes('is not written: ') !== true)
    wrong.push(`${lines.length} lines: ${lines.join('; ')}`);
  return { file: name, wrong: wrong.join('; '), lines };
}
