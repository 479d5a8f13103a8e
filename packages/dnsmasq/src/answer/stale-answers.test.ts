import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  ask,
  ednsText,
  type Message,
  type ScriptedReply,
  soaRecord,
  until,
} from '@kube-dns/testkit';
import { EDNS_OPTION, RCODE } from '@kube-dns/wire';
import { AnswererTestbed, type AnswererSetup, TIMEOUT_MS } from '../../test/answerer-testbed.js';
import { reasonsOf } from '../../test/answer-view.js';
import { parseOptions } from '../options/parse-options.js';
import { EdnsOptions, Neighbours } from '../upstream/edns-options.js';

const STALE = { timeoutMs: 50, maxAgeSeconds: 3_600, ttlSeconds: 30 };
/** How long a failure is remembered (RFC 9520 section 3.2). */
const FAILURE_MS = 1_000;
const OLD = 'A 10.0.0.1';
const NEW = 'A 10.0.0.2';

let testbed: AnswererTestbed;
/** What the server says from now on. */
let says: () => ScriptedReply;

beforeEach(async () => {
  testbed = await AnswererTestbed.create();
  says = () => ({ answers: addressRecords(10, '10.0.0.1') });
  testbed.upstream.script = () => says();
});

afterEach(() => testbed.close());

const silent = () => null;
const fresh = () => ({ answers: addressRecords(10, '10.0.0.2') });
const question = (name: string) => ({ name, ednsBytes: 1232 });
const get = (name = 'a.example') => ask(testbed.port, question(name));
/** The answer to a question that a client has waited for as long as it does where there is an expired one. */
const getLate = (name = 'a.example') => testbed.late(STALE.timeoutMs, () => get(name));
/** That of one that it has waited for until the time-out. */
const getLast = () => testbed.late(TIMEOUT_MS, () => get());
/** The question that is in flight has no reply, and that is not remembered any more. */
function endFlight(): void {
  testbed.pass(TIMEOUT_MS);
  testbed.pass(FAILURE_MS);
}
const askedOf = (name = 'a.example') =>
  testbed.upstream.requests.filter((each) => each.name === name).length;

/** The text of an answer's Extended DNS Error. */
function reasonText({ additionals }: Message): string {
  const options = additionals.flatMap((record) => (record.type === 'OPT' ? record.options : []));
  const found = options.find(
    (option) => (option as { code: number }).code === EDNS_OPTION.EXTENDED_ERROR,
  );
  return found !== undefined && 'data' in found ? String(found.data).slice(2) : '';
}

/** A name is cached, and has expired for 5 s. */
async function startExpired(setup: AnswererSetup = {}, ...names: string[]): Promise<void> {
  await testbed.start({ stale: STALE, ...setup });
  for (const name of ['a.example', ...names]) await get(name);
  testbed.now += 15;
}

