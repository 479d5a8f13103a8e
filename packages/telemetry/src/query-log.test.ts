import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { parseQueryLogRules } from '@kube-dns/daemon';
import { held, until } from '@kube-dns/testkit';
import { encodeQuery, RCODE } from '@kube-dns/wire';
import { answerTo, observed, type ObservedFields } from '../test/observed.js';
import { type BlockOutput, QueryLog } from './query-log.js';

const QUERY = encodeQuery({ id: 7, name: 'a.test', type: 'A' });
const DEFAULTS: ObservedFields = { query: QUERY, message: answerTo(QUERY) };
/** Longer than the ring, which takes 1 MiB. */
const MANY = 10_000;
/** How long a line waits for others, and the end for the reader. */
const BLOCK_MS = 20;
const LAST_BLOCKS_MS = 1_000;

beforeEach(() => void jest.useFakeTimers(held('setTimeout', 'clearTimeout')));
afterEach(() => void jest.useRealTimers());

/** An output that takes blocks when it is asked to. */
class Reader implements BlockOutput {
  blockBytes = 64 * 1_024;
  text = '';
  blocks = 0;
  isStopped = false;
  isGone = false;
  onBlock: ((block: string) => void) | undefined;
  #take: ((most?: number) => void) | undefined;

  write(bytes: Uint8Array, start: number, end: number, done: (written: number) => void): void {
    this.blocks++;
    this.#take = (most = end - start) => {
      this.#take = undefined;
      const block = Buffer.from(bytes.subarray(start, start + most)).toString('latin1');
      if (!this.isGone) this.text += block;
      this.onBlock?.(block);
      done(this.isGone ? -1 : most);
    };
    if (!this.isStopped) setImmediate(() => this.#take?.());
  }

  /** Takes the block that waits, or its first bytes; and the next ones, unless it is stopped again at once. */
  goOn(most?: number): void {
    this.isStopped = most !== undefined;
    this.#take?.(most);
  }

  get lines(): string[] {
    return this.text.split('\n').slice(0, -1);
  }
}

function logTo(reader: Reader, rules: string, random?: () => number): QueryLog {
  const log = new QueryLog({ createOutput: () => reader, ...(random && { random }) });
  log.use(parseQueryLogRules(rules));
  return log;
}

/** Of these answers, the names that get a line. */
async function loggedNames(
  rules: string,
  answers: readonly (Partial<ObservedFields> & { name: string; rcode?: number })[],
): Promise<string[]> {
  const reader = new Reader();
  const log = logTo(reader, rules, () => 0.5);
  for (const { name, rcode, ...fields } of answers) {
    const query = encodeQuery({ id: 1, name, type: 'A' });
    const message = answerTo(query, rcode);
    log.answered(observed({ message, ...fields, query }));
  }
  await log.close();
  return reader.lines.map((line) => / IN (\S*)\. /.exec(line)![1]!);
}

describe('which answers get a line', () => {
  const answers = [
    { name: 'nodata.test' },
    { name: 'nxdomain.test', rcode: RCODE.NXDOMAIN },
    { name: 'truncated.test', message: Buffer.from('000783000001000000000000', 'hex') },
    { name: 'servfail.test', rcode: RCODE.SERVFAIL },
    { name: 'refused.test', rcode: RCODE.REFUSED },
    { name: 'unanswered.test', message: undefined },
    { name: 'slow.test', ms: 1_000 },
  ];
  const ALWAYS = ['servfail.test', 'refused.test', 'unanswered.test', 'slow.test'];

  it('are all of them without settings', async () => {
    expect(await loggedNames('text', answers)).toEqual(answers.map(({ name }) => name));
  });

  it.each([
    ['class=error', []],
    ['class=denial', ['nodata.test', 'nxdomain.test']],
    ['class=success', ['truncated.test']],
    ['name=nxdomain.test,name=x.test', ['nxdomain.test']],
    ['sample=2', []],
  ])('are with %s those, and failures and slow ones always', async (setting, others) => {
    const logged = await loggedNames(`text,${setting}`, answers);
    expect(logged.sort()).toEqual([...others, ...ALWAYS].sort());
  });

  it('are slow from slow= on', async () => {
    const timed = [
      { name: 'quick.test', ms: 49.9 },
      { name: 'slow.test', ms: 50 },
    ];
    expect(await loggedNames('text,class=error,slow=50', timed)).toEqual(['slow.test']);
  });

  it('are at or below a name, whole labels of it', async () => {
    const names = ['b.test', 'x.B.test', 'ab.test', 'test'].map((name) => ({ name }));
    expect(await loggedNames('text,name=b.test', names)).toEqual(['b.test', 'x.b.test']);
  });

  it('are one in N, by chance: clients ask in turns', async () => {
    const reader = new Reader();
    const log = logTo(reader, 'json,sample=10');
    for (let i = 0; i < MANY; i++) log.answered(observed(DEFAULTS));
    await log.close();
    // Ten standard deviations.
    expect(Math.abs(reader.lines.length - MANY / 10)).toBeLessThan(300);
  });
});

