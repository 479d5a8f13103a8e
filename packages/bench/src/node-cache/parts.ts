import { setTimeout as delay } from 'node:timers/promises';
import {
  anonymousBytes,
  ask,
  monotonicMs,
  Owned,
  rssBytes,
  runDnsperf,
  TemporaryFolder,
} from '@kube-dns/testkit';
import { encodeQuestionFile, inRandomOrder, type LoadQuestion } from '../queries/question-file.js';
import { ControlGroup } from '../control-group/control-group.js';
import {
  type NodeCachePrograms,
  type NodeCacheSubject,
  NodeCacheTestbed,
  OUR_NODE_CACHE,
} from './node-cache-testbed.js';
import type { MeasureContext } from '../workloads/part.js';
import { WORLD_TTL_SECONDS, ZONES } from './template.js';

/** What the parts of the measurement share. */
export interface PartContext extends MeasureContext {
  readonly programs: NodeCachePrograms;
  /** Names that are asked for from the cache, names of which each block caches one, and edits of the template. */
  readonly names: number;
  readonly cached: number;
  readonly edits: number;
}

const MIB = 2 ** 20;
const MEMORY_RATIO = 0.5;
const MEMORY = { unit: 'MiB', digits: 1 };
const FILL_SECONDS = 60;
const OUTSTANDING = 100;
const OTHER_TTL_SECONDS = 20;
const EDIT_MS = 500;
const EDIT_LIMIT_MS = 90_000;
const STEP_MS = 2;
const MILLI_CPUS = 50;
const LIMITED_PER_SECOND = 6_000;
const WARM_UP_SECONDS = 2;

/** As many names in a zone, all different. */
export function namesIn(zone: string, count: number): readonly LoadQuestion[] {
  const end = zone === '.' ? 'example' : zone;
  return Array.from({ length: count }, (_, i) => ({ name: `host-${i}.${end}`, type: 'A' }));
}

async function withSubjects(
  { programs, cores, owned }: PartContext,
  use: (subjects: readonly NodeCacheSubject[], own: Owned) => Promise<void>,
): Promise<void> {
  const own = owned.add(new Owned());
  const testbed = await NodeCacheTestbed.create(programs, own, cores);
  await use(await testbed.subjects(), own);
  await own.close();
}

function dnsperf(
  { cores }: PartContext,
  own: Owned,
  questions: readonly LoadQuestion[],
): (
  subject: NodeCacheSubject,
  options: { readonly seconds: number; readonly passes?: number },
) => ReturnType<typeof runDnsperf> {
  const folder = own.add(new TemporaryFolder());
  const file = folder.file('questions', encodeQuestionFile(inRandomOrder(questions)));
  const shared = { file, isBinary: true, outstanding: OUTSTANDING, core: cores?.load, owned: own };
  return ({ port }, options) => runDnsperf({ host: '127.0.0.1', port }, { ...shared, ...options });
}

/** Fills the caches of all blocks of new processes, which have all cores, as on a node. */
export async function measureMemory(shared: PartContext): Promise<void> {
  const context = { ...shared, cores: undefined };
  const { series, runs, seconds, cached, progress } = context;
  const answers = cached * ZONES.length;
  for (let run = 1; run <= runs; run++) {
    progress(`run ${run} of ${runs}: memory with ${answers} answers`);
    await withSubjects(context, async (subjects, own) => {
      const fill = dnsperf(
        context,
        own,
        ZONES.flatMap((zone) => namesIn(zone, cached)),
      );
      const seen = subjects.map(() => [] as number[]);
      for (const [i, subject] of subjects.entries()) {
        const note = (when: string) => {
          const anonymous = anonymousBytes(subject.pid) / MIB;
          series.add(`${subject.name}, anonymous memory ${when}`, anonymous, MEMORY);
          seen[i]!.push(anonymous);
        };
        note('without answers');
        await fill(subject, { seconds: FILL_SECONDS, passes: 1 });
        note(`with ${answers} answers`);
        series.add(`${subject.name}, RSS with them`, rssBytes(subject.pid) / MIB, MEMORY);
        await fill(subject, { seconds });
        note('after a load of these names');
        series.add(`${subject.name}, RSS after it`, rssBytes(subject.pid) / MIB, MEMORY);
        subject.check();
      }
      const [ours = [], original] = seen;
      if (original === undefined) return;
      const kind = { unit: '×', digits: 2, bar: { atMost: MEMORY_RATIO } };
      series.add('anonymous memory when filled, ours / original', ours[1]! / original[1]!, kind);
      series.add('anonymous memory after a load, ours / original', ours[2]! / original[2]!, kind);
    });
  }
}

