import { once } from 'node:events';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  ask,
  ConfigVolume,
  decodeMessage,
  encodeQuery,
  endPrograms,
  QueryLoad,
  ScriptedNameServer,
  statistic,
  until,
} from '@kube-dns/testkit';
import { frameMessage } from '@kube-dns/transport';
import { messagesOf, serve } from './processes.js';

let volume: ConfigVolume;
let upstreams: ScriptedNameServer[];
let elsewhere: string;

beforeEach(async () => {
  volume = await ConfigVolume.create();
  elsewhere = await mkdtemp(join(tmpdir(), 'dnsmasq-elsewhere-'));
  upstreams = await Promise.all(
    [1, 2, 3].map((n) =>
      ScriptedNameServer.start(() => ({ answers: addressRecords(100, `10.0.0.${n}`) })),
    ),
  );
});

afterEach(async () => {
  await endPrograms();
  await Promise.all(upstreams.map((upstream) => upstream.close()));
  await Promise.all([volume.remove(), rm(elsewhere, { recursive: true })]);
});

/** An upstream as the ConfigMap writes it, and as the log does. */
const server = (at: number) => `127.0.0.1:${upstreams[at]!.port}`;
const activeLog = (at: number) => `using nameserver ${upstreams[at]!.text} for domain corp.example`;
const corpAt = (at: number) => ({ stubDomains: { 'corp.example': [server(at)] } });

/** An interval that no test lives to see. */
const NEVER = '1h';

const serveWith = (interval: string) =>
  serve(
    ['--no-resolv', '--cache-size=10000'],
    [`-configDir=${volume.path}`, `-syncInterval=${interval}`, '-restartDnsmasq=true'],
  );

/** Asks over a TCP connection that stays. */
async function askOn(socket: Socket, name: string): Promise<readonly string[]> {
  socket.write(frameMessage(encodeQuery({ name })));
  const [frame] = (await once(socket, 'data')) as [Buffer];
  return decodeMessage(frame.subarray(2)).texts;
}

describe('a ConfigMap volume', () => {
  it('ends with the last of thirty swaps in a row', async () => {
    await volume.put(corpAt(0));
    const { port, process } = await serveWith('100ms');
    for (let swap = 0; swap < 30; swap++) await volume.put(corpAt(swap % 2));
    await volume.put(corpAt(2));
    await process.waitForLine(activeLog(2));
    expect((await ask(port, 'a.corp.example')).texts).toEqual(['A 10.0.0.3']);
    expect(messagesOf(process).filter((line) => /not JSON|cannot/.test(line))).toEqual([]);
  });

  it('is read at each interval where the file system reports no change', async () => {
    await writeFile(join(elsewhere, 'stubDomains'), JSON.stringify(corpAt(0).stubDomains));
    await symlink(join(elsewhere, 'stubDomains'), join(volume.path, 'stubDomains'));
    const [soon, late] = await Promise.all([serveWith('100ms'), serveWith(NEVER)]);
    // Nothing happens in the directory itself: it has a link to a file elsewhere.
    await writeFile(join(elsewhere, 'next'), JSON.stringify(corpAt(1).stubDomains));
    await rename(join(elsewhere, 'next'), join(elsewhere, 'stubDomains'));
    await soon.process.waitForLine(activeLog(1));
    expect(late.process.stderr).not.toContain(activeLog(1));
    await writeFile(join(volume.path, 'unrelated'), '');
    await late.process.waitForLine(activeLog(1));
  });

  it('retains its last state while it is gone, which is logged once', async () => {
    await volume.put(corpAt(0));
    const { port, process } = await serveWith('100ms');
    await volume.remove();
    await process.waitForLine(`${volume.path}: no such file or directory`);
    expect((await ask(port, 'a.corp.example')).texts).toEqual(['A 10.0.0.1']);
    await mkdir(volume.path);
    await writeFile(join(volume.path, 'stubDomains'), JSON.stringify(corpAt(1).stubDomains));
    await process.waitForLine(activeLog(1));
    expect(process.stderr.match(/no such file/g)).toHaveLength(1);
    expect((await ask(port, 'b.corp.example')).texts).toEqual(['A 10.0.0.2']);
  });
});

