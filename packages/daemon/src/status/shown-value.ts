import { shownText } from '@kube-dns/base';
import type { StatusValue } from './status-sections.js';

/** The end of a key that says what its value is. */
const UNITS: readonly (readonly [end: RegExp, format: (value: number) => string])[] = [
  [/Seconds$/, (value) => duration(value)],
  [/Ms$/, (value) => milliseconds(value)],
  [/Bytes$/, (value) => bytes(value)],
  [/Percent$/, (value) => `${round(value)} %`],
];
/** Times are texts of `Date.toISOString`. */
const TIME_END = 'At';
const ABBREVIATIONS =
  /\b(?:api|cpu|dns|ede|http|id|ip|json|nxdomain|pid|rtt|soa|srv|tcp|tls|tsig|ttl|udp|url)s?\b/g;

/** The words of a key, without its unit: `lastEventSeconds` is `last event`. */
export function shownKey(key: string): string {
  if (/[\s/]|^[A-Z]+$/.test(key)) return key;
  const isStatement = /^(?:is|has)(?=[A-Z])/;
  const bare = [...UNITS.map(([end]) => end), /At$/].reduce(
    (text, end) => (text.length > 2 ? text.replace(end, '') : text),
    key.replace(isStatement, ''),
  );
  return (bare === '' ? key : bare)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/^./, (first) => first.toLowerCase())
    .toLowerCase()
    .replace(ABBREVIATIONS, (word) =>
      word.replace(/[^s]|s(?!$)/g, (letter) => letter.toUpperCase()),
    );
}

/** A value as people read it. */
export function shownValue(key: string, value: StatusValue): string {
  if (value === null) return '–';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return '–';
    const unit = UNITS.find(([end]) => end.test(key));
    return unit === undefined ? grouped(value) : unit[1](value);
  }
  if (value === '') return '–';
  if (key.endsWith(TIME_END) && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) {
    return `${value.slice(0, 10)} ${value.slice(11, 19)} UTC`;
  }
  return shownText(value);
}

/** The two largest units: `3 d 4 h`. */
export function duration(seconds: number): string {
  if (seconds < 0) return `-${duration(-seconds)}`;
  if (seconds < 10) return `${round(seconds)} s`;
  const whole = Math.round(seconds);
  const parts = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor(whole / 3_600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  const two = parts.slice(first, first + 2).filter(([count]) => count > 0);
  return two.map(([count, unit]) => `${count} ${unit}`).join(' ');
}

function milliseconds(ms: number): string {
  return Math.abs(ms) < 10_000 ? `${round(ms)} ms` : duration(ms / 1_000);
}

function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = count;
  let at = 0;
  for (; Math.abs(value) >= 1_024 && at < units.length - 1; at++) value /= 1_024;
  return `${round(value)} ${units[at]}`;
}

/** Three digits at least, no more than two of a fraction. */
function round(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return grouped(Number(value.toFixed(digits)));
}

/** Thousands are apart: `12 345`, with a narrow space that does not break. */
function grouped(value: number): string {
  const [whole = '', fraction] = String(value).split('.');
  if (whole.length < 5 || whole.includes('e')) return String(value);
  const spaced = whole.replace(/\B(?=(?:\d{3})+$)/g, '\u202f');
  return fraction === undefined ? spaced : `${spaced}.${fraction}`;
}
