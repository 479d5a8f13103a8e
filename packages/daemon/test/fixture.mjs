// A program for the tests of runProgram: its flags choose what it does.
import process from 'node:process';
import { setImmediate } from 'node:timers';
import { setTimeout as delay } from 'node:timers/promises';
import {
  StartupError,
  UsageError,
  boolFlag,
  intFlag,
  runProgram,
  stringFlag,
} from '../dist/index.js';

const program = {
  name: 'fixture',
  version: '1.2.3',
  summary: 'A program for tests.',
  flags: {
    fail: stringFlag('', 'startup, usage, error, uncaught or rejection: how the start goes wrong'),
    later: stringFlag('', 'uncaught or rejection: what goes wrong after the start'),
    'drain-ms': intFlag(0, 'how long closing takes'),
    listen: boolFlag(false, 'listen to reload and dump'),
  },
};

runProgram(
  program,
  async ({ values, positional, log, signals, writeLogTo, facts }) => {
    // Keeps the process alive, as a server would.
    setInterval(() => undefined, 1_000_000);
    if (values.fail === 'startup') throw new StartupError('cannot start: two\nlines', 255);
    if (values.fail === 'usage') throw new UsageError('these do not go together');
    if (values.fail === 'error') throw new Error('something unexpected');
    if (values.fail === 'uncaught') {
      setImmediate(() => {
        throw new Error('thrown aside');
      });
      await delay(10_000);
    }
    if (values.fail === 'rejection') {
      void Promise.reject(new Error('rejected aside'));
      await delay(10_000);
    }
    signals.onTerminate(async (signal) => {
      log.info(`draining after ${signal}`);
      await delay(values['drain-ms']);
      log.info('drained');
    });
    signals.onTerminate(() => {
      throw new Error('one handler fails');
    });
    if (values.listen) {
      signals.onReload(() => log.info('reloading'));
      signals.onDump(() => log.info(`dumping, ${facts.unexpectedErrors()} unexpected`));
      signals.onReopenLog(() => writeLogTo((line) => process.stdout.write(line)));
    }
    log.info(`started with ${JSON.stringify(positional)}`);
    setImmediate(() => {
      if (values.later === 'rejection') void Promise.reject(new Error('later rejection'));
      if (values.later === 'uncaught') throw new Error('later exception');
    });
  },
  { terminateLimitMs: Number(process.env.LIMIT_MS ?? 30_000) },
);
