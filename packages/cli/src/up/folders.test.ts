import { expect, it } from '@jest/globals';
import { displayPath } from './folders.js';

it.each([
  ['/work/pods/pod.yaml', '/work', 'pods/pod.yaml'],
  ['/work/pod.yaml', '/work/pods', '/work/pod.yaml'],
  ['/work', '/work', '/work'],
  ['../pod.yaml', '/work', '../pod.yaml'],
])('the path %s is shown in %s as %s', (path, cwd, shown) => {
  expect(displayPath(path, cwd)).toBe(shown);
});
