import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { FAULTS } from '../src/faults/fault-table.js';

const DOCUMENT = fileURLToPath(new URL('../FAULTS.md', import.meta.url));

/** The rows of all tables of the document, without heads and rules. */
function documentedRows(): readonly (readonly string[])[] {
  return readFileSync(DOCUMENT, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

it('FAULTS.md has the rows of the command, in their order', () => {
  expect(documentedRows()).toEqual(
    FAULTS.map(({ id, happens, clients, reasons, duration, metrics, shows }) => {
      const codes = reasons?.join(', ') ?? 'none';
      return [`\`${id}\``, happens, clients, codes, duration, metrics, shows?.text ?? 'Nothing'];
    }),
  );
});

it('no two rows have the same name', () => {
  expect(new Set(FAULTS.map(({ id }) => id)).size).toBe(FAULTS.length);
});