describe('an expired answer', () => {
  it('is given when the server is silent, with its TTL, its age and EDE 3', async () => {
    await startExpired();
    says = silent;
    const answer = await getLate();
    expect(answer.texts).toEqual([OLD]);
    expect(answer.ttls).toEqual([30]);
    expect(reasonsOf(answer)).toEqual([3]);
    expect(reasonText(answer)).toBe('expired 5 s ago');
    expect(testbed.counters).toMatchObject({ staleAnswers: 1, staleReasons: { timeout: 1 } });
  });

  it('is refreshed with the same data of the client', async () => {
    const { ednsChanges } = parseOptions(['--add-cpe-id=x', '--conf-file=/dev/null']);
    const ednsOptions = new EdnsOptions(ednsChanges, new Neighbours(), testbed.log);
    await testbed.start({ cache: { maxStaleSeconds: 3_600 }, options: { ednsOptions } });
    await get();
    testbed.now += 15;
    says = fresh;
    expect((await get()).texts).toEqual([OLD]);
    const { requests } = testbed.upstream;
    await until(() => requests.length === 2);
    expect(requests.map(({ query }) => ednsText(query))).toEqual(Array(2).fill('1232 | 65074 78'));
  });

  it('is not given when the server answers in time', async () => {
    await startExpired();
    says = fresh;
    expect((await get()).texts).toEqual([NEW]);
    expect((await get()).texts).toEqual([NEW]);
    expect(askedOf()).toBe(2);
    expect(testbed.counters.staleAnswers).toBe(0);
  });

  it.each([RCODE.SERVFAIL, RCODE.REFUSED, 1, 4])('is given in place of rcode %i', async (rcode) => {
    await startExpired();
    says = () => ({ rcode });
    expect((await get()).texts).toEqual([OLD]);
    expect((await get()).texts).toEqual([OLD]);
    expect(askedOf()).toBe(2);
    expect(testbed.counters.staleReasons).toEqual({ timeout: 0, failure: 1, known: 1 });
  });

  it('is replaced by a reply that comes later', async () => {
    await startExpired();
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    testbed.upstream.script = async () => {
      await released;
      return fresh();
    };
    expect((await getLate()).texts).toEqual([OLD]);
    release();
    await until(() => testbed.cache.insertions === 2);
    expect((await get()).texts).toEqual([NEW]);
    expect(askedOf()).toBe(2);
  });

  it.each([true, false])('gives way to NXDOMAIN, cached or not (%s)', async (cachesNegatives) => {
    await startExpired({ caching: { cachesNegatives } });
    says = () => ({ rcode: RCODE.NXDOMAIN, authorities: [soaRecord(60)] });
    expect((await get()).rcode).toBe('NXDOMAIN');
    testbed.now += 100;
    says = silent;
    const answer = await (cachesNegatives ? getLate() : getLast());
    expect(answer.rcode).toBe(cachesNegatives ? 'NXDOMAIN' : 'SERVFAIL');
    if (cachesNegatives) expect(reasonsOf(answer)).toEqual([19]);
  });

  it('gives way to NODATA', async () => {
    await startExpired();
    says = () => ({ authorities: [soaRecord(60)] });
    expect(await get()).toMatchObject({ rcode: 'NOERROR', texts: [] });
    testbed.now += 100;
    says = silent;
    const answer = await getLate();
    expect(answer).toMatchObject({ rcode: 'NOERROR', texts: [] });
    expect(reasonsOf(answer)).toEqual([19]);
  });

  it('is gone when it is too old', async () => {
    await startExpired({ stale: { ...STALE, maxAgeSeconds: 20 } });
    says = silent;
    testbed.now += 10;
    expect((await getLate()).ttls).toEqual([5]);
    testbed.now += 5;
    testbed.pass(TIMEOUT_MS);
    expect((await get()).rcode).toBe('SERVFAIL');
  });

  it('attack 27: is gone when it is too old, however often it was asked for', async () => {
    await startExpired({ stale: { ...STALE, maxAgeSeconds: 20 } });
    says = silent;
    const given: boolean[] = [];
    // It has expired for 5 s.
    for (let second = 6; second <= 21; second++) {
      testbed.now++;
      testbed.pass(FAILURE_MS);
      const [answer] = await Promise.all([getLast()]);
      given.push(answer.texts.join() === OLD);
    }
    expect(given).toEqual([...Array<boolean>(14).fill(true), false, false]);
  });

  it('of the cluster is gone after a minute', async () => {
    await startExpired({ options: { isOfCluster: () => true } });
    says = silent;
    testbed.now += 54;
    expect((await getLate()).texts).toEqual([OLD]);
    testbed.now += 1;
    testbed.pass(TIMEOUT_MS);
    expect((await get()).rcode).toBe('SERVFAIL');
  });

  it('of the cluster is none when it is NXDOMAIN, so that clients ask again', async () => {
    says = () => ({ rcode: RCODE.NXDOMAIN, authorities: [soaRecord(10)] });
    await startExpired({ options: { isOfCluster: () => true } });
    says = silent;
    const answer = await getLast();
    expect(answer.rcode).toBe('SERVFAIL');
    expect(reasonsOf(answer)).toEqual([22]);
    testbed.pass(FAILURE_MS);
    says = fresh;
    expect((await get()).texts).toEqual([NEW]);
  });

  it('of the cluster stays when it is NODATA', async () => {
    says = () => ({ authorities: [soaRecord(10)] });
    await startExpired({ options: { isOfCluster: () => true } });
    says = silent;
    const answer = await getLate();
    expect(answer).toMatchObject({ rcode: 'NOERROR', texts: [] });
    expect(reasonsOf(answer)).toEqual([19]);
  });

  it('is given where there is no place for the question', async () => {
    await startExpired();
    says = silent;
    const others = Array.from({ length: 100 }, (_, i) => get(`n${i}.a.example`));
    await until(() => testbed.upstream.requests.length > 100);
    expect((await get()).texts).toEqual([OLD]);
    testbed.pass(TIMEOUT_MS);
    await Promise.all(others);
  });

  it('is given over TCP, and to a client without EDNS, who gets no reason', async () => {
    await startExpired();
    says = silent;
    const overTcp = () => ask(testbed.port, { name: 'a.example' }, { isOverTcp: true });
    expect((await testbed.late(STALE.timeoutMs, overTcp)).texts).toEqual([OLD]);
    expect(await ask(testbed.port, 'a.example')).toMatchObject({ texts: [OLD], additionals: [] });
  });

  it('is none for a question with DO', async () => {
    await startExpired();
    says = silent;
    const withDo = { ...question('a.example'), isDnssecOk: true };
    const answer = await testbed.late(TIMEOUT_MS, () => ask(testbed.port, withDo));
    expect(answer.rcode).toBe('SERVFAIL');
  });

  it('is logged when a client gets it', async () => {
    await startExpired({ logsQueries: true });
    says = silent;
    await getLate();
    expect(testbed.log.messages.at(-1)).toBe('cached-stale a.example is 10.0.0.1');
  });
});

