// Makes a base image without a registry: `node images/local-base.mjs [--for-build] [--engine NAME] IMAGE`.
// It holds this checkout's Node and the Debian libraries that it needs, got with this machine's apt; with
// --for-build also a shell and npm, with this machine's registry and certificates, and the network tools of
// node-cache, so that it can stand for BUILD_IMAGE. For machines without access to one (CI, for instance), on Debian and the like.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildImage, ENGINE_NAMES, findEngine, ImageError } from './engine.mjs';
import { layOutNetworkTools, PREPARED, unpackDebian } from './network-tools.mjs';

const USAGE = 'usage: node images/local-base.mjs [--for-build] [--engine NAME] IMAGE';
const root = fileURLToPath(new URL('..', import.meta.url));
/** What Node needs of Debian. */
export const RUN_PACKAGES = ['libc6', 'libgcc-s1', 'libstdc++6', 'base-files', 'netbase'];
// A shell, `env`, and what these two need.
const BUILD_PACKAGES = [
  'dash',
  'coreutils',
  'libacl1',
  'libattr1',
  'libgmp10',
  'libselinux1',
  'libpcre2-8-0',
];
/** What takes the symbols out of programs of another processor, from Debian's binutils of that name. */
const STRIPS = { arm64: 'aarch64-linux-gnu-strip', x64: 'x86_64-linux-gnu-strip' };
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const NOT_NEEDED = ['doc', 'man', 'locale', 'lintian', 'gcc', 'info'].map(
  (name) => `usr/share/${name}`,
);

