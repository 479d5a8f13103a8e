import { MAX_HITS, type PrefetchOptions } from '@kube-dns/resolver';
import { OptionError } from '../errors.js';
import { wholeNumber } from './number-value.js';

const HITS = 3;
const PERCENT = 10;
const MAX_PERCENT = 90;

/** Parses `[HITS[,PERCENT]]`; throws an OptionError. */
export function parsePrefetch(value: string): PrefetchOptions {
  const [first = '', second, ...rest] = value.split(',');
  if (rest.length > 0) throw new OptionError('it is HITS[,PERCENT]');
  const hits = first === '' ? HITS : wholeNumber(first, MAX_HITS);
  const percent = second === undefined ? PERCENT : wholeNumber(second, MAX_PERCENT);
  if (hits === 0 || percent === 0) throw new OptionError('it cannot be 0');
  return { hits, percent };
}
