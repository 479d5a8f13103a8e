// Bundles a program into one CommonJS file: `node bundle.mjs ENTRY OUTFILE`.
//
// CommonJS, because a banner then runs before any import: a Node that is too old gets one line
// instead of a stack trace from the middle of a dependency.
import { chmodSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { build } from 'esbuild';

const [entry, outfile] = process.argv.slice(2);
if (!entry || !outfile) {
  console.error('usage: node bundle.mjs ENTRY OUTFILE');
  process.exit(2);
}
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const root = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const [major, minor] = root.engines.node.match(/\d+/g).map(Number);
const program = basename(outfile, '.cjs');

const banner = `#!/usr/bin/env node
(function () {
  var v = process.versions.node.split('.').map(Number);
  if (v[0] > ${major} || (v[0] === ${major} && v[1] >= ${minor})) return;
  process.stderr.write('${program}: needs Node ${major}.${minor} or newer, this is ' + process.version + '\\n');
  process.exit(1);
})();`;

await build({
  entryPoints: [entry],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node18', // only the syntax: an old Node must be able to parse the file to reach the banner
  supported: { 'dynamic-import': true },
  external: ['koffi'],
  define: { 'process.env.KUBE_DNS_VERSION': JSON.stringify(version) },
  banner: { js: banner },
  legalComments: 'none',
  logLevel: 'warning',
});
chmodSync(outfile, 0o755);
