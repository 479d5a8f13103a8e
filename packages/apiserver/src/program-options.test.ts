import { describe, expect, it } from '@jest/globals';
import { parseProgramOptions } from './program-options.js';

describe('parseProgramOptions', () => {
  it('has a default for everything', () => {
    expect(parseProgramOptions([])).toEqual({
      action: 'serve',
      host: '127.0.0.1',
      port: 18_080,
      manifests: [],
      serviceRange: undefined,
      serviceRangeV6: undefined,
    });
  });

  it('collects manifests and takes ranges in any order', () => {
    const args = [
      '--manifests=a',
      '--manifests',
      'b',
      '--service-cluster-ip-range=fd00::/112,10.0.0.0/24',
    ];
    expect(parseProgramOptions(args)).toMatchObject({
      manifests: ['a', 'b'],
      serviceRange: '10.0.0.0/24',
      serviceRangeV6: 'fd00::/112',
    });
  });

  it.each([
    ['--help', 'help'],
    ['-h', 'help'],
    ['--version', 'version'],
  ])('accepts %s', (flag, action) => {
    expect(parseProgramOptions([flag])).toEqual({ action });
  });

  it.each([
    ['--bogus', 'unknown flag --bogus; see apiserver --help'],
    ['--port=x', '"x" is not a port'],
    ['--manifset=x', 'unknown flag --manifset; did you mean --manifests?'],
    ['--prot', 'unknown flag --prot; did you mean --port?'],
    ['-x', 'unknown flag -x; see apiserver --help'],
    ['--port', '--port needs a value'],
    ['--version=1', '--version=1: this flag takes no value'],
    ['--port=65536', '"65536" is not a port'],
    ['--manifests=', '--manifests needs a path'],
    ['extra', '"extra" is one argument too many'],
    ['--service-cluster-ip-range=a,b,c', 'more than two service ranges'],
  ])('refuses %s', (arg, message) => {
    expect(() => parseProgramOptions([arg])).toThrow(message);
  });

  it('refuses a flag in place of a value', () => {
    expect(() => parseProgramOptions(['--manifests', '--port=0'])).toThrow(
      '--manifests needs a value',
    );
  });
});
