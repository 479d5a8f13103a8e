import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  ask,
  endPrograms,
  freePort,
  QueryLoad,
  type RunningProgram,
  ScriptedNameServer,
  statistic,
  until,
} from '@kube-dns/testkit';
import { runDnsmasq } from './processes.js';

/**
 * Each client has a different port, by which the system chooses a process: one of two gets less than a tenth of this many
 * once in 5 million runs.
 */
const CLIENTS = 40;
const QUERIES = 2_000;

let upstream: ScriptedNameServer;
let port: number;
beforeEach(async () => {
  upstream = await ScriptedNameServer.start(() => ({ answers: addressRecords(100, '10.0.0.1') }));
  port = await freePort();
});
afterEach(async () => {
  await endPrograms();
  await upstream.close();
});

/** Runs a server on the port, with others or not. */
function start(...options: readonly string[]): RunningProgram {
  const own = ['--listen-address=127.0.0.1', `--port=${port}`, `--server=${upstream.text}`];
  return runDnsmasq('--', ...own, '--no-resolv', '--cache-size=1000', ...options);
}

async function startSharing(): Promise<RunningProgram> {
  const process = start('--reuse-port', '--query-timeout=60000');
  await process.waitForLine('serving on port');
  return process;
}

/** How many queries a process has answered, by its statistics. */
async function answeredBy(process: RunningProgram): Promise<number> {
  process.signal('SIGUSR1');
  await process.waitForLine('queries answered locally');
  const counts = /queries forwarded (\d+), queries answered locally (\d+)/.exec(process.stderr)!;
  return Number(counts[1]) + Number(counts[2]);
}

describe('two processes on one port', () => {
  it('each get a share, and one ends, and one starts, without a lost query', async () => {
    const [first, second] = [await startSharing(), await startSharing()];
    // Most names are in the cache soon; some are new, and wait for the server upstream.
    const nameOf = (client: number) => (n: number) =>
      n % 50 === 0 ? `new${n}.client${client}.example` : `n${n % 60}.example`;
    const loads = Array.from({ length: CLIENTS }, (_, i) => new QueryLoad(port, nameOf(i)));
    const asked = () => loads.reduce((total, load) => total + load.asked, 0);
    try {
      await until(() => asked() > QUERIES);
      const shares = [await answeredBy(first), await answeredBy(second)];
      expect(Math.min(...shares)).toBeGreaterThan(QUERIES / 20);
      first.signal('SIGTERM');
      expect(await first.ended).toBe(0);
      expect((await ask(port, { name: 'a.example' }, { isOverTcp: true })).texts).toEqual([
        'A 10.0.0.1',
      ]);
      const third = await startSharing();
      const before = asked();
      await until(() => asked() > before + QUERIES);
      expect(await answeredBy(third)).toBeGreaterThan(QUERIES / 20);
      await Promise.all(loads.map((load) => load.stop()));
      expect(loads.map(({ unanswered }) => unanswered)).toEqual(loads.map(() => 0));
      const answers = new Set(loads.flatMap((load) => [...load.answers.keys()]));
      expect([...answers]).toEqual(['A 10.0.0.1']);
      expect(second.stderr).not.toMatch(/unexpected error/);
    } finally {
      await Promise.all(loads.map((load) => load.close()));
    }
  });
});

describe('a process without --reuse-port', () => {
  it('shares its port with no other', async () => {
    await start().waitForLine('serving on port');
    const other = start('--reuse-port');
    expect(await other.ended).toBe(2);
    expect(other.stderr).toMatch(
      new RegExp(`cannot listen on 127.0.0.1:${port} over (UDP|TCP): address already in use`),
    );
    expect(await statistic(port, 'hits.bind')).toBe(0);
  });
});
