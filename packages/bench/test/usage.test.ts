import { afterEach, describe, expect, it } from '@jest/globals';
import { endPrograms, ownedBy, TemporaryFolder } from '@kube-dns/testkit';
import { startBench } from './bench-process.js';

const own = ownedBy(afterEach);
afterEach(() => endPrograms('SIGINT'));

describe('the bench', () => {
  it('--help without a reader ends without a stack', async () => {
    const bench = startBench(['--help']);
    await bench.hangUp('stdout');
    expect(await bench.ended).toBe(0);
    expect(bench.stderr).toBe('');
  });

  it.each([
    [['--help'], 0, /^Usage: bench COMMAND/],
    [['kubedns-scale', '--help'], 0, /--headless=N/],
    [[], 2, /^bench: no command: dns, .*\n$/],
    [['nonsense'], 2, /^bench: no command "nonsense"; see bench --help\n$/],
    [['dns', '--help'], 0, /^Usage: bench dns .*--only=NAME,… +workloads.*--kube-dns=PATH/s],
    [['internals', '--help'], 0, /^Usage: bench internals .*--only=NAME,… +parts.*--rounds=N/s],
    [['dnsmasq-load', '--only=x'], 2, /unknown flag --only; see bench dnsmasq-load --help\n$/],
  ])('answers %j with status %d', async (args, status, text) => {
    const bench = startBench(args);
    expect(await bench.ended).toBe(status);
    expect(status === 0 ? bench.stdout : bench.stderr).toMatch(text);
  });

  it('reports that there is no dnsperf', async () => {
    const bench = startBench(['dns'], own(new TemporaryFolder()).path);
    expect(await bench.ended).toBe(1);
    expect(bench.stderr).toContain('bench: there is no dnsperf on this machine');
  });
});
