// The site alone: `node packages/docs/main.mjs [--open] FOLDER` builds it into FOLDER; --open serves it.
import { fileURLToPath } from 'node:url';
import { buildSite, serveSite } from './site.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const [out] = process.argv.slice(2).filter((arg) => !arg.startsWith('-'));
if (out === undefined) {
  process.stderr.write('usage: node packages/docs/main.mjs [--open] FOLDER\n');
  process.exit(2);
}
const pages = buildSite(root, out);
process.stdout.write(`docs: ${pages.length} pages in ${out}\n`);
if (process.argv.includes('--open')) await serveSite(out);
