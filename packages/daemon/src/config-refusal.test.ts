import { describe, expect, it } from '@jest/globals';
import { logRefusedConfig } from './config-directory.js';
import { ConfigError } from './errors.js';
import { createLog } from './log.js';

describe('the log of a refused configuration', () => {
  it.each([
    [21, '1 more mistake;'],
    [22, '2 more mistakes;'],
  ])('has 20 of %i mistakes, and counts the others', (count, end) => {
    const lines: string[] = [];
    const log = createLog({ name: 'test', verbosity: 0, write: (line) => lines.push(line) });
    logRefusedConfig(log, new ConfigError(Array.from({ length: count }, () => 'wrong')));
    expect(lines).toHaveLength(21);
    expect(lines.at(-1)).toContain(`config: ${end}`);
  });
});
