import type { viewOf } from './answer-view.js';
import { type Group, questions } from './oracle-local-zone.js';

/** A group whose last question has another answer here. */
export interface Difference extends Group {
  /** What differs in the answer to the last question; the answers to those before are the same. */
  readonly fields: readonly (keyof ReturnType<typeof viewOf>)[];
}

/** Deliberate differences, each with its reason. A row that does not differ any more fails. */
export const DIFFERENT: Readonly<Record<string, Difference>> = {
  'ANY of a domain with addresses of both families: both; dnsmasq returns only IPv6': {
    options: ['--address=/both.x/1.1.1.1', '--address=/both.x/fd00::5'],
    questions: questions('both.x', 'both.x AAAA', 'both.x ANY'),
    fields: ['answers'],
  },
  'names of one label with an address of the other family: forwarded; dnsmasq refuses': {
    options: ['--address=//7.7.7.7'],
    questions: questions('two', 'two AAAA'),
    fields: ['rcode', 'answers'],
  },
  'a domain and a wildcard of the same text: both count; dnsmasq may ignore one of them': {
    options: ['--address=/ab.x/1.5.4.1', '--address=/*ab.x/#'],
    questions: questions('c.ab.x', 'cab.x AAAA', 'c.ab.x AAAA'),
    fields: ['aa', 'answers'],
  },
  'the same domain with zeros twice: one record; dnsmasq returns two': {
    options: ['--address=/zero.x/#', '--address=/zero.x/#'],
    questions: questions('zero.x'),
    fields: ['answers'],
  },
  'the cached target of a CNAME: the CNAME alone, always; dnsmasq adds the cached target': {
    options: ['--cname=al,cached.x'],
    questions: questions('al', 'cached.x', 'al'),
    fields: ['aa', 'answers'],
  },
  'capitals of a name: unchanged; Debian’s dnsmasq lower-cases them because of its IDN library': {
    options: ['--ptr-record=9.9.9.9.in-addr.arpa,Own.X'],
    questions: questions('9.9.9.9.in-addr.arpa PTR'),
    fields: ['answers'],
  },
  'an empty label in a hosts file: the name is bad; dnsmasq sends a malformed message': {
    options: ['--addn-hosts=BAD'],
    questions: questions('good.x', '1.0.0.10.in-addr.arpa PTR'),
    fields: ['answers'],
  },
};
