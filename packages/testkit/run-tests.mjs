// `npm test`: the files of one lane, in one run of jest for all packages. The reporter beside this file prints the
// progress, the failures and the total, and leaves it in test-results-LANE.json.
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism } from 'node:os';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { onEnd, projectNode, QUICK, ROOT, startJest } from './jest-command.mjs';

/** More files that fail are no accident. */
const MAX_AGAIN = 3;
const USAGE = `usage: npm test [-- [PATTERN...] [OPTION...]]
       npm run test:all [-- [PATTERN...] [OPTION...]]

Runs the tests of all packages. PATTERN is a part of the path of a test file, of any package;
without one all files of the lane run.

  --slowest[=N]       at the end, the N files and tests that took longest (20)
  --title=TEXT        only tests with this text, a regular expression, in their title
  --lane=LANE,...     quick (npm test), peers, long, images; test:all has all but images. With a PATTERN
                      that no file of the lane has, the other lanes are searched
  --workers=N         files at once (one more than this machine has cores: many tests wait)
  --name=NAME         the total is left in test-results-NAME.json (the lanes' names)
  --again             files with a failed test run once more, alone; what passes then is printed as unstable
                      and counted as passed. Not with more than ${MAX_AGAIN} such files
  --count=STEPS       runs nothing: adds up the results that are there, and fails after failed STEPS
`;
/** The end of a file's name is its lane; CONTRIBUTING.md says what belongs where. */
const LANES = {
  quick: QUICK,
  peers: String.raw`\.peer\.test\.ts$`,
  long: String.raw`\.long\.test\.ts$`,
  images: String.raw`\.image\.test\.ts$`,
};
const RESULTS = /^test-results.*\.json$/;

class UsageError extends Error {}

function say(text) {
  process.stdout.write(`${text}\n`);
}

/** The options with their values; throws a UsageError. */
function parse(args) {
  const options = { patterns: [], lanes: ['quick'], slowest: 0 };
  for (const arg of args) {
    const [, name, value] = /^--([a-z]+)(?:=(.*))?$/s.exec(arg) ?? [];
    if (name === 'help' || arg === '-h') options.isHelp = true;
    else if (arg === '') throw new UsageError('an empty pattern would match every file');
    else if (!arg.startsWith('-')) options.patterns.push(arg);
    else if (name === 'slowest') options.slowest = numberOf(name, value ?? '20');
    else if (name === 'title') options.title = regexOf(name, value);
    else if (name === 'lane') options.lanes = (value ?? '').split(',');
    else if (name === 'workers') options.workers = numberOf(name, value);
    else if (name === 'name' && /^\w+$/.test(value ?? '')) options.name = value;
    else if (arg === '--again') options.again = true;
    else if (name === 'count') options.count = numberOf(name, value, 0);
    else throw new UsageError(`${arg} is no option of the tests`);
  }
  const unknown = options.lanes.find((lane) => !Object.hasOwn(LANES, lane));
  if (unknown !== undefined) throw new UsageError(`there is no lane "${unknown}"`);
  return options;
}

function numberOf(name, value, least = 1) {
  if (/^\d{1,4}$/.test(value ?? '') && Number(value) >= least) return Number(value);
  throw new UsageError(`--${name} wants a number: --${name}=N`);
}

function regexOf(name, value) {
  if (!value) throw new UsageError(`--${name} wants a text: --${name}=TEXT`);
  try {
    new RegExp(value);
    return value;
  } catch (error) {
    throw new UsageError(`--${name}: ${error.message}`);
  }
}

/** All test files, as paths below the checkout. */
function testFiles() {
  return readdirSync(`${ROOT}packages`).flatMap((name) =>
    ['src', 'test']
      .map((folder) => `packages/${name}/${folder}`)
      .filter((folder) => existsSync(ROOT + folder))
      .flatMap((folder) =>
        readdirSync(ROOT + folder, { recursive: true })
          .filter((file) => file.endsWith('.test.ts'))
          .map((file) => `${folder}/${file}`),
      ),
  );
}

/** The files to run: those of the lanes that were asked for, or else of those that have a file with the pattern. */
function select({ patterns, lanes }) {
  const matching = testFiles().filter(
    (file) => patterns.length === 0 || patterns.some((pattern) => file.includes(pattern)),
  );
  const filesOf = (names) =>
    matching.filter((file) => names.some((lane) => new RegExp(LANES[lane]).test(file)));
  const files = filesOf(lanes);
  if (files.length > 0) return files;
  const others = Object.keys(LANES).filter((lane) => filesOf([lane]).length > 0);
  if (others.length === 0) {
    throw new UsageError(`no test file has ${patterns.join(' or ')} in its path`);
  }
  say(`tests: these are of the lane ${others.join(' and ')}`);
  return matching;
}

/** Builds what has changed. Unit tests are run from the sources: where they alone are to run, the build of before does. */
function build(files) {
  const isBuilt = existsSync(`${ROOT}packages/testkit/dist/index.js`);
  const needsNoBuild = isBuilt && files.every((file) => file.split('/')[2] === 'src');
  if (!needsNoBuild) setUp();
}