describe('a change of the ConfigMap', () => {
  const lab = () => ({ 'lab.example': [server(2)] });
  const withLab = (at: number) => ({ stubDomains: { ...corpAt(at).stubDomains, ...lab() } });

  it('loses no query of a client that continues to ask', async () => {
    await volume.put(withLab(0));
    const { port, process } = await serveWith('100ms');
    const load = new QueryLoad(port, (n) => `n${n}.${n % 2 === 0 ? 'corp' : 'lab'}.example`);
    try {
      for (const at of [1, 0, 1]) {
        const { asked } = load;
        const before = messagesOf(process).filter((line) => line === activeLog(at)).length;
        await volume.put(withLab(at));
        await until(
          activeLog(at),
          () => messagesOf(process).filter((line) => line === activeLog(at)).length > before,
        );
        await until(() => load.asked > asked + 50);
      }
      await load.stop();
      expect(load.unanswered).toBe(0);
      expect([...load.answers.keys()].sort()).toEqual(['A 10.0.0.1', 'A 10.0.0.2', 'A 10.0.0.3']);
      expect(await statistic(port, 'misses.bind')).toBe(load.asked);
    } finally {
      await load.close();
    }
  });

  it('drops from the cache what is below changed domains; all else stays a hit', async () => {
    await volume.put(withLab(0));
    const { port, process } = await serveWith(NEVER);
    const misses = () => statistic(port, 'misses.bind');
    await ask(port, 'a.corp.example');
    await ask(port, 'a.lab.example');
    await volume.put(withLab(1));
    await process.waitForLine(activeLog(1));
    expect(await misses()).toBe(2);
    expect(await statistic(port, 'insertions.bind')).toBe(2);
    expect((await ask(port, 'a.lab.example')).texts).toEqual(['A 10.0.0.3']);
    expect(await misses()).toBe(2);
    expect((await ask(port, 'a.corp.example')).texts).toEqual(['A 10.0.0.2']);
    expect(await misses()).toBe(3);
    // The hits of before count on: the three readings, one hit, and this one not yet.
    expect(await statistic(port, 'hits.bind')).toBe(5);
  });

  it('is active as soon as it is swapped, long before the interval ends; no connection is closed', async () => {
    await volume.put(corpAt(0));
    const { port, process } = await serveWith(NEVER);
    const socket = connect(port, '127.0.0.1');
    try {
      expect(await askOn(socket, 'a.corp.example')).toEqual(['A 10.0.0.1']);
      await volume.put(corpAt(1));
      await process.waitForLine(activeLog(1));
      expect(await askOn(socket, 'b.corp.example')).toEqual(['A 10.0.0.2']);
      expect((await ask(port, 'c.corp.example')).texts).toEqual(['A 10.0.0.2']);
    } finally {
      socket.destroy();
    }
  });
});

describe('a ConfigMap with a mistake', () => {
  it('is refused whole, for each kind of mistake; what is right beside it is not used either', async () => {
    await volume.put(corpAt(0));
    const { port, process } = await serveWith(NEVER);
    const mistakes: readonly (readonly [key: string, value: unknown, reason: string])[] = [
      ['stubDomains', '{"corp.example": [', 'stubDomains: not JSON'],
      ['upstreamNameservers', { a: 1 }, 'upstreamNameservers: not an array'],
      [
        'stubDomains',
        { 'corp.example': ['127.0.0.1:0'] },
        'stubDomains: server "127.0.0.1:0": port 0 cannot be asked',
      ],
    ];
    for (const [key, value, reason] of mistakes) {
      const right = key === 'stubDomains' ? { upstreamNameservers: [server(1)] } : corpAt(1);
      await volume.put({ ...right, [key]: value });
      await process.waitForLine(`config: ${reason}`);
      await until(() => messagesOf(process).at(-1)!.includes('keeping the previous configuration'));
      expect((await ask(port, 'a.corp.example')).texts).toEqual(['A 10.0.0.1']);
      expect((await ask(port, 'a.example')).rcode).toBe('REFUSED');
    }
    await volume.put(corpAt(1));
    await process.waitForLine(activeLog(1));
    expect((await ask(port, 'b.corp.example')).texts).toEqual(['A 10.0.0.2']);
  });
});
