// Lays out what the images hold: `node images/stage.mjs FOLDER [PROGRAM...]`, after the packages are built.
// FOLDER/PROGRAM becomes /app of the image: one bundle, its licences, its bill of materials, and the native
// accelerator for the programs that have one, if it is installed. With `--architectures=amd64,arm64` it is
// FOLDER/ARCHITECTURE/PROGRAM, for those and this machine's; npm fetches the accelerators of the others.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { acceleratorPlaces, billOf } from './sbom.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
/** What else lies beside a bundle. */
const FILES = { 'node-cache': ['bin/guard.sh'] };
const ACCELERATED = { kubedns: true, dnsmasq: true, sidecar: false, 'node-cache': true };
// What `import('koffi')` reads, if the program does not find the native part beside it.
const KOFFI_FILES = [
  'package.json',
  'LICENSE.txt',
  'index.js',
  'src/koffi/index.js',
  'src/koffi/src/static.js',
];
/** The names of processors in images, where they are not those of Node. */
const ARCHITECTURES = { x64: 'amd64', ppc64: 'ppc64le' };
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { architectures: { type: 'string' } },
});
const [folder, ...chosen] = positionals;
const programs = chosen.length > 0 ? chosen : Object.keys(ACCELERATED);
const unknown = programs.find((program) => !Object.hasOwn(ACCELERATED, program));
if (!folder || unknown !== undefined) {
  console.error(
    `usage: node images/stage.mjs [--architectures=NAME,...] FOLDER [${Object.keys(ACCELERATED).join('|')}...]`,
  );
  process.exit(2);
}

// What is built with an older Node may not run with a newer one, and the image of the build is often that of the base, too.
const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const [major, minor] = engines.node.match(/\d+/g).map(Number);
const [ownMajor, ownMinor] = process.versions.node.split('.').map(Number);
if (ownMajor < major || (ownMajor === major && ownMinor < minor)) {
  console.error(`stage: needs Node ${major}.${minor} or newer, this is ${process.version}`);
  process.exit(1);
}

/** Where npm puts what it fetches; gone at the end. */
const fetched = join(folder, 'fetched');
if (values.architectures === undefined) {
  for (const program of programs) stage(program, join(folder, program), process.arch);
} else {
  const wanted = values.architectures.split(',');
  const native = ARCHITECTURES[process.arch] ?? process.arch;
  for (const name of new Set([native, ...wanted])) {
    const [arch] = Object.entries(ARCHITECTURES).find(([, image]) => image === name) ?? [name];
    for (const program of programs) stage(program, join(folder, name, program), arch);
  }
  rmSync(fetched, { recursive: true, force: true });
}

/** For the user of the image, whatever the umask was when the checkout was made. */
function makeReadable(path) {
  const isFolder = statSync(path).isDirectory();
  chmodSync(path, isFolder || (statSync(path).mode & 0o100) !== 0 ? 0o755 : 0o644);
  if (isFolder) for (const name of readdirSync(path)) makeReadable(join(path, name));
}

function stage(program, target, arch) {
  const bundle = join(root, 'packages', program, 'dist', `${program}.cjs`);
  if (!existsSync(bundle)) {
    console.error(`stage: ${bundle} is missing: run npm run build first`);
    process.exit(1);
  }
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  cpSync(bundle, join(target, `${program}.cjs`));
  for (const file of FILES[program] ?? []) {
    cpSync(join(root, 'packages', program, file), join(target, basename(file)));
  }
  cpSync(join(root, 'LICENSE'), join(target, 'LICENSE'));
  cpSync(bundle.replace(/\.cjs$/, '.licenses.txt'), join(target, 'THIRD-PARTY-LICENSES'));
  const accelerator = ACCELERATED[program] && stageAccelerator(join(target, 'node_modules'), arch);
  const bill = billOf(program, accelerator ? acceleratorPlaces(arch) : []);
  writeFileSync(join(target, 'sbom.cdx.json'), `${JSON.stringify(bill, undefined, 2)}\n`);
  makeReadable(target);
  console.log(`stage: ${program} in ${target}, ${accelerator || 'without the native accelerator'}`);
}

/** Copies of koffi what `import('koffi')` reads on a platform; its name and version, or undefined. */
function stageAccelerator(nodeModules, arch) {
  const require = createRequire(join(root, 'packages', 'transport', 'package.json'));
  const main = findPackage(require, 'koffi');
  if (main === undefined) return undefined;
  const name = `@koromix/koffi-${process.platform}-${arch}`;
  const platform =
    findPackage(createRequire(join(main, 'package.json')), name) ??
    (arch === process.arch ? undefined : fetchPackage(name, arch));
  if (platform === undefined) return undefined;
  // The rest of it is the source of the native part, 2 MB.
  for (const file of KOFFI_FILES) cpSync(join(main, file), join(nodeModules, 'koffi', file));
  cpSync(platform, join(nodeModules, name), { recursive: true });
  return `koffi ${JSON.parse(readFileSync(join(main, 'package.json'), 'utf8')).version}`;
}

/** The folder of a package for another processor, as the lock file has it; throws if it cannot be had. */
function fetchPackage(name, arch) {
  const { version, integrity } = lockedPackage(name);
  const prefix = join(fetched, arch);
  const place = join(prefix, 'node_modules', name);
  if (existsSync(place)) return place;
  mkdirSync(prefix, { recursive: true });
  const how = [
    '--force',
    '--no-save',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  const what = [`--os=${process.platform}`, `--cpu=${arch}`, `--prefix=${prefix}`];
  execFileSync('npm', ['install', ...how, ...what, `${name}@${version}`], { stdio: 'inherit' });
  const installed = join(prefix, 'node_modules', '.package-lock.json');
  const { packages } = JSON.parse(readFileSync(installed, 'utf8'));
  if (packages[`node_modules/${name}`]?.integrity !== integrity) {
    throw new Error(`${name}@${version} is not what package-lock.json names`);
  }
  return place;
}

function lockedPackage(name) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return packages[`node_modules/${name}`];
}

/** The folder of an installed package. Not by `require.resolve`: `exports` may hide the package.json. */
function findPackage(require, name) {
  for (const folder of require.resolve.paths(name) ?? []) {
    if (existsSync(join(folder, name, 'package.json'))) return realpathSync(join(folder, name));
  }
  return undefined;
}
