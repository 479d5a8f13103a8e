import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/root.js';

/** The text of a file of the checkout. */
export const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** Every Markdown file of the checkout, by its path from the root. */
export const DOCUMENTS: readonly string[] = documentsBelow('');

function documentsBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) return entry.name.endsWith('.md') ? [path] : [];
    return /^(node_modules|dist|test|\..*)$/.test(entry.name) ? [] : documentsBelow(path);
  });
}