function run(command, args, cwd) {
  try {
    return execFileSync(command, args, {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  } catch (error) {
    const reason = error.stderr?.trim() || error.message;
    throw new ImageError(`${command} ${args[0]} failed: ${reason}`);
  }
}

/** The real path of a command, or undefined when it is not on the PATH. */
function commandPath(name) {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  return found && realpathSync(found);
}

/** What apt and dpkg say when they fail, for the user. */
function withDebian(task) {
  try {
    task();
  } catch (error) {
    throw new ImageError(`no packages of Debian: ${error.stderr?.trim() || error.message}`);
  }
}

function unpackBase(forBuild, rootfs) {
  unpackDebian(forBuild ? [...RUN_PACKAGES, ...BUILD_PACKAGES] : RUN_PACKAGES, rootfs);
  for (const path of NOT_NEEDED) rmSync(join(rootfs, path), { recursive: true, force: true });
  if (!forBuild) return;
  const architecture = run('dpkg', ['--print-architecture'], root).trim();
  layOutNetworkTools(architecture, join(rootfs, PREPARED, architecture));
}

/** The users of an image, in its root. */
export function writeUsers(rootfs) {
  const etc = join(rootfs, 'etc');
  const user = 'kube-dns:x:1001:1001::/nonexistent:/sbin/nologin\n';
  writeFileSync(join(etc, 'passwd'), `root:x:0:0:root:/root:/sbin/nologin\n${user}`);
  writeFileSync(join(etc, 'group'), 'root:x:0:\nkube-dns:x:1001:\n');
  writeFileSync(join(etc, 'nsswitch.conf'), 'hosts: files dns\n');
}

/**
 * The Node that the checkout brings for a processor: the installed one, or, in a fresh clone and for another processor, the same
 * from npm, into the folder `work`; elsewhere this one.
 */
function nodeOfCheckout(work, arch) {
  const place = `node_modules/node-linux-${arch}`;
  const installed = join(root, place, 'bin/node');
  if (existsSync(installed)) return installed;
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const isOwn = process.platform === 'linux' && process.arch === arch;
  if (packages[place] !== undefined && (isOwn || arch !== process.arch)) {
    const { version, integrity } = packages[place];
    const what = `${basename(place)}@${version}`;
    const how = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', `--prefix=${work}`];
    run('npm', ['install', '--force', '--os=linux', `--cpu=${arch}`, ...how, what], work);
    const lock = join(work, 'node_modules/.package-lock.json');
    const fetched = JSON.parse(readFileSync(lock, 'utf8')).packages[place];
    if (fetched?.integrity !== integrity) {
      throw new ImageError(`${what} is not what package-lock.json names`);
    }
    return join(work, place, 'bin/node');
  }
  if (arch !== process.arch) throw new ImageError(`package-lock.json has no Node for ${arch}`);
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const [major, minor] = engines.node.match(/\d+/g).map(Number);
  const [ownMajor, ownMinor] = process.versions.node.split('.').map(Number);
  if (ownMajor < major || (ownMajor === major && ownMinor < minor)) {
    throw new ImageError(
      `the images need Node ${major}.${minor} or newer, and this is ${process.version}: run this with a newer one`,
    );
  }
  return process.execPath;
}

/**
 * Puts the checkout's Node for a processor into the root of an image, without its symbols: 18 MB that only a debugger reads. Gives
 * false where this machine's `strip` is missing or does not know the processor, and they stay. Throws an ImageError.
 */
export function addNode(work, rootfs, arch = process.arch) {
  const node = nodeOfCheckout(work, arch);
  const target = join(rootfs, 'usr/local/bin/node');
  mkdirSync(join(rootfs, 'usr/local/bin'), { recursive: true });
  const strip = arch === process.arch ? 'strip' : STRIPS[arch];
  if (strip !== undefined && commandPath(strip) !== undefined) {
    run(strip, ['-o', target, node], work);
    return true;
  }
  cpSync(realpathSync(node), target);
  return false;
}

/** npm as it stands on this machine; gives what has to be in the environment. */
function addNpm(rootfs) {
  const npm = commandPath('npm');
  if (npm === undefined) throw new ImageError('npm is not on the PATH');
  cpSync(join(npm, '../..'), join(rootfs, 'usr/local/lib/npm'), { recursive: true });
  symlinkSync('../lib/npm/bin/npm-cli.js', join(rootfs, 'usr/local/bin/npm'));
  const environment = {
    NPM_CONFIG_REGISTRY: run('npm', ['config', 'get', 'registry'], root).trim(),
  };
  if (existsSync(CERTIFICATES)) {
    mkdirSync(join(rootfs, 'etc/ssl/certs'), { recursive: true });
    cpSync(CERTIFICATES, join(rootfs, CERTIFICATES));
    environment.NODE_EXTRA_CA_CERTS = CERTIFICATES;
  }
  return environment;
}

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { 'for-build': { type: 'boolean', default: false }, engine: { type: 'string' } },
    });
    const [tag] = positionals;
    const isKnown = values.engine === undefined || ENGINE_NAMES.includes(values.engine);
    if (!tag || positionals.length > 1 || !isKnown) throw new ImageError(USAGE);
    return { tag, forBuild: values['for-build'], wantedEngine: values.engine };
  } catch (error) {
    if (!error.code?.startsWith('ERR_PARSE_ARGS_')) throw error;
    throw new ImageError(`${error.message}\n${USAGE}`, { cause: error });
  }
}

function main() {
  const { tag, forBuild, wantedEngine } = readArguments();
  const engine = findEngine(wantedEngine);
  const work = mkdtempSync(join(tmpdir(), 'kube-dns-base-'));
  try {
    const rootfs = join(work, 'rootfs');
    mkdirSync(rootfs);
    withDebian(() => unpackBase(forBuild, rootfs));
    writeUsers(rootfs);
    addNode(work, rootfs);
    const environment = {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      ...(forBuild ? addNpm(rootfs) : {}),
    };
    // The same bytes whenever it is made of the same packages.
    const plain = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
    run('tar', [...plain, '-C', rootfs, '-cf', join(work, 'rootfs.tar'), '.'], work);
    const settings = Object.entries(environment).map(([name, value]) => `ENV ${name}=${value}`);
    const lines = ['FROM scratch', 'ADD rootfs.tar /', ...settings];
    writeFileSync(join(work, 'Dockerfile'), `${lines.join('\n')}\n`);
    writeFileSync(join(work, '.dockerignore'), 'rootfs\n');
    buildImage(engine, { file: 'Dockerfile', tag, context: work });
    process.stdout.write(`images: made ${tag} with ${engine}\n`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    main();
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    process.stderr.write(`images: ${error.message}\n`);
    process.exitCode = 1;
  }
}
