// `npm test`: the tests of all packages, then what failed, what was skipped and why, and one total.
// With --count=STEPS it only counts the results that are there, as the end of .ci/run does after STEPS failed steps.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import './tools-path.mjs';

const MAX_MESSAGE = 2_000;
const INTERRUPTED = 130;
const RESULTS = /^test-results.*\.json$/;
/** The end of the title of a skipped test, see `unless` of src/skipping.ts. */
const REASON = /\(skipped: ([^)]*)\)/;

function say(text) {
  process.stdout.write(`${text}\n`);
}

function packages() {
  return readdirSync('packages').map((name) => join('packages', name));
}

/** The results of all packages, a package that has none among them. */
function readResults(isWhole) {
  return packages().flatMap((folder) => {
    const files = readdirSync(folder).filter((name) => RESULTS.test(name));
    const manifest = join(folder, 'package.json');
    const hasTests = existsSync(manifest) && /"test":/.test(readFileSync(manifest, 'utf8'));
    if (files.length === 0 && isWhole && hasTests) return [{ folder, result: undefined }];
    return files.map((name) => {
      return { folder, result: JSON.parse(readFileSync(join(folder, name), 'utf8')) };
    });
  });
}

/** Counts, prints the failures and then the skipped tests of each file with their reason. */
function count(isWhole) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  const skipped = new Map();
  const fail = (where, messages) => {
    total.failed++;
    say(`failed: ${where}`);
    if (messages !== '') say(messages.slice(0, MAX_MESSAGE));
  };
  for (const { folder, result } of readResults(isWhole)) {
    if (result === undefined) {
      fail(`${folder}: its tests did not run to their end`, '');
      continue;
    }
    for (const { assertionResults, name, message } of result.testResults) {
      const file = name.slice(name.indexOf(folder));
      if (message && assertionResults.length === 0) fail(`${file}: it cannot run`, message);
      for (const { status, fullName, failureMessages } of assertionResults) {
        if (status === 'passed') total.passed++;
        else if (status === 'failed') fail(`${file}: ${fullName}`, failureMessages.join('\n'));
        else {
          total.skipped++;
          const reason = REASON.exec(fullName)?.[1] ?? 'no reason is given';
          const group = `${file}: ${reason}`;
          skipped.set(group, (skipped.get(group) ?? 0) + 1);
        }
      }
    }
  }
  for (const [group, tests] of skipped) {
    say(`skipped: ${tests} ${tests === 1 ? 'test' : 'tests'} of ${group}`);
  }
  return total;
}

function totalText({ passed, failed, skipped }) {
  const rest = skipped > 0 ? `, ${skipped} skipped` : '';
  return `${passed} passed, ${failed} failed${rest}`;
}

/** Runs turbo with its output shown; resolves with its status. */
async function runTests(args) {
  const { testTools } = await import('./dist/index.js');
  const words = ['run', 'test', '--continue', '--output-logs=new-only', ...args];
  const child = spawn(join('node_modules', '.bin', 'turbo'), words, {
    stdio: 'inherit',
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1', KUBE_DNS_TEST_TOOLS: testTools() },
  });
  let isInterrupted = false;
  process.on('SIGINT', () => void (isInterrupted = true)); // turbo gets it too
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(isInterrupted ? INTERRUPTED : (code ?? 1)));
  });
}

async function main(args) {
  const counting = /^--count=(\d+)$/.exec(args[0] ?? '');
  if (counting !== null) {
    const total = count(true);
    const steps = Number(counting[1]);
    if (steps > 0) say(`${steps} steps failed`);
    say(totalText(total));
    return steps === 0 && total.failed === 0 && total.passed > 0 ? 0 : 1;
  }
  for (const folder of packages()) {
    for (const name of readdirSync(folder)) {
      if (RESULTS.test(name)) rmSync(join(folder, name));
    }
  }
  const start = Date.now();
  const status = await runTests(args);
  if (status === INTERRUPTED) return status;
  say('');
  const total = count(args.length === 0);
  if (status !== 0 && total.failed === 0) {
    total.failed++;
    say(`failed: turbo ended with ${status}, see above`);
  }
  say(`${totalText(total)}, ${Math.round((Date.now() - start) / 1_000)} s`);
  return total.failed > 0 ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2));
