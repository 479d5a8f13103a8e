import './packages/testkit/tools-path.mjs';

/** One configuration for every package: `jest --config ../../jest.config.js --rootDir .` */
export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/src/**/*.test.ts', '<rootDir>/test/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
        module: { type: 'es6' },
      },
    ],
  },
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  // Above the sum of what a test waits for on a busy machine: what is missing is named, not the time.
  testTimeout: 60_000,
};
