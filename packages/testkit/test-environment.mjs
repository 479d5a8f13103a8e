// Each test file has a realm of its own, into which jest loads every module anew. What is large and has no state of its own, a
// worker loads once, outside: the 869 modules of client-node alone took half a second of CPU in each file of kubedns.
import { createRequire } from 'node:module';
import process from 'node:process';
import { TestEnvironment } from 'jest-environment-node';

// The router of express warns of promises that are of another realm than its own.
process.env.NO_DEPRECATION = 'router';

export default class extends TestEnvironment {
  constructor(...args) {
    super(...args);
    // For the files of loaded-once/.
    this.global.loadOnce = createRequire(import.meta.url);
    // It reads the variables that tests set.
    this.global.process.env = process.env;
  }
}
