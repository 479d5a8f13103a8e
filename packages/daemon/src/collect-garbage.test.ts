import { afterEach, expect, it } from '@jest/globals';
import { collectGarbage } from './idle-collection.js';

const { gc } = globalThis;
afterEach(() => void (globalThis.gc = gc));

it('collects all garbage where Node lets a program do so, and does nothing elsewhere', () => {
  const asked: unknown[] = [];
  globalThis.gc = undefined;
  collectGarbage();
  globalThis.gc = ((options: unknown) => void asked.push(options)) as NodeJS.GCFunction;
  collectGarbage();
  expect(asked).toEqual([{ type: 'major', execution: 'sync', flavor: 'last-resort' }]);
});
