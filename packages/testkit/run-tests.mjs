// `npm test`: the files of one lane, in one run of jest for all packages. The reporter beside this file prints the
// progress, the failures and the total, and leaves it in test-results-LANE.json.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import process from 'node:process';
import { jestCommand, QUICK, ROOT } from './jest-command.mjs';

const USAGE = `usage: npm test [-- [PATTERN...] [OPTION...]]
       npm run test:all [-- [PATTERN...] [OPTION...]]

Runs the tests of all packages. PATTERN is a part of the path of a test file, of any package;
without one all files of the lane run.

  --slowest[=N]       at the end, the N files and tests that took longest (20)
  --title=TEXT        only tests with this text, a regular expression, in their title
  --lane=LANE,...     quick (npm test), peers, images; test:all has quick and peers. With a PATTERN
                      that no file of the lane has, the other lanes are searched
  --workers=N         files at once (as many as this machine has cores, at least 2)
  --name=NAME         the total is left in test-results-NAME.json (the lanes' names)
  --count=STEPS       runs nothing: adds up the results that are there, and fails after failed STEPS
`;
/** The end of a file's name is its lane; CONTRIBUTING.md says what belongs where. */
const LANES = {
  quick: QUICK,
  peers: String.raw`\.peer\.test\.ts$`,
  images: String.raw`\.image\.test\.ts$`,
};
const RESULTS = /^test-results.*\.json$/;
const INTERRUPTED = 130;

class UsageError extends Error {}

function say(text) {
  process.stdout.write(`${text}\n`);
}

function parse(args) {
  const options = { patterns: [], lanes: ['quick'], slowest: 0, workers: 0 };
  for (const arg of args) {
    const [, name, value = ''] = /^--([a-z]+)(?:=(.*))?$/.exec(arg) ?? [];
    if (name === undefined && !arg.startsWith('-')) options.patterns.push(arg);
    else if (name === 'slowest') options.slowest = Number(value || 20);
    else if (name === 'title' && value !== '') options.title = value;
    else if (name === 'lane') options.lanes = value.split(',');
    else if (name === 'workers') options.workers = Number(value);
    else if (name === 'name' && /^\w+$/.test(value)) options.name = value;
    else if (name === 'count') options.count = Number(value);
    else if (name === 'help' || arg === '-h') options.isHelp = true;
    else throw new UsageError(`${arg} is no option of the tests`);
  }
  const unknown = options.lanes.find((lane) => !Object.hasOwn(LANES, lane));
  if (unknown !== undefined) throw new UsageError(`there is no lane ${unknown}`);
  for (const name of ['slowest', 'workers', 'count']) {
    if (Number.isNaN(options[name])) throw new UsageError(`--${name} wants a number`);
  }
  return options;
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

/** A regular expression that matches this part of a path. */
function literally(pattern) {
  return pattern.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** The lanes to run: those that were asked for, or else those that have a file with the pattern. */
function selectLanes({ patterns, lanes }) {
  const matching = testFiles().filter(
    (file) => patterns.length === 0 || patterns.some((pattern) => file.includes(pattern)),
  );
  const hasFiles = (lane) => matching.some((file) => new RegExp(LANES[lane]).test(file));
  if (lanes.some(hasFiles)) return lanes;
  const others = Object.keys(LANES).filter(hasFiles);
  if (others.length === 0) {
    throw new UsageError(`no test file has ${patterns.join(' or ')} in its path`);
  }
  say(`tests: these are of the lane ${others.join(' and ')}`);
  return others;
}

/** Runs jest with its output shown; resolves with its status. */
function runJest(lanes, { patterns, workers, title, slowest }, resultFile) {
  const { command, args, options } = jestCommand(
    [
      `--testRegex=${lanes.map((lane) => `(${LANES[lane]})`).join('|')}`,
      `--maxWorkers=${workers || Math.max(2, availableParallelism())}`,
      ...(title === undefined ? [] : [`--testNamePattern=${title}`]),
      ...patterns.map(literally),
    ],
    { KUBE_DNS_TEST_RESULTS: resultFile, KUBE_DNS_TEST_SLOWEST: String(slowest) },
  );
  const child = spawn(command, args, options);
  let isInterrupted = false;
  process.on('SIGINT', () => void (isInterrupted = true)); // jest gets it too
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(isInterrupted ? INTERRUPTED : (code ?? 1)));
  });
}

/** Adds up the results that are there, for the end of .ci/run after some failed steps. */
function count(failedSteps) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const name of readdirSync(ROOT).filter((each) => RESULTS.test(each))) {
    const result = JSON.parse(readFileSync(ROOT + name, 'utf8'));
    for (const key of Object.keys(total)) total[key] += result[key];
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
  const lanes = selectLanes(options);
  const resultFile = `${ROOT}test-results-${options.name ?? options.lanes.join('-')}.json`;
  rmSync(resultFile, { force: true });
  const status = await runJest(lanes, options, resultFile);
  if (status === INTERRUPTED) return status;
  if (!existsSync(resultFile)) {
    say(`failed: jest ended with ${status} before the tests did, see above`);
    return 1;
  }
  return status;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`tests: ${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}
