// Makes the checkout ready to run: installs what the lock file names, builds what changed.
// Both steps are skipped when nothing changed since the last time. Runs on any Node, because it runs
// before the Node of the project is installed. With --install-only it builds nothing, with
// --compile-only the modules, and not what is bundled of them: that is enough to write the documents.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const stamp = `${root}node_modules/.kube-dns-installed`;
// What reads the output may stop reading, as `head` does.
process.stdout.on('error', () => process.exit(1));
const PROGRESS_EVERY_MS = 5_000;

function say(text) {
  process.stdout.write(`setup: ${text}\n`);
}

/**
 * Runs one command; ends this process with its status when it fails. Its output is shown, but with `isQuiet` only after a
 * failure.
 */
async function run(what, command, args, { env = {}, isQuiet = false } = {}) {
  const start = Date.now();
  const seconds = () => `${Math.round((Date.now() - start) / 1000)} s`;
  const progress = setInterval(
    () => say(`${what}, still at it after ${seconds()}`),
    PROGRESS_EVERY_MS,
  );
  const child = spawn(command, args, {
    cwd: root,
    stdio: isQuiet ? ['inherit', 'pipe', 'pipe'] : 'inherit',
    env: { ...process.env, ...env },
  });
  const output = [];
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (part) => output.push(part));
  const status = await new Promise((resolve) => {
    child.once('error', (error) => {
      say(`cannot run ${command}: ${error.message}`);
      resolve(127);
    });
    child.once('close', (code, signal) => resolve(signal ? 1 : code));
  });
  clearInterval(progress);
  if (status !== 0) {
    for (const part of output) process.stderr.write(part);
    say(`${what} failed with status ${status}: ${command} ${args.join(' ')}`);
    process.exit(status);
  }
  say(`${what}: done in ${seconds()}`);
}

function wantedInstall() {
  const hash = createHash('sha256');
  for (const file of ['package-lock.json', 'package.json']) hash.update(readFileSync(root + file));
  return hash.digest('hex');
}

/** What compiles the sources of each package. */
function projects() {
  return readdirSync(`${root}packages`)
    .map((name) => `packages/${name}/tsconfig.build.json`)
    .filter((file) => existsSync(root + file));
}

const wanted = wantedInstall();
if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  say('installing the packages of package-lock.json (about 30 s the first time)');
  await run('install', 'npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  writeFileSync(stamp, wanted);
}

const option = process.argv[2];
if (option === '--install-only') process.exit(0);

// One compiler for all reads the declarations that they share once: half the time of one for each package.
// turbo then finds nothing left to compile.
if (option === '--compile-only' || !existsSync(`${root}packages/wire/dist`)) {
  await run('compile', `${root}node_modules/typescript-7/bin/tsc`, ['-b', ...projects()]);
}
if (option === '--compile-only') process.exit(0);
await run(
  'build',
  `${root}node_modules/.bin/turbo`,
  ['run', 'build', '--output-logs=errors-only', '--log-order=grouped'],
  { env: { TURBO_TELEMETRY_DISABLED: '1' }, isQuiet: true },
);
