import { afterEach, expect, it } from '@jest/globals';
import { collectGarbage } from './idle-collection.js';

const { gc } = globalThis;
afterEach(() => void (globalThis.gc = gc));

it('collects all garbage where Node lets a program do so, and does nothing elsewhere', () => {
  const asked: unknown[] = [];
  globalThis.gc = undefined;
  collectGarbage(0);
  globalThis.gc = ((options: unknown) => void asked.push(options)) as NodeJS.GCFunction;
  collectGarbage(0);
  expect(asked).toEqual([{ type: 'major', execution: 'sync', flavor: 'last-resort' }]);
});

it('leaves a large heap to V8, which collects it in steps', () => {
  let collections = 0;
  globalThis.gc = (() => void collections++) as NodeJS.GCFunction;
  const mib = 2 ** 20;
  for (const heapMib of [10, 24, 25, 200]) collectGarbage(heapMib * mib);
  expect(collections).toBe(2);
});
