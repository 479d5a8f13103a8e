import { describe, expect, it } from '@jest/globals';
import { encodeKey } from '@kube-dns/wire';
import { parseDnsConfig } from './dns-config.js';
import { ConfigError } from './errors.js';
import { parseQueryLogRules, QUERY_LOG_OFF, queryLogFlag } from './query-log-rules.js';

function mistakesOf(text: string): readonly string[] {
  try {
    parseQueryLogRules(text);
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
  return [];
}

describe('parseQueryLogRules', () => {
  it('reads off', () => {
    expect(parseQueryLogRules('off\n')).toEqual(QUERY_LOG_OFF);
  });

  it('takes every class, name and answer unless it is said otherwise', () => {
    expect(parseQueryLogRules('json')).toEqual({
      format: 'json',
      classes: new Set(['success', 'denial', 'error']),
      names: [],
      sample: 1,
      slowMs: 1_000,
    });
  });

  it('reads every setting, classes and names several times', () => {
    const text =
      'text, class=denial, class=error, name=SVC.cluster.local, name=example.org., sample=100, slow=250';
    expect(parseQueryLogRules(text)).toEqual({
      format: 'text',
      classes: new Set(['denial', 'error']),
      names: [encodeKey('svc.cluster.local'), encodeKey('example.org')],
      sample: 100,
      slowMs: 250,
    });
  });

  it('has every class with class=all', () => {
    expect(parseQueryLogRules('text,class=error,class=all').classes.size).toBe(3);
  });

  it.each([
    ['', ['"" is not a format: it starts with one of off, text, json']],
    ['xml', ['"xml" is not a format: it starts with one of off, text, json']],
    ['class=error', ['"class=error" is not a format: it starts with one of off, text, json']],
    ['off,sample=2', ['off has no settings']],
    ['json,', ['"" is not one of class=…, name=…, sample=…, slow=…']],
    ['json,combined', ['"combined" is not one of class=…, name=…, sample=…, slow=…']],
    ['json,class=nodata', ['class="nodata" is not one of all, success, denial, error']],
    ['json,sample=0', ['sample="0" is not a whole number from 1 to 1000000']],
    ['json,sample=1e3', ['sample="1e3" is not a whole number from 1 to 1000000']],
    ['json,sample=2,sample=3', ['sample is given twice']],
    ['json,slow=1s', ['slow="1s" is not a whole number from 1 to 60000']],
    ['json,name=', ['name "": empty name']],
    ['json,name=a..b', ['name "a..b": empty label']],
    [`json,name=${'a'.repeat(101)}`, [`name="${'a'.repeat(100)}…" is not a name`]],
    [`json${',name=a'.repeat(17)}`, ['17 names, at most 16 are possible']],
    [`json${',x'.repeat(33)}`, ['more than 32 settings']],
    [
      'yaml,class=x,slow=-1',
      [
        '"yaml" is not a format: it starts with one of off, text, json',
        'class="x" is not one of all, success, denial, error',
        'slow="-1" is not a whole number from 1 to 60000',
      ],
    ],
  ])('refuses %j and names each mistake', (text, mistakes) => {
    expect(mistakesOf(text)).toEqual(mistakes);
  });

  it('is the flag, of which the last one counts', () => {
    const flag = queryLogFlag();
    expect(flag.initial).toEqual(QUERY_LOG_OFF);
    expect(flag.parse('json', parseQueryLogRules('text'), true).format).toBe('json');
  });

  it('is the key queryLog of the ConfigMap, which is absent or refused whole', () => {
    const config = (text: string) => parseDnsConfig(new Map([['queryLog', text]]));
    expect(config('json,sample=10\n').queryLog?.sample).toBe(10);
    expect(parseDnsConfig(new Map()).queryLog).toBeUndefined();
    expect(() => config('json,sample=x')).toThrow('queryLog: sample="x" is not');
  });
});
