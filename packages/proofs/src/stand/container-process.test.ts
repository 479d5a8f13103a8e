import { afterEach, describe, expect, it } from '@jest/globals';
import { ContainerProcess } from './container-process.js';

const running: ContainerProcess[] = [];

afterEach(async () => {
  for (const one of running.splice(0)) await one.close();
});

function start(code: string): ContainerProcess {
  const container = new ContainerProcess({
    name: 'thing',
    node: process.execPath,
    nodeFlags: [],
    program: '-e',
    args: [code],
  });
  running.push(container);
  return container;
}

describe('a container', () => {
  it('that ends is missed, with its last words', async () => {
    const container = start('process.stderr.write("no such thing\\n"); process.exitCode = 3;');
    expect(await container.ended()).toBe('3');
    expect(() => container.check()).toThrow('thing ended with 3: no such thing');
  });

  it('gets signals, and is told to have ended by one', async () => {
    const container = start('setInterval(() => {}, 1_000);');
    expect(container.isRunning).toBe(true);
    container.signal('SIGTERM');
    expect(await container.ended()).toBe('SIGTERM');
    await container.close();
  });
});
