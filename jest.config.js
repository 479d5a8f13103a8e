import process from 'node:process';
import './packages/testkit/tools-path.mjs';

/** Where each package is one file, and several test files are one, see joined.mjs. */
const joined = process.env.KUBE_DNS_JOINED;

/** One configuration for all packages; `packages/testkit/run-tests.mjs` chooses the files. */
export default {
  roots: ['<rootDir>/packages', ...(joined === undefined ? [] : [joined])],
  testSequencer: '<rootDir>/packages/testkit/test-sequencer.mjs',
  testEnvironment: '<rootDir>/packages/testkit/test-environment.mjs',
  testRegex: [
    String.raw`packages/[\w-]+/(src|test)/.*\.test\.ts$`,
    String.raw`/joined-\d+/tests/.*\.test\.mjs$`,
  ],
  // That of jest leaves out node_modules/, where the joined test files are.
  testPathIgnorePatterns: [],
  extensionsToTreatAsEsm: ['.ts'],
  cacheDirectory: '<rootDir>/node_modules/.cache/jest',
  modulePathIgnorePatterns: [String.raw`<rootDir>/packages/[\w-]+/dist/`],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
        module: { type: 'es6' },
      },
    ],
  },
  moduleNameMapper: {
    '^(?:@kubernetes/)?(client-node|express|prom-client)$':
      '<rootDir>/packages/testkit/loaded-once/$1.cjs',
    '^(\\.{1,2}/.*)\\.js$': '$1',
    ...(joined === undefined ? sources() : joinedFiles()),
  },
  // A worker keeps part of what each file has loaded: without an end of it, late files are slow.
  workerIdleMemoryLimit: '280MB',
  // Above all that a test waits for, a minute each: what is missing is named, not the time.
  testTimeout: 120_000,
};

/**
 * Sister packages from their sources, so that a change is tested without a build, and its tests are found through all packages.
 * The testkit starts files of its own as programs, for which it must be built.
 */
function sources() {
  return {
    '^@kube-dns/(?!testkit)([\\w-]+)$': '<rootDir>/packages/$1/src/index.ts',
    '^@kube-dns/(?!testkit)([\\w-]+)/internal$': '<rootDir>/packages/$1/src/internal.ts',
    '^@kube-dns/(?!testkit)([\\w-]+)/(\\w+)$': '<rootDir>/packages/$1/src/$2/index.ts',
  };
}

function joinedFiles() {
  return {
    '^@kube-dns/([\\w-]+)$': `${joined}/$1/index.mjs`,
    '^@kube-dns/([\\w-]+)/internal$': `${joined}/$1/internal.mjs`,
    '^@kube-dns/([\\w-]+)/(\\w+)$': `${joined}/$1/$2/index.mjs`,
  };
}
