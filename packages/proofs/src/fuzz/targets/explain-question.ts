import { readQuestion } from '@kube-dns/telemetry';
import { encodeName, equalNames, typeNumber } from '@kube-dns/wire';
import type { FuzzTarget } from '../fuzz-target.js';
import { textTarget } from './text-target.js';

const MAX_ERROR_CHARACTERS = 8_192;
const PRINTABLE = /^[\x21-\x7e]+$/;

/** The query string of `/explain`. */
export function createExplainQuestion(): FuzzTarget {
  return textTarget({
    seeds: [
      'name=web.default.svc.cluster.local',
      'name=_http._tcp.db.default.svc.cluster.local.&type=SRV&client=10.1.0.1',
      'name=a%5C.b%5C000%c3%a4.example&type=TYPE65&client=fd00::1',
      'name=1.0.0.10.in-addr.arpa&type=ptr',
      'name=.&type=ns',
      'type=AXFR&name=x&name=y',
    ],
    tokens: [
      ...['name=', '&type=', '&client=', '%00', '%5c', '\\', '\\255', '\\9', '..', '.', '*.', '%'],
      ...['TYPE0', 'TYPE65535', 'ANY', '::', '127.0.0.1', '\u0000', '+', '%1b[2J', ';'],
    ],
    parse: (text) => {
      const question = readQuestion(new URLSearchParams(text));
      if (typeof question === 'string') {
        if (question.length > MAX_ERROR_CHARACTERS) throw new Error('the error is too long');
        return false;
      }
      // What is shown is the name that is asked, and nothing that a terminal would obey.
      const shown = question.text;
      if (!PRINTABLE.test(shown.name) || !PRINTABLE.test(shown.type)) throw new Error('unreadable');
      if (!equalNames(encodeName(shown.name), question.name)) throw new Error('another name');
      if (typeNumber(shown.type) !== question.type) throw new Error('another type');
      return true;
    },
  });
}
