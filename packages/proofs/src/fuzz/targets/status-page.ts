import { shownText } from '@kube-dns/base';
import { statusPage } from '@kube-dns/daemon';
import type { FuzzTarget } from '../fuzz-target.js';
import { textAllowance, textTarget } from './text-target.js';

const PLAIN = 'text';
/** A whole page is made of each text. */
const PAGE_ALLOWANCE = 1024 * 1024;

/** Names and errors from anywhere on the status page: there is no more markup in it than with a plain text. */
export function createStatusPage(): FuzzTarget {
  const expected = markup(pageOf(PLAIN));
  return textTarget({
    seeds: [
      `</style><script>alert(1)</script><img src=x onerror='1'>"&lt;`,
      'https://user:password@10.0.0.1/ says Bearer eyJhbGciOiJSUzI1NiJ9.e30.c2ln',
      'key "k" { secret "AAECAwQFBgcICQoLDA0ODw=="; };',
      '\u202e\u0000\ud800',
    ],
    tokens: ['<', '>', '&', '"', "'", '://', '@', 'secret "', 'token=', '-----BEGIN ', 'eyJ'],
    allowance: (input) => PAGE_ALLOWANCE + textAllowance(input),
    parse: (text) => {
      if (markup(pageOf(text)) !== expected) throw new Error('a text became markup');
      return true;
    },
  });
}

function pageOf(text: string): string {
  const shown = shownText(text);
  return statusPage({
    program: shown,
    version: shown,
    host: shown,
    at: '2026-01-01T00:00:00.000Z',
    isReady: true,
    notReady: [shown],
    problems: [shown],
    sections: [
      { title: shown, content: { [shown]: shown }, more: 1 },
      { title: shown, content: [{ [shown]: shown }], more: 0 },
    ],
  });
}

/** What a browser would take for the beginning of an element, and for the end of a quoted attribute. */
function markup(page: string): string {
  const count = (text: string) => page.split(text).length - 1;
  // A long fact has a class more.
  return `${count('<')} ${count('"') - 2 * count('<div class="wide">')}`;
}