describe('QueryLog', () => {
  it('writes lines together, and every one of them', async () => {
    const reader = new Reader();
    const log = logTo(reader, 'text');
    for (let i = 0; i < 100; i++) log.answered(observed(DEFAULTS));
    jest.advanceTimersByTime(BLOCK_MS - 1);
    expect([log.written, reader.blocks]).toEqual([0, 0]);
    jest.advanceTimersByTime(1);
    await until(() => log.written === 100);
    expect([reader.lines.length, reader.blocks, log.dropped]).toEqual([100, 1, 0]);
  });

  it('drops and counts lines while they are not read, and goes on with whole ones', async () => {
    const reader = new Reader();
    const log = logTo(reader, 'json');
    reader.isStopped = true;
    for (let i = 0; i < MANY; i++) log.answered(observed(DEFAULTS));
    await until(() => reader.blocks === 1);
    expect(log.dropped).toBeGreaterThan(MANY / 3);
    reader.goOn();
    await log.close();
    log.answered(observed(DEFAULTS));
    jest.advanceTimersByTime(BLOCK_MS);
    await until(() => log.written + log.dropped === MANY + 1);
    expect(reader.lines.length).toBe(log.written);
    for (const line of reader.lines) JSON.parse(line);
  });

  it('goes on by itself when its reader does, with all that waits and all that comes', async () => {
    const reader = new Reader();
    const log = logTo(reader, 'json');
    reader.isStopped = true;
    for (let i = 0; i < MANY; i++) log.answered(observed(DEFAULTS));
    await until(() => reader.blocks === 1);
    const { dropped } = log;
    expect([dropped > 0, log.written, reader.text]).toEqual([true, 0, '']);
    reader.goOn();
    const goesOn = () => {
      jest.advanceTimersByTime(BLOCK_MS);
      return log.written === MANY - dropped;
    };
    await until(goesOn);
    expect(reader.lines.length).toBe(MANY - dropped);
    for (let i = 0; i < 10; i++) log.answered(observed(DEFAULTS));
    jest.advanceTimersByTime(BLOCK_MS);
    await until(() => log.written === MANY - dropped + 10);
    expect([reader.lines.length, log.dropped]).toEqual([log.written, dropped]);
  });

  it('counts as dropped what waits when its reader goes, and what comes later', async () => {
    const reader = new Reader();
    const log = logTo(reader, 'text');
    reader.isStopped = true;
    for (let i = 0; i < 10; i++) log.answered(observed(DEFAULTS));
    jest.advanceTimersByTime(BLOCK_MS);
    expect(reader.blocks).toBe(1);
    reader.isGone = true;
    reader.goOn();
    for (let i = 0; i < 10; i++) log.answered(observed(DEFAULTS));
    await log.close();
    expect([log.written, log.dropped, reader.blocks]).toEqual([0, 20, 1]);
  });

  it('loses no line when its rules change', async () => {
    const reader = new Reader();
    const log = logTo(reader, 'text');
    log.answered(observed(DEFAULTS));
    log.use(parseQueryLogRules('json'));
    log.answered(observed(DEFAULTS));
    log.use(parseQueryLogRules('off'));
    await log.close();
    expect(reader.lines.map((line) => line[0])).toEqual(['1', '{']);
  });

  it('writes whole lines, however small the blocks', async () => {
    const reader = new Reader();
    reader.blockBytes = 4_096;
    const blocks: string[] = [];
    reader.onBlock = (block) => blocks.push(block);
    const log = logTo(reader, 'json');
    for (let i = 0; i < 1_000; i++) log.answered(observed(DEFAULTS));
    await until(() => {
      jest.advanceTimersByTime(BLOCK_MS);
      return log.written === 1_000;
    });
    expect(blocks.filter((block) => !block.endsWith('}\n') || block.length > 4_096)).toEqual([]);
    expect(blocks.length).toBeGreaterThan(50);
  });

  it('counts what still waits at the end as dropped, a line that is written in part included', async () => {
    const reader = new Reader();
    const log = logTo(reader, 'text');
    reader.isStopped = true;
    for (let i = 0; i < MANY; i++) log.answered(observed(DEFAULTS));
    const before = log.dropped;
    await until(() => reader.blocks === 1);
    reader.goOn(1_000);
    const closed = log.close();
    jest.advanceTimersByTime(LAST_BLOCKS_MS);
    await closed;
    log.answered(observed(DEFAULTS));
    expect(reader.lines.length).toBe(log.written);
    expect([log.written + log.dropped, log.droppedAtEnd]).toEqual([
      MANY + 1,
      MANY - before - log.written,
    ]);
  });

  it('waits a second for its reader at the end, and no longer', async () => {
    const reader = new Reader();
    const log = logTo(reader, 'text');
    reader.isStopped = true;
    log.answered(observed(DEFAULTS));
    let isClosed = false;
    const closed = log.close().then(() => (isClosed = true));
    jest.advanceTimersByTime(LAST_BLOCKS_MS - 1);
    await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    jest.advanceTimersByTime(1);
    await closed;
    expect([log.written, log.dropped]).toEqual([0, 1]);
  });
});
