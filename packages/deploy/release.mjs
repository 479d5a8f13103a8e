// `npm run release -- --dry-run`: makes all files of a release, and publishes nothing. The same commit gives the same bytes:
// archives have the time of the commit, and sorted entries.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ImageError } from '../../images/engine.mjs';
import { billOf, CLI_BUNDLES } from '../../images/sbom.mjs';
import { entriesOf, fileEntry, tgzOf } from './archive.mjs';
import { makeImages, PLATFORMS } from './release-images.mjs';
// Puts kubectl into the PATH where .ci/run has fetched it.
import '../testkit/tools-path.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const SUMS = 'SHA256SUMS';
const NOTES = 'NOTES.md';
const LOCAL_PREFIX = 'localhost/';
const EXIT_USAGE = 2;

/** What can be made alone, in the order in which it is made. */
const PARTS = { cli: makeCli, chart: makeChart, manifests: makeManifests, images: makeImages };
const all = Object.keys(PARTS);

const usage = `Usage: npm run release -- --dry-run [options]

Makes all files of a release in a folder, with their hashes in ${SUMS} and the notes in ${NOTES}. It publishes nothing:
that is done by .github/workflows/release.yml, with the same command.

  --dry-run          make the files; always needed
  --out FOLDER       where to (default release); what an earlier run made there is replaced
  --only LIST        only these parts, with commas between them: ${all.join(',')} (default all)
  --platform LIST    images for these (default ${PLATFORMS.join(',')})
  --prefix TEXT      in front of the names of the images, such as registry.example/dns/ (default ${LOCAL_PREFIX})
  --repository URL   where the sources are, for the npm package and the images (default: not said)
  --help             show this text

Archives have the time of SOURCE_DATE_EPOCH, in seconds since 1970, else that of the commit. The images need Debian's apt-get
and dpkg-deb, the manifests kubectl, which .ci/run fetches.
`;

/** What ends this program: one line for the user. */
class ReleaseError extends Error {}
class UsageError extends Error {}

function say(text) {
  process.stdout.write(`release: ${text}\n`);
}

function readArguments() {
  const text = { type: 'string' };
  const options = {
    'dry-run': { type: 'boolean' },
    out: { type: 'string', default: 'release' },
    only: { type: 'string', default: all.join(',') },
    platform: { type: 'string', default: PLATFORMS.join(',') },
    prefix: { type: 'string', default: LOCAL_PREFIX },
    repository: text,
    help: { type: 'boolean', short: 'h' },
  };
  let values;
  try {
    ({ values } = parseArgs({ options }));
  } catch (error) {
    throw new UsageError(error.message.split('. ')[0], { cause: error });
  }
  if (values.help) return values;
  if (!values['dry-run']) {
    throw new UsageError('give --dry-run: only .github/workflows/release.yml publishes');
  }
  const wrong = (option, known) =>
    values[option].split(',').find((each) => !known.includes(each)) ?? undefined;
  for (const [option, known] of [
    ['only', all],
    ['platform', PLATFORMS],
  ]) {
    const unknown = wrong(option, known);
    if (unknown !== undefined) {
      throw new UsageError(`--${option}: ${unknown || 'nothing'} is none of ${known.join(', ')}`);
    }
  }
  if (values.out === '') throw new UsageError('--out is empty');
  return values;
}

/** Runs a program to its end, and gives its output; throws a ReleaseError with its last line. */
function run(command, args, options = {}) {
  try {
    return execFileSync(command, args, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 2 ** 28,
      ...options,
    });
  } catch (error) {
    const missing = error.code === 'ENOENT' ? 'it is not installed' : undefined;
    const reason = missing ?? (error.stderr?.trim().split('\n').at(-1) || error.message);
    throw new ReleaseError(`${command} ${args.join(' ')}: ${reason}`, { cause: error });
  }
}

/** The time of all entries, in seconds since 1970. */
function timeOfRelease() {
  const wanted = process.env.SOURCE_DATE_EPOCH;
  if (wanted === undefined) {
    try {
      return Number(run('git', ['log', '-1', '--format=%ct']));
    } catch (error) {
      throw new ReleaseError(
        `the time of the commit is not known; set SOURCE_DATE_EPOCH: ${error.message}`,
        { cause: error },
      );
    }
  }
  if (!/^\d{1,10}$/.test(wanted)) {
    throw new ReleaseError(`SOURCE_DATE_EPOCH=${wanted} is not a number of seconds`);
  }
  return Number(wanted);
}

