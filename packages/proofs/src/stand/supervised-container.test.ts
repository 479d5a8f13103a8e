import { afterEach, describe, expect, it } from '@jest/globals';
import { comesTrue } from '@kube-dns/testkit';
import { SupervisedContainer } from './supervised-container.js';

const running: SupervisedContainer[] = [];

afterEach(async () => {
  for (const one of running.splice(0)) await one.close();
});

function start(code: string): SupervisedContainer {
  const spec = {
    name: 'thing',
    node: process.execPath,
    nodeFlags: [],
    program: '-e',
    args: [code],
  };
  const container = new SupervisedContainer(spec, 500);
  running.push(container);
  return container;
}

describe('a container that is looked after', () => {
  it('is started again each time it ends, and says with what it did', async () => {
    const container = start('process.stderr.write("taken\\n"); process.exitCode = 2;');
    expect(await comesTrue(() => container.ends.length >= 2, { limitMs: 30_000, stepMs: 10 })).toBe(
      true,
    );
    expect(container.ends.slice(0, 2)).toEqual(['2: taken', '2: taken']);
  }, 60_000);

  it('is another process after it was killed', async () => {
    const container = start('setInterval(() => {}, 1_000);');
    const { pid } = container;
    container.signal('SIGKILL');
    expect(await comesTrue(() => container.pid !== pid, { limitMs: 30_000, stepMs: 10 })).toBe(
      true,
    );
    expect(container.ends).toEqual(['SIGKILL: ']);
  }, 60_000);

  it('stays away once it is closed', async () => {
    const container = start('setInterval(() => {}, 1_000);');
    const { pid } = container;
    await container.close();
    await container.close();
    expect(container.pid).toBe(pid);
    expect(container.ends).toEqual([]);
    expect(() => process.kill(pid, 0)).toThrow();
  }, 60_000);
});