function setUp(...options) {
  const args = [`${ROOT}packages/cli/setup.mjs`, ...options];
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

/** Goes on in the project's Node, which is installed by then: only so far does this program run on an older one. Resolves with the status. */
function inProjectNode(args) {
  const child = spawn(projectNode(), [fileURLToPath(import.meta.url), ...args], {
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}

function isProjectNode() {
  return realpathSync(projectNode()) === realpathSync(process.execPath);
}

/** More files than that are run sooner when they, and the packages, are joined before; it takes seconds. */
const MANY_FILES = 20;

/** What a run inside a test of another run does not inherit. */
const NOT_JOINED = { KUBE_DNS_JOINED: undefined, KUBE_DNS_TEST_FILES: undefined };

/** What jest runs for these files, its environment, and an end of what was made for it. */
async function joinFor(files) {
  if (files.length <= MANY_FILES) return { run: files, env: NOT_JOINED, remove: () => undefined };
  // Not before it is installed.
  const { isJoinable, joinPackages, joinTests } = await import('./joined.mjs');
  const folder = `${ROOT}node_modules/.cache/joined-${process.pid}`;
  const isQuick = new RegExp(QUICK);
  // Those of the other lanes last longer than all that is saved.
  const together = files.filter((file) => isQuick.test(file) && isJoinable(ROOT + file));
  const [joined] = await Promise.all([
    joinTests(ROOT, folder, together),
    joinPackages(ROOT, folder),
  ]);
  const alone = files.filter((file) => !together.includes(file));
  return {
    run: [...largestFirst(alone), ...joined],
    env: { KUBE_DNS_JOINED: folder, KUBE_DNS_TEST_FILES: String(files.length) },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** What is long is begun early, so that no worker is the last for long. */
function largestFirst(files) {
  const sizes = new Map(files.map((file) => [file, statSync(ROOT + file).size]));
  return files.toSorted((one, other) => sizes.get(other) - sizes.get(one));
}

/** Runs jest for these files with its output shown; resolves with its status. */
function runJest(files, { workers, title, slowest }, resultFile, env = NOT_JOINED) {
  const { ended, stop } = startJest(
    [
      '--runTestsByPath',
      `--maxWorkers=${workers ?? availableParallelism() + 1}`,
      ...(title === undefined ? [] : [`--testNamePattern=${title}`]),
      ...files,
    ],
    { ...env, KUBE_DNS_TEST_RESULTS: resultFile, KUBE_DNS_TEST_SLOWEST: String(slowest) },
  );
  onEnd(stop);
  return ended;
}

/**
 * Runs the files with failed tests once more, one after the other and with nothing beside them: what passes then was unstable,
 * and its failure stays printed. Changes the results, and resolves with the status.
 */
async function runFailedAgain(options, resultFile, status) {
  const first = readResult(resultFile);
  const files = [...new Set(failedTests(first).map(({ file }) => file))];
  if (files.length === 0 || files.length > MAX_AGAIN) return status;
  // The name of joined files of which one cannot run.
  if (!files.every((file) => existsSync(ROOT + file))) return status;
  say(`once more, alone: ${files.join(' ')}`);
  const againFile = `${ROOT}test-results-once-more.json`;
  const statusAgain = await runJest(files, { ...options, workers: 1 }, againFile);
  if (!existsSync(againFile)) return status;
  const again = readResult(againFile);
  rmSync(againFile);
  const others = first.tests.filter(({ file }) => !files.includes(file));
  const fails = new Set(failedTests(again).map(keyOf));
  const unstable = failedTests(first).filter((test) => !fails.has(keyOf(test)));
  const tests = [...others, ...again.tests];
  const count = (kind) => tests.filter((test) => test.status === kind).length;
  const total = { passed: count('passed'), failed: count('failed'), skipped: count('skipped') };
  writeFileSync(resultFile, JSON.stringify({ ...first, ...total, tests, unstable }));
  for (const test of unstable) say(`unstable: ${keyOf(test)}`);
  return statusAgain;
}

function readResult(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function failedTests({ tests }) {
  return tests.filter(({ status }) => status === 'failed');
}

function keyOf({ file, title }) {
  return `${file}: ${title}`;
}

/** Adds up the results that are there, for the end of .ci/run after some failed steps, and names what failed and was unstable. */
function count(failedSteps) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const name of readdirSync(ROOT).filter((each) => RESULTS.test(each))) {
    const result = readResult(ROOT + name);
    for (const key of Object.keys(total)) total[key] += result[key];
    for (const test of failedTests(result)) say(`failed: ${keyOf(test)}`);
    for (const test of result.unstable ?? []) say(`unstable: ${keyOf(test)}`);
  }
  if (failedSteps > 0) say(`${failedSteps} steps failed`);
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : '';
  say(`${total.passed} passed, ${total.failed} failed${skipped}`);
  return failedSteps === 0 && total.failed === 0 && total.passed > 0 ? 0 : 1;
}

async function main(args) {
  const options = parse(args);
  if (options.isHelp) {
    say(USAGE.trimEnd());
    return 0;
  }
  if (options.count !== undefined) return count(options.count);
  const files = select(options);
  setUp('--install-only');
  if (!isProjectNode()) return inProjectNode(args);
  build(files);
  const resultFile = `${ROOT}test-results-${options.name ?? options.lanes.join('-')}.json`;
  rmSync(resultFile, { force: true });
  const { run, env, remove } = await joinFor(files);
  process.once('exit', remove);
  const status = await runJest(run, options, resultFile, env);
  if (!existsSync(resultFile)) {
    say(`failed: jest ended with ${status} before the tests did, see above`);
    return 1;
  }
  return options.again ? runFailedAgain(options, resultFile, status) : status;
}

// What reads the output may stop reading, as `head` does.
process.stdout.on('error', () => process.exit(1));
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`tests: ${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}
