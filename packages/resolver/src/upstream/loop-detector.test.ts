import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readQuery } from '@kube-dns/wire';
import { encodeQuery, ScriptedNameServer, until } from '@kube-dns/testkit';
import { LoopDetector } from './loop-detector.js';

let upstreams: ScriptedNameServer[];
let messages: string[];
let loops: number;
let detector: LoopDetector;
let nowMs: number;

beforeEach(async () => {
  upstreams = [
    await ScriptedNameServer.start(() => null),
    await ScriptedNameServer.start(() => null),
  ];
  messages = [];
  loops = 0;
  nowMs = 1_000;
  detector = new LoopDetector({ warn: (message) => messages.push(message) }, () => nowMs);
  detector.listen(() => loops++);
});

afterEach(async () => {
  detector.close();
  await Promise.all(upstreams.map((upstream) => upstream.close()));
});

const servers = () => upstreams.map(({ port }) => ({ address: '127.0.0.1', port }));

/** Sends probes and returns the name that each server was asked for. */
async function probe(): Promise<string[]> {
  const before = upstreams.map(({ requests }) => requests.length);
  detector.probe(servers());
  await until(() => upstreams.every(({ requests }, i) => requests.length > before[i]!));
  return upstreams.map(({ names }) => names.at(-1)!);
}

const comesBack = (name: string, type = 'TXT') =>
  detector.isOwnProbe(readQuery(encodeQuery({ name, type })));

describe('the loop detector', () => {
  it('asks each server for a different, unpredictable name', async () => {
    const names = await probe();
    expect(new Set([...names, ...(await probe())]).size).toBe(4);
    for (const name of names) expect(name).toMatch(/^[0-9a-f]{8}\.test$/);
    const [request] = upstreams[0]!.requests;
    expect([request?.question.type, request?.protocol]).toEqual(['TXT', 'udp']);
  });

  it('asks for a name of a zone where that is given', async () => {
    detector.probe(servers(), 'cluster.local');
    await until(() => upstreams.every(({ requests }) => requests.length > 0));
    expect(upstreams[0]!.names[0]).toMatch(/^[0-9a-f]{8}\.cluster\.local$/);
  });

  it('finds the server whose question arrives here, and logs it once', async () => {
    const names = await probe();
    expect(comesBack(names[1]!)).toBe(true);
    expect(comesBack(names[1]!.toUpperCase())).toBe(true);
    expect(servers().map((server) => detector.isLooping(server))).toEqual([false, true]);
    expect(loops).toBe(1);
    expect(messages).toEqual([`NOT using nameserver ${upstreams[1]!.text} - query loop detected`]);
  });

  it('attack 18: who repeats a probe that a server saw disables it until it is probed again, no longer', async () => {
    detector.close();
    detector = new LoopDetector({ warn: (message) => messages.push(message) }, () => nowMs, 20);
    detector.listen(() => loops++);
    const [name] = await probe();
    const [attacked, other] = upstreams;
    expect(comesBack(name!)).toBe(true);
    expect(servers().map((server) => detector.isLooping(server))).toEqual([true, false]);
    await until(() => attacked!.requests.length > 1);
    expect(servers().map((server) => detector.isLooping(server))).toEqual([false, false]);
    expect(loops).toBe(2);
    expect(other!.requests).toHaveLength(1);
    // The old name means nothing; a real loop brings the new one back, and is logged once.
    expect(comesBack(attacked!.names.at(-1)!)).toBe(true);
    expect(detector.isLooping(servers()[0]!)).toBe(true);
    expect(messages).toHaveLength(1);
  });

  it('ignores every other question', async () => {
    const [name] = await probe();
    expect(comesBack(name!, 'A')).toBe(false);
    expect(comesBack(`x.${name}`)).toBe(false);
    expect(comesBack(name!.replace('.test', '.example'))).toBe(false);
    expect(comesBack('12345678.test')).toBe(false);
    expect(loops).toBe(0);
  });

  it('knows the name of a probe for five seconds', async () => {
    const [first, second] = await probe();
    nowMs += 4_999;
    expect(comesBack(first!)).toBe(true);
    nowMs += 1;
    expect(comesBack(second!)).toBe(false);
    expect(loops).toBe(1);
  });

  it('forgets loops and probes', async () => {
    const [name] = await probe();
    comesBack(name!);
    detector.reset();
    expect(detector.isLooping(servers()[0]!)).toBe(false);
    expect(comesBack(name!)).toBe(false);
  });

  it('does not treat an answer as a loop', async () => {
    for (const upstream of upstreams) upstream.script = () => ({});
    await probe();
    expect(servers().some((server) => detector.isLooping(server))).toBe(false);
  });
});