/** The commit, or '' without git. */
function revision() {
  try {
    return run('git', ['rev-parse', 'HEAD']).trim();
  } catch {
    return '';
  }
}

/** An empty folder for the files; one that has others than those of a release is left alone. */
function emptyFolder(path) {
  if (existsSync(path)) {
    const files = readdirSync(path);
    if (files.length > 0 && !files.includes(SUMS)) {
      throw new ReleaseError(`${path} has files that are of no release: name another with --out`);
    }
    rmSync(path, { recursive: true });
  }
  mkdirSync(path, { recursive: true });
}

const read = (file) => readFileSync(join(root, file), 'utf8');

/** A text for readers without the checkout: of links into it only their texts are left. */
function withoutLocalLinks(markdown) {
  return markdown
    .replaceAll(/^!\[[^\]]*\]\((?!https?:)[^)]*\)\n/gm, '')
    .replaceAll(/\[([^\]]*)\]\((?!https?:|#)[^)]*\)/g, '$1')
    .replaceAll(/^<!-- .* -->\n/gm, '');
}

/** The licences of all bundles, each once. */
function licensesOf(bundles) {
  const rule = `\n${'-'.repeat(72)}\n\n`;
  const texts = bundles.flatMap((path) => read(`packages/${path}.licenses.txt`).split(rule));
  return [...new Set(texts.map((text) => text.trim()))].sort().join(`\n${rule}`);
}

/**
 * The npm package `kube-dns`: the program with all that it reads and starts, at the same places as in the checkout, so that it
 * finds them in the same way.
 */
async function makeCli({ out, version, seconds, repository }) {
  const { description, engines, license } = JSON.parse(read('packages/cli/package.json'));
  const { packages } = JSON.parse(read('package-lock.json'));
  const about = {
    name: 'kube-dns',
    version,
    description,
    license,
    ...(repository && { repository: { type: 'git', url: `git+${repository}.git` } }),
    bin: { 'kube-dns': 'packages/cli/bin/kube-dns.cjs' },
    engines,
    // Many datagrams per system call; without it the programs use node:dgram.
    optionalDependencies: { koffi: packages['node_modules/koffi'].version },
  };
  const json = (value) => `${JSON.stringify(value, undefined, 2)}\n`;
  const bill = json(billOf('kube-dns', []));
  const bundles = ['cli/bin/kube-dns', ...CLI_BUNDLES].map((path) => `packages/${path}.cjs`);
  const folders = ['manifests/local', 'manifests/kube-dns'];
  const entries = [
    fileEntry('package.json', json(about)),
    fileEntry('README.md', withoutLocalLinks(read('packages/cli/README.md'))),
    fileEntry('LICENSE', read('LICENSE')),
    fileEntry('THIRD-PARTY-LICENSES', licensesOf(CLI_BUNDLES)),
    fileEntry('sbom.cdx.json', bill),
    ...bundles.map((path) => fileEntry(path, read(path), 0o755)),
    ...folders.flatMap((folder) => entriesOf(join(root, folder), folder)),
  ].filter(({ type }) => type === 'file');
  const inPackage = entries.map((entry) => Object.assign(entry, { path: `package/${entry.path}` }));
  writeFileSync(join(out, `kube-dns-cli-${version}.tgz`), await tgzOf(inPackage, seconds));
  writeFileSync(join(out, `kube-dns-cli-${version}.cdx.json`), bill);
}

async function makeChart({ out, version, seconds, prefix, work }) {
  const folder = join(work, 'chart');
  run(process.execPath, ['packages/cli/chart.mjs', `--prefix=${prefix}`, folder]);
  const files = entriesOf(folder, 'kube-dns').filter(({ type }) => type === 'file');
  writeFileSync(join(out, `kube-dns-chart-${version}.tgz`), await tgzOf(files, seconds));
}

/** What is applied, rendered: the base and the overlays, but for the one with which others are compared. */
function makeManifests({ out, prefix }) {
  const overlays = readdirSync(join(root, 'manifests/overlays')).sort();
  const files = { 'kube-dns': 'manifests/kube-dns' };
  for (const name of overlays) {
    const file = name.startsWith('node-cache') ? name : `kube-dns-${name}`;
    files[file] = `manifests/overlays/${name}`;
  }
  for (const [name, folder] of Object.entries(files)) {
    const text = run('kubectl', ['kustomize', folder]);
    const placed = text.replaceAll(`image: ${LOCAL_PREFIX}`, `image: ${prefix}`);
    writeFileSync(join(out, `${name}.yaml`), placed);
  }
}

/** What CHANGELOG says of this version. */
function notesOf(version) {
  const section = read('CHANGELOG.md')
    .split(/^## /m)
    .find((text) => text.startsWith(`${version}\n`));
  if (section === undefined) throw new ReleaseError(`CHANGELOG.md has no section ${version}`);
  return `${withoutLocalLinks(section.slice(version.length)).trim()}\n`;
}

function sumsOf(folder) {
  const hash = (name) => createHash('sha256').update(readFileSync(join(folder, name)));
  const names = readdirSync(folder).sort();
  return names.map((name) => `${hash(name).digest('hex')}  ${name}\n`).join('');
}

/** Throws a ReleaseError for what a program says that fails; any other error as it is. */
function fail(part, error) {
  const said = error.stderr?.trim().split('\n').at(-1);
  const reason = said || (error instanceof ImageError ? error.message : undefined);
  if (reason === undefined) throw error;
  throw new ReleaseError(`${part}: ${reason}`, { cause: error });
}

const sizeText = (bytes) =>
  bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

async function main() {
  const values = readArguments();
  if (values.help) {
    process.stdout.on('error', () => undefined); // a reader may stop reading
    process.stdout.write(usage);
    return;
  }
  const { version } = JSON.parse(read('package.json'));
  const out = resolve(values.out);
  const work = mkdtempSync(join(tmpdir(), 'kube-dns-release-'));
  const release = {
    out,
    work,
    version,
    seconds: timeOfRelease(),
    revision: revision(),
    prefix: values.prefix,
    repository: values.repository,
    platforms: PLATFORMS.filter((name) => values.platform.split(',').includes(name)),
    say,
    run,
  };
  try {
    const notes = notesOf(version);
    emptyFolder(out);
    writeFileSync(join(out, SUMS), ''); // from here on the folder is that of a release
    const chosen = values.only.split(',');
    for (const [name, make] of Object.entries(PARTS)) {
      if (!chosen.includes(name)) continue;
      const start = Date.now();
      say(`${name} …`);
      await Promise.resolve(release)
        .then(make)
        .catch((error) => fail(name, error));
      say(`${name}: done in ${((Date.now() - start) / 1000).toFixed(1)} s`);
    }
    writeFileSync(join(out, NOTES), notes);
    rmSync(join(out, SUMS));
    const sums = sumsOf(out);
    writeFileSync(join(out, SUMS), sums);
    for (const line of sums.trimEnd().split('\n')) {
      const [hash = '', name = ''] = line.split('  ');
      const { length } = readFileSync(join(out, name));
      say(`${name}, ${sizeText(length)}, sha256 ${hash.slice(0, 12)}`);
    }
    const missing = all.filter((name) => !chosen.includes(name));
    if (missing.length > 0) say(`not made, as --only says: ${missing.join(', ')}`);
    const others = PLATFORMS.filter((name) => !release.platforms.includes(name));
    if (chosen.includes('images') && others.length > 0) {
      say(`the images are not for ${others.join(', ')}, as --platform says`);
    }
    say(`version ${version} is in ${out}; nothing was published`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

try {
  await main();
} catch (error) {
  const isUsage = error instanceof UsageError;
  if (!isUsage && !(error instanceof ReleaseError)) throw error;
  const advice = isUsage ? '; see npm run release -- --help' : '';
  process.stderr.write(`release: ${error.message}${advice}\n`);
  process.exitCode = isUsage ? EXIT_USAGE : 1;
}
