import { comesTrue, type Dnsmasq, MeasureError } from '@kube-dns/testkit';
import { startDnsmasq } from '../stand/pod-containers.js';
import { type Conduct, FakeUpstream } from '../stand/fake-upstream.js';
import { knownAddress } from '../stand/known-address.js';
import { type Seen, SteadyClient } from '../stand/steady-client.js';
import { tally, type Tally } from '../stand/tally.js';
import type { FaultBed } from './fault.js';

/** First byte of the addresses that the upstreams give. */
export const NETWORK = 10;
const RATE_PER_SECOND = 50;
/** Every second question is one of these, which are in the cache. */
const KEPT = Array.from({ length: 10 }, (_, i) => `kept-${i}.example`);
/** More than any row asks for. */
const FRESH_COUNT = 2_000;
/** Questions that upstreams answer: one that is kept, one that is new, and so on. */
export const NAMES: readonly string[] = Array.from({ length: FRESH_COUNT }, (_, i) => [
  KEPT[i % KEPT.length]!,
  `fresh-${i}.example`,
]).flat();
const WARM_LIMIT_MS = 30_000;
/** On a loaded machine an answer is late, not lost. */
const PATIENCE_MS = 10_000;
const STEP_MS = 20;
/** Questions after which the upstream that is asked is known. */
const SETTLED_AFTER = 60;

/** Whether an answer is the one that honest upstreams give. */
export function isRight({ name, text }: Seen): boolean {
  return text === knownAddress(name, NETWORK);
}

/** Whether a question was about a name that is in the cache. */
export function isKept({ name }: Seen): boolean {
  return name.startsWith('kept-');
}

/** A dnsmasq in front of upstreams that answer every name, and a client whose answers are known. */
export class UpstreamBed {
  readonly upstreams: readonly FakeUpstream[];
  readonly dnsmasq: Dnsmasq;
  readonly #client: SteadyClient;
  readonly #bed: FaultBed;

  private constructor(
    bed: FaultBed,
    upstreams: readonly FakeUpstream[],
    dnsmasq: Dnsmasq,
    client: SteadyClient,
  ) {
    this.#bed = bed;
    this.upstreams = upstreams;
    this.dnsmasq = dnsmasq;
    this.#client = client;
  }

  /** Starts it all, and waits until all is well and some names are in the cache. */
  static async start(bed: FaultBed, count: number): Promise<UpstreamBed> {
    const { node, nodeFlags, owned } = bed;
    const upstreams: FakeUpstream[] = [];
    for (let i = 0; i < count; i++) {
      upstreams.push(owned.add(await FakeUpstream.start({ network: NETWORK })));
    }
    const args = ['--cache-size=1000', ...upstreams.map(({ text }) => `--server=${text}`)];
    const dnsmasq = owned.add(await startDnsmasq({ node, nodeFlags, args }));
    await dnsmasq.ready();
    const questions = {
      port: dnsmasq.ports.dns,
      names: NAMES,
      ratePerSecond: RATE_PER_SECOND,
      patienceMs: PATIENCE_MS,
    };
    const client = owned.add(await SteadyClient.start(questions));
    const isWarm = () =>
      client.seen.length >= SETTLED_AFTER && client.seen.slice(-20).every(isRight);
    if (!(await comesTrue(isWarm, { limitMs: WARM_LIMIT_MS, stepMs: STEP_MS }))) {
      throw new MeasureError('the client has no right answers before the fault');
    }
    return new UpstreamBed(bed, upstreams, dnsmasq, client);
  }

  /** The upstream that questions go to at the moment. */
  async preferred(): Promise<FakeUpstream> {
    const before = this.upstreams.map(({ received }) => received);
    const sent = this.#client.seen.length;
    // Now and then all are asked: more than one question tells who is preferred.
    const hasAsked = () => this.#client.seen.length > sent + 20;
    if (!(await comesTrue(hasAsked, { limitMs: WARM_LIMIT_MS, stepMs: STEP_MS })))
      throw new MeasureError('no answers');
    const counts = this.upstreams.map(({ received }, i) => received - before[i]!);
    return this.upstreams[counts.indexOf(Math.max(...counts))]!;
  }

  setConduct(conduct: Conduct): void {
    for (const upstream of this.upstreams) upstream.conduct = conduct;
  }

  /** What a metric has once it is more than 0, or when that does not come. */
  async counted(metric: string, labels: Readonly<Record<string, string>>): Promise<number> {
    let value = 0;
    const isCounted = async () => {
      value = (await this.dnsmasq.metrics()).sum(metric, labels);
      return value > 0;
    };
    await comesTrue(isCounted, { limitMs: WARM_LIMIT_MS, stepMs: STEP_MS });
    return value;
  }

  /** Sends no more, and returns what became of the questions from a moment on. */
  async seenSince(sinceMs: number): Promise<readonly Seen[]> {
    const seen = await this.#client.finish();
    return seen.filter(({ sentMs }) => sentMs >= sinceMs);
  }

  /** Waits until a name that is not in the cache was asked for after a moment, and answered right. */
  async rightAgain(sinceMs: number, limitMs: number): Promise<void> {
    const isFine = () =>
      this.#client.seen.some((seen) => seen.sentMs >= sinceMs && !isKept(seen) && isRight(seen));
    if (await comesTrue(isFine, { limitMs, stepMs: STEP_MS })) return;
    throw new MeasureError(`no right answer within ${limitMs / 1_000} s after all is well`);
  }

  /** As the function of that name does. */
  claimHonesty(seen: readonly Seen[], lateMs: number): { readonly fresh: Tally } {
    return claimHonesty(this.#bed, seen, lateMs);
  }
}

/** Claims what holds of every row: kept names are answered as ever, and nobody hears a wrong answer. */
export function claimHonesty(
  { claim }: Pick<FaultBed, 'claim'>,
  seen: readonly Seen[],
  lateMs: number,
): { readonly fresh: Tally } {
  const kept = tally(seen.filter(isKept), isRight);
  const fresh = tally(
    seen.filter((each) => !isKept(each)),
    isRight,
  );
  for (const { name, text } of [...kept.wrong, ...fresh.wrong].slice(0, 3)) {
    claim(false, `${name} was answered with ${text}`);
  }
  claim(kept.asked > 0 && kept.right === kept.asked, `names in the cache: ${text(kept)}`);
  const slow = `names in the cache took up to ${Math.round(kept.slowestMs)} ms`;
  claim(kept.slowestMs <= lateMs, slow);
  return { fresh };
}

/** What was seen, for a claim that does not hold. */
export function text({ asked, right, wrong, failed }: Tally): string {
  const failures = Object.entries(failed).map(([name, count]) => `, ${count} ${name}`);
  return `${right} of ${asked} right, ${wrong.length} wrong${failures.join('')}`;
}
