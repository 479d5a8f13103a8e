// `npm run watch`: reruns what a saved file touches, until Ctrl-C. First the unit tests of its own package, which take
// seconds, then those of the packages above. Tests of processes use the built bundles and are left to `npm test`.
import { watch } from 'node:fs';
import process from 'node:process';
import { clearTimeout, setTimeout } from 'node:timers';
import { onEnd, QUICK, ROOT, startJest } from './jest-command.mjs';

/** An editor writes a file in several steps. */
const SETTLE_MS = 50;
const SOURCE = /^([\w-]+)\/(src|test)\/.*\.ts$/;

const changed = new Set();
let running;
let timer;

function say(text) {
  process.stdout.write(`watch: ${text}\n`);
}

/** Runs the tests that import one of these files and whose path matches; resolves once it has ended. */
async function runRelated(files, regex) {
  running = startJest([
    `--testRegex=${regex}`,
    '--passWithNoTests',
    '--findRelatedTests',
    ...files,
  ]);
  await running.ended;
  running = undefined;
}

async function rerun() {
  if (running !== undefined) {
    await running.stop(); // the loop below goes on with what has changed
    return;
  }
  const names = [...changed];
  changed.clear();
  const files = names.map((name) => `${ROOT}packages/${name}`);
  const own = [...new Set(names.map((name) => name.split('/')[0]))].join('|');
  say(names.join(' '));
  const tests = names.filter((name) => name.endsWith('.test.ts')).map((name) => `|${name}$`);
  const stages = [
    `packages/((${own})/src/.*${QUICK}${tests.join('')})`,
    `packages/(?!(${own})/)[^/]+/src/.*${QUICK}`,
  ];
  for (const stage of stages) {
    await runRelated(files, stage);
    if (changed.size > 0) break;
  }
  if (changed.size > 0) await rerun();
  else say(`waits. The programs: npm test -- ${own.replaceAll('|', '/test ')}/test`);
}

watch(`${ROOT}packages`, { recursive: true }, (_, name) => {
  if (name === null || !SOURCE.test(name)) return;
  changed.add(name);
  clearTimeout(timer);
  timer = setTimeout(() => void rerun(), SETTLE_MS);
});
onEnd(async () => running?.stop());
say('save a file below packages/*/src or test; Ctrl-C ends');
