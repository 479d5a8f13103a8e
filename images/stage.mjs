// Lays out what the images hold: `node images/stage.mjs FOLDER [PROGRAM...]`, after the packages are built.
// FOLDER/PROGRAM becomes /app of the image: one bundle, its licences, its bill of materials, and the native
// accelerator for the programs that have one, if it is installed.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { acceleratorPlaces, billOf } from './sbom.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const ACCELERATED = { kubedns: true, dnsmasq: true, sidecar: false };
// What `import('koffi')` reads: the programs, CommonJS though they are, load it that way.
const KOFFI_FILES = [
  'package.json',
  'LICENSE.txt',
  'index.js',
  'src/koffi/index.js',
  'src/koffi/src/static.js',
];
const [folder, ...chosen] = process.argv.slice(2);
const programs = chosen.length > 0 ? chosen : Object.keys(ACCELERATED);
const unknown = programs.find((program) => !Object.hasOwn(ACCELERATED, program));
if (!folder || unknown !== undefined) {
  console.error('usage: node images/stage.mjs FOLDER [kubedns|dnsmasq|sidecar...]');
  process.exit(2);
}

for (const program of programs) stage(program, join(folder, program));

function stage(program, target) {
  const bundle = join(root, 'packages', program, 'dist', `${program}.cjs`);
  if (!existsSync(bundle)) {
    console.error(`stage: ${bundle} is missing: run npm run build first`);
    process.exit(1);
  }
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  cpSync(bundle, join(target, `${program}.cjs`));
  cpSync(join(root, 'LICENSE'), join(target, 'LICENSE'));
  cpSync(bundle.replace(/\.cjs$/, '.licenses.txt'), join(target, 'THIRD-PARTY-LICENSES'));
  const accelerator = ACCELERATED[program] && stageAccelerator(join(target, 'node_modules'));
  const bill = billOf(program, accelerator ? acceleratorPlaces() : []);
  writeFileSync(join(target, 'sbom.cdx.json'), `${JSON.stringify(bill, undefined, 2)}\n`);
  console.log(`stage: ${program} in ${target}, ${accelerator || 'without the native accelerator'}`);
}

/** Copies of koffi what `import('koffi')` reads on this platform; its name and version, or undefined. */
function stageAccelerator(nodeModules) {
  const require = createRequire(join(root, 'packages', 'transport', 'package.json'));
  const main = findPackage(require, 'koffi');
  if (main === undefined) return undefined;
  const name = `@koromix/koffi-${process.platform}-${process.arch}`;
  const platform = findPackage(createRequire(join(main, 'package.json')), name);
  if (platform === undefined) return undefined;
  // The rest of it is the source of the native part, 2 MB.
  for (const file of KOFFI_FILES) cpSync(join(main, file), join(nodeModules, 'koffi', file));
  cpSync(platform, join(nodeModules, name), { recursive: true });
  return `koffi ${JSON.parse(readFileSync(join(main, 'package.json'), 'utf8')).version}`;
}

/** The folder of an installed package. Not by `require.resolve`: `exports` may hide the package.json. */
function findPackage(require, name) {
  for (const folder of require.resolve.paths(name) ?? []) {
    if (existsSync(join(folder, name, 'package.json'))) return realpathSync(join(folder, name));
  }
  return undefined;
}
