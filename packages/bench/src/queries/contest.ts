import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cpuUsage, type Owned, runDnsperf, TemporaryFolder, usageSince } from '@kube-dns/testkit';
import type { Mix } from './mixes.js';

/** A server that takes part. */
export interface Contestant {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** Undefined: a server elsewhere, whose CPU time is unknown. */
  readonly pid: number | undefined;
  /** The mixes that it is asked; undefined: all. */
  readonly mixes?: readonly string[];
}

/** What one server did with one mix in one round. */
export interface Score {
  readonly contestant: string;
  readonly mix: string;
  readonly round: number;
  readonly queriesPerSecond: number;
  /** CPU time in µs for each answered query; NaN where it is unknown. */
  readonly userUs: number;
  readonly systemUs: number;
  readonly lost: number;
  /** Answers with another rcode than the mix has. */
  readonly wrong: number;
}

/** How long and how often each server is asked each mix. */
export interface ContestOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly owned: Owned;
  readonly progress: (text: string) => void;
}

interface Run {
  readonly contestant: Contestant;
  readonly mix: Mix;
  readonly round: number;
  /** The mix as dnsperf reads it. */
  readonly file: string;
}

/** Gives every server the same mixes in turn, round after round: what drifts, drifts for all. */
export async function runContest(
  contestants: readonly Contestant[],
  mixes: readonly Mix[],
  options: ContestOptions,
): Promise<readonly Score[]> {
  const { rounds, owned, progress } = options;
  const folder = owned.add(new TemporaryFolder());
  const files = mixes.map(({ name, lines }) => {
    const file = join(folder.path, name);
    writeFileSync(file, `${lines.join('\n')}\n`);
    return file;
  });
  const scores: Score[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const [i, mix] of mixes.entries()) {
      const asked = contestants.filter(({ mixes: own }) => own?.includes(mix.name) ?? true);
      for (const contestant of asked) {
        progress(`round ${round} of ${rounds}: ${mix.name}, ${contestant.name}`);
        scores.push(await runOnce({ contestant, mix, round, file: files[i]! }, options));
      }
    }
  }
  return scores;
}

async function runOnce(
  { contestant, mix, round, file }: Run,
  { seconds, owned }: ContestOptions,
): Promise<Score> {
  const { name, pid } = contestant;
  const before = pid === undefined ? undefined : cpuUsage(pid);
  const { queriesPerSecond, completed, lost, rcodes } = await runDnsperf(contestant, {
    file,
    seconds,
    owned,
  });
  const used = before && pid !== undefined ? usageSince(before, cpuUsage(pid)) : undefined;
  const perQuery = (ms: number | undefined) => (1_000 * (ms ?? Number.NaN)) / completed;
  return {
    contestant: name,
    mix: mix.name,
    round,
    queriesPerSecond,
    userUs: perQuery(used?.userMs),
    systemUs: perQuery(used?.systemMs),
    lost,
    wrong: completed - (rcodes[mix.rcode] ?? 0),
  };
}