describe('the reasons that a server gave', () => {
  /** A reply with an Extended DNS Error. */
  const explained = () => ({
    answers: addressRecords(10, '10.0.0.1'),
    options: [`15 001d${Buffer.from('made up').toString('hex')}`],
  });

  it('are the same on a miss and on a hit, and say that they are the server’s', async () => {
    testbed.upstream.script = explained;
    await testbed.start({ stale: STALE });
    for (let i = 0; i < 2; i++) {
      const answer = await get();
      expect(reasonsOf(answer)).toEqual([29]);
      expect(reasonText(answer)).toBe('upstream: made up');
    }
    expect(askedOf()).toBe(1);
    expect(await ask(testbed.port, 'a.example')).toMatchObject({ additionals: [] });
  });

  it('stay beside that of an expired answer', async () => {
    testbed.upstream.script = explained;
    await startExpired();
    testbed.upstream.script = silent;
    expect(reasonsOf(await getLate())).toEqual([3, 29]);
  });
});

describe('a question that was asked in vain', () => {
  it('is asked once in 30 s, whatever clients ask', async () => {
    await startExpired();
    says = () => ({ rcode: RCODE.SERVFAIL });
    for (let i = 0; i < 29; i++) {
      expect((await get()).texts).toEqual([OLD]);
      testbed.pass(1_000);
    }
    expect(askedOf()).toBe(2);
    testbed.pass(2_000);
    says = fresh;
    expect((await get()).texts).toEqual([NEW]);
  });

  it('is asked once for many clients at the same time', async () => {
    await startExpired();
    says = silent;
    const all = Array.from({ length: 50 }, () => get());
    const answers = await testbed.late(STALE.timeoutMs, () => Promise.all(all));
    expect(answers.every(({ texts: [text] }) => text === OLD)).toBe(true);
    expect(askedOf()).toBe(2);
  });

  it('is asked again once a server that was silent has replied to another', async () => {
    await startExpired({}, 'b.example');
    says = silent;
    expect((await getLate()).texts).toEqual([OLD]);
    endFlight();
    expect((await get()).texts).toEqual([OLD]);
    says = fresh;
    expect((await get('b.example')).texts).toEqual([NEW]);
    expect((await get()).texts).toEqual([NEW]);
  });

  it('is asked again once a server that was silent has replied to a probe', async () => {
    await startExpired();
    says = silent;
    expect((await getLate()).texts).toEqual([OLD]);
    endFlight();
    says = fresh;
    expect((await get()).texts).toEqual([OLD]);
    await until(async () => (await get()).texts[0] === NEW);
  });

  it('is not asked again when servers that reply to others leave it unanswered', async () => {
    await startExpired({}, 'b.example');
    testbed.upstream.script = ({ name }) => (name === 'a.example' ? null : fresh());
    const first = get();
    await until(() => askedOf() === 2);
    testbed.pass(1);
    await get('b.example');
    testbed.pass(STALE.timeoutMs);
    expect((await first).texts).toEqual([OLD]);
    const asked = askedOf();
    expect((await get()).texts).toEqual([OLD]);
    expect(askedOf()).toBe(asked);
  });
});
