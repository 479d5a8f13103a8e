import { expect, it } from '@jest/globals';
import { readable } from './report.js';

it('no text of a name server reaches a terminal as it is', () => {
  expect(readable('a\u001b[2J\u009b1m\u202eb\n\u007f')).toBe('a\\x1b[2J\\x9b1m\\x202eb\\x0a\\x7f');
});