/** Edits the template back and forth, and asks for new names until their TTL shows it. */
export async function measureEdits(context: PartContext): Promise<void> {
  const { series, edits, progress } = context;
  await withSubjects(context, async (subjects) => {
    for (const subject of subjects) {
      for (let edit = 1; edit <= edits; edit++) {
        progress(`edit ${edit} of ${edits}: ${subject.name}`);
        const seconds = edit % 2 === 1 ? OTHER_TTL_SECONDS : WORLD_TTL_SECONDS;
        const ms = await timeEdit(subject, edit, seconds);
        const bar = subject.name === OUR_NODE_CACHE ? { bar: { atMost: EDIT_MS } } : {};
        series.add(`${subject.name}, from edit to effect`, ms, { unit: 'ms', ...bar });
      }
    }
  });
}

async function timeEdit(subject: NodeCacheSubject, edit: number, seconds: number): Promise<number> {
  const startMs = monotonicMs();
  await subject.edit(seconds);
  for (let i = 0; monotonicMs() - startMs < EDIT_LIMIT_MS; i++) {
    const { answers } = await ask(subject.port, `n${i}.edit-${edit}.example`);
    const [record] = answers;
    if (record !== undefined && 'ttl' in record && record.ttl === seconds) {
      return monotonicMs() - startMs;
    }
    subject.check();
    await delay(STEP_MS);
  }
  return Number.NaN;
}

/** Hits with a twentieth of a CPU, after a warm-up with a whole one. */
export async function measureLimited(context: PartContext): Promise<void> {
  const { series, runs, seconds, names, progress, note, owned } = context;
  const own = owned.add(new Owned());
  const limits = ['bench-ours', 'bench-original'].map((name) => ControlGroup.create(name, 'cpu'));
  const refused = limits.find((limit) => typeof limit === 'string');
  for (const limit of limits) if (typeof limit !== 'string') own.add(limit);
  if (refused !== undefined) {
    note(`The limit of ${MILLI_CPUS}m CPU was left out: ${refused}`);
    await own.close();
    return;
  }
  await withSubjects({ ...context, owned: own }, async (subjects, inner) => {
    const load = dnsperf(context, inner, namesIn('.', names));
    for (const [i, subject] of subjects.entries()) {
      await load(subject, { seconds: Math.min(WARM_UP_SECONDS, seconds) });
      const limit = limits[i] as ControlGroup;
      limit.add(subject.pid);
      limit.limitCpu(MILLI_CPUS);
    }
    for (let run = 1; run <= runs; run++) {
      progress(`run ${run} of ${runs}: hits with ${MILLI_CPUS}m CPU`);
      for (const subject of subjects) {
        const { queriesPerSecond, lost } = await load(subject, { seconds });
        const bar = subject.name === OUR_NODE_CACHE ? { bar: { atLeast: LIMITED_PER_SECOND } } : {};
        series.add(`${subject.name}, hits with ${MILLI_CPUS}m CPU`, queriesPerSecond, {
          unit: 'queries/s',
          ...bar,
        });
        series.add(`${subject.name}, lost`, lost, { unit: '' });
        subject.check();
      }
    }
  });
  await own.close();
}
