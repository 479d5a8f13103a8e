// A program for the tests of runProgram: its flags choose what it does.
import process from 'node:process';
import { setImmediate } from 'node:timers';
import { boolFlag, stringFlag, UsageError } from '@kube-dns/base';
import { StartupError } from '../dist/errors.js';
import { runProgram } from '../dist/program.js';

const program = {
  name: 'fixture',
  version: '1.2.3',
  summary: 'A program for tests.',
  flags: {
    fail: stringFlag('', 'startup, usage, error, uncaught or rejection: how the start goes wrong'),
    later: stringFlag('', 'uncaught or rejection: what goes wrong after the start'),
    listen: boolFlag(false, 'listen to reload and dump'),
  },
};

const never = () => new Promise(() => undefined);

runProgram(program, async ({ values, positional, log, signals, writeLogTo, facts }) => {
  // Keeps the process alive, as a server would.
  setInterval(() => undefined, 1_000_000);
  if (values.fail === 'startup') throw new StartupError('cannot start: two\nlines', 255);
  if (values.fail === 'usage') throw new UsageError('these do not go together');
  if (values.fail === 'error') throw new Error('something unexpected');
  if (values.fail === 'uncaught') {
    setImmediate(() => {
      throw new Error('thrown aside');
    });
    await never();
  }
  if (values.fail === 'rejection') {
    void Promise.reject(new Error('rejected aside'));
    await never();
  }
  signals.onTerminate((signal) => log.info(`drained after ${signal}`));
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
});
