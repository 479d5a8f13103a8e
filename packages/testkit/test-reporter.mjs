// What a run of the tests prints: progress, each failure at once, then what was skipped and why, and one total.
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import process from 'node:process';

const MAX_MESSAGE = 3_000;
/** Between two lines of progress where there is no terminal. */
const LINE_EVERY_MS = 15_000;
/** Between two drawings of the line on a terminal. */
const DRAW_EVERY_MS = 200;
/** Tests of several files that joined.mjs made one: each is in a `describe` with its path. */
const JOINED = /\/joined-\d+\/tests\//;
/** The end of the title of a skipped test, see `unless` of src/skipping.ts. */
const REASON = /\(skipped: ([^)]*)\)/;

function plural(count, word) {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

export default class TestReporter {
  #total = { passed: 0, failed: 0, skipped: 0 };
  #skipped = new Map();
  #tests = [];
  #files = [];
  #shown = new Set();
  /** The files of which a test has ended. */
  #seen = new Set();
  #lastFolder = '';
  #started = Date.now();
  #lastDrawn = Date.now();
  #root;

  constructor(globalConfig) {
    this.#root = globalConfig.rootDir;
  }

  onRunStart(results) {
    this.#started = Date.now();
    this.fileCount = Number(process.env.KUBE_DNS_TEST_FILES ?? results.numTotalTestSuites);
  }

  onTestCaseResult({ path }, result) {
    const { file, test } = this.#ownFile(path, result);
    this.#seen.add(file);
    this.#lastFolder = folderOf(file);
    if (test.status === 'failed') this.#showFailure(file, test);
    this.#progress();
  }

  onTestFileResult({ path }, result) {
    const file = this.#pathOf(path);
    const { testResults, testExecError, failureMessage, perfStats, console: printed } = result;
    if (JOINED.test(path)) this.#addJoined(path, testResults);
    else this.#files.push({ file, ms: perfStats.end - perfStats.start });
    if (testResults.length === 0 && (testExecError || failureMessage)) {
      this.#total.failed++;
      this.#print(`failed: ${file}: it cannot run\n${messageOf(failureMessage ?? '')}`);
      this.#tests.push({ file, title: '', status: 'failed', ms: 0 });
    }
    for (const result of testResults) this.#count(this.#ownFile(path, result));
    if (result.numFailingTests > 0 && printed) {
      this.#print(
        printed
          .map(({ message }) => message)
          .join('\n')
          .slice(0, MAX_MESSAGE),
      );
    }
    this.#progress();
  }

  onRunComplete() {
    this.#clearLine();
    for (const [group, count] of [...this.#skipped].sort()) {
      this.#print(`skipped: ${plural(count, 'test')} of ${group}`);
    }
    this.#showSlowest(Number(process.env.KUBE_DNS_TEST_SLOWEST ?? 0));
    const { passed, failed, skipped } = this.#total;
    const seconds = Math.round((Date.now() - this.#started) / 1_000);
    if (passed + failed === 0 && this.#hasTitle()) this.#print('no test has this title');
    const rest = skipped > 0 ? `, ${skipped} skipped` : '';
    this.#print(`${passed} passed, ${failed} failed${rest}, ${seconds} s`);
    const file = process.env.KUBE_DNS_TEST_RESULTS;
    const written = { ...this.#total, seconds, files: this.#files, tests: this.#tests };
    if (file) writeFileSync(file, JSON.stringify(written));
  }

  getLastError() {
    if (this.#total.passed === 0) return new Error('no test has passed');
    return this.#total.failed > 0 ? new Error('a test has failed') : undefined;
  }

  /** The file that a test is from, and the test with its title there. */
  #ownFile(path, test) {
    if (!JOINED.test(path)) return { file: this.#pathOf(path), test };
    const [file] = test.ancestorTitles;
    return { file, test: { ...test, fullName: test.fullName.slice(file.length + 1) } };
  }

  /** The files that were joined, each with the time of its tests. */
  #addJoined(path, results) {
    const times = new Map();
    for (const result of results) {
      const { file } = this.#ownFile(path, result);
      times.set(file, (times.get(file) ?? 0) + (result.duration ?? 0));
    }
    for (const [file, ms] of times) this.#files.push({ file, ms });
  }

  #count({ file, test }) {
    const { status, fullName, duration } = test;
    const kind = status === 'passed' || status === 'failed' ? status : 'skipped';
    // Tests that --title leaves out are pending, too.
    if (kind === 'skipped' && status === 'pending' && !REASON.test(fullName) && this.#hasTitle())
      return;
    this.#total[kind]++;
    this.#tests.push({ file, title: fullName, status: kind, ms: duration ?? 0 });
    if (kind === 'failed') this.#showFailure(file, test);
    if (kind !== 'skipped') return;
    const group = `${file}: ${REASON.exec(fullName)?.[1] ?? 'no reason is given'}`;
    this.#skipped.set(group, (this.#skipped.get(group) ?? 0) + 1);
  }

  #hasTitle() {
    return process.argv.some((arg) => arg.startsWith('--testNamePattern'));
  }

  #showFailure(file, { fullName, failureMessages = [] }) {
    const where = `${file}: ${fullName}`;
    if (this.#shown.has(where)) return;
    this.#shown.add(where);
    this.#print(`failed: ${where}\n${messageOf(failureMessages.join('\n'))}`);
  }

  #showSlowest(count) {
    if (count === 0) return;
    const longest = (rows) => rows.toSorted((one, other) => other.ms - one.ms).slice(0, count);
    const seconds = (ms) => `${(ms / 1_000).toFixed(1).padStart(7)} s  `;
    this.#print('the slowest files:');
    for (const { file, ms } of longest(this.#files)) this.#print(`${seconds(ms)}${file}`);
    this.#print('the slowest tests:');
    for (const { file, title, ms } of longest(this.#tests)) {
      this.#print(`${seconds(ms)}${file}: ${title}`);
    }
  }

  #progress() {
    const now = Date.now();
    const isTerminal = process.stdout.isTTY;
    if (now - this.#lastDrawn < (isTerminal ? DRAW_EVERY_MS : LINE_EVERY_MS)) return;
    this.#lastDrawn = now;
    const { passed, failed } = this.#total;
    const seconds = Math.round((now - this.#started) / 1_000);
    const text = `tests: ${this.#lastFolder}: ${this.#seen.size} of ${plural(this.fileCount, 'file')}, ${passed} passed, ${failed} failed, ${seconds} s`;
    if (isTerminal)
      process.stdout.write(`\r\u001b[K${text.slice(0, (process.stdout.columns ?? 80) - 1)}`);
    else process.stdout.write(`${text}\n`);
  }

  #print(text) {
    this.#clearLine();
    process.stdout.write(`${text}\n`);
  }

  #clearLine() {
    if (process.stdout.isTTY) process.stdout.write('\r\u001b[K');
  }

  #pathOf(path) {
    return relative(this.#root, path);
  }
}

/** The text of a failure, without the lines of jest's own stack. */
function messageOf(text) {
  const lines = text.split('\n').filter((line) => !/^ +at .*node_modules.(jest|@jest)/.test(line));
  return lines.join('\n').slice(0, MAX_MESSAGE);
}

function folderOf(file) {
  return file.split('/')[1] ?? '';
}
