import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { LocalAnswer } from '@kube-dns/daemon';
import { held } from '@kube-dns/testkit';
import { encodeQuery } from '@kube-dns/wire';
import { answerTo, observed } from '../test/observed.js';
import type { QuerySink } from './observed-answer.js';
import { queryPages } from './query-pages.js';
import { Telemetry } from './telemetry.js';

const WAIT_MS = 500;
const GONE_MS = 5_000;

let telemetry: Telemetry;
let sinks: Set<QuerySink>;
let pages: ReturnType<typeof queryPages>;

beforeEach(() => {
  jest.useFakeTimers(held('setTimeout', 'clearTimeout'));
  telemetry = new Telemetry();
  sinks = new Set();
  telemetry.add = (sink) => void sinks.add(sink);
  telemetry.remove = (sink) => void sinks.delete(sink);
  pages = queryPages(telemetry);
});
afterEach(() => void jest.useRealTimers());

function page(path: string, parameters: Record<string, string> = {}): Promise<LocalAnswer> {
  return Promise.resolve(pages.get(path)!(new URLSearchParams(parameters)));
}

interface LogPage {
  readonly dropped: number;
  readonly lines: readonly { readonly qname: string }[];
  readonly error?: string;
}

/** What a reader gets now: it does not wait longer. */
async function read(reader: number, name?: string): Promise<LogPage> {
  const id = reader.toString(16).padStart(16, '0');
  const answer = page('/querylog', { reader: id, ...(name !== undefined && { name }) });
  await jest.advanceTimersByTimeAsync(WAIT_MS);
  return JSON.parse((await answer).body) as LogPage;
}

function answer(name: string): void {
  const query = encodeQuery({ id: 7, name, type: 'A' });
  for (const sink of sinks) sink.answered!(observed({ query, message: answerTo(query) }));
}

const namesOf = ({ lines }: LogPage) => lines.map(({ qname }) => qname);

describe('/querylog', () => {
  it('gives a reader the answers since its last request', async () => {
    answer('before.test');
    expect(await read(1)).toEqual({ dropped: 0, lines: [] });
    answer('a.test');
    answer('b.test');
    const first = await read(1);
    expect(namesOf(first)).toEqual(['a.test.', 'b.test.']);
    expect(first.lines[0]).toMatchObject({ client_ip: '192.0.2.1', qtype: 'A', rcode: 'NOERROR' });
    answer('c.test');
    expect(namesOf(await read(1))).toEqual(['c.test.']);
  });

  it('waits half a second for the first one', async () => {
    await read(1);
    const answered = page('/querylog', { reader: '0000000000000001' });
    await jest.advanceTimersByTimeAsync(WAIT_MS - 1);
    answer('a.test');
    expect((await answered).body).toContain('"a.test."');
  });

  it('has those of a name and below it alone, where one is asked for', async () => {
    await read(1, 'shop.Test');
    for (const name of ['shop.test', 'web.shop.test', 'workshop.test', 'test']) answer(name);
    expect(namesOf(await read(1))).toEqual(['shop.test.', 'web.shop.test.']);
  });

  it('drops what a slow reader has no room for, and counts it', async () => {
    await read(1);
    for (let i = 0; i < 5_000; i++) answer(`n${i}.test`);
    const { dropped, lines } = await read(1);
    expect(dropped).toBeGreaterThan(0);
    expect(dropped + lines.length).toBe(5_000);
    expect((await read(1)).dropped).toBe(0);
    // The ring has room again, from its start.
    for (let i = 0; i < 500; i++) answer(`n${i}.test`);
    expect((await read(1)).lines).toHaveLength(500);
  });

  it('has four readers at a time, of which one that does not come back is gone after five seconds', async () => {
    for (const reader of [1, 2, 3, 4]) await read(reader);
    expect((await read(5)).error).toBe('4 readers have the query log already');
    expect(sinks.size).toBe(4);
    await read(1);
    await jest.advanceTimersByTimeAsync(GONE_MS - WAIT_MS - 1);
    expect(sinks.size).toBe(1);
    expect((await read(5)).error).toBeUndefined();
  });

  it.each([
    [{}, 'reader= must be 16 hexadecimal digits'],
    [{ reader: 'x' }, 'reader= must be 16 hexadecimal digits'],
    [{ reader: '0123456789abcdef', name: 'a..b' }, 'name= must be a domain name'],
  ])('refuses %j', async (parameters, error) => {
    const { status, body } = await page('/querylog', parameters);
    expect([status, JSON.parse(body)]).toEqual([400, { error }]);
    expect(sinks.size).toBe(0);
  });
});

it('/top has who asks most and for what', async () => {
  const query = encodeQuery({ id: 7, name: 'a.test', type: 'A' });
  telemetry.top.note(observed({ query, message: answerTo(query, 3) }), 2);
  expect(JSON.parse((await page('/top')).body)).toEqual({
    clients: [{ client: '192.0.2.1', questions: 2, error: 0 }],
    names: [{ name: 'a.test', questions: 2, error: 0 }],
    nxdomainNames: [{ name: 'a.test', questions: 2, error: 0 }],
  });
});
