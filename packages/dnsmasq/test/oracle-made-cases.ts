import { hostname } from 'node:os';
import { addressBytes, reverseName } from '@kube-dns/wire';
import type { Difference } from './oracle-local-differences.js';
import { type Group, questions } from './oracle-local-zone.js';

function reverseQuestion(address: string): string {
  return `${reverseName(addressBytes(address))} PTR`;
}

/** Cases of local data that is generated, not configured record by record; see {@link Group}. */
export const MADE_SAME: Readonly<Record<string, Group>> = {
  'addresses in the client’s network come before others': {
    options: [
      ...['-y', '--host-record=multi,10.0.0.1', '--host-record=multi,127.0.0.9,fd00::1'],
      ...['--host-record=multi,127.1.0.9', '--host-record=far,10.0.0.1', '--addn-hosts=HOSTS'],
      ...['--interface-name=if.x,lo', '--cname=al,multi', '--mx-host=mail.x,multi'],
    ],
    questions: questions(
      ...['multi', 'multi AAAA', 'multi ANY', 'far', 'alpha', 'if.x', 'al', 'mail.x MX'],
    ),
  },
  'MX of hosts to a target': {
    options: [
      ...['-L', '--mx-target=alpha', '--addn-hosts=HOSTS', '--host-record=hr,10.0.0.1'],
      ...['--mx-host=beta,other', '--interface-name=if.x,lo', '--cname=al,alpha'],
      ...['--txt-record=text.x,t', '--local-ttl=9'],
    ],
    questions: questions(
      ...['alpha MX', 'alpha ANY', 'six MX', 'hr MX', 'hr ANY', 'beta MX', 'if.x MX', 'al MX'],
      ...['text.x MX', 'nowhere.x MX', `${hostname()} MX`, 'HR MX'],
    ),
  },
  'MX of hosts to themselves': {
    options: [
      ...['-e', '-L', '--addn-hosts=HOSTS', '--mx-host=beta,other', '--cname=al,alpha'],
      '--mx-host=plain',
    ],
    questions: questions(
      ...['alpha MX', 'ALPHA MX', 'beta MX', 'al MX', 'alpha ANY', 'plain MX', `${hostname()} MX`],
    ),
  },
  'MX of this machine because there is a target': {
    options: ['--mx-target=target.x', '--addn-hosts=HOSTS'],
    questions: questions(`${hostname()} MX`, 'alpha MX'),
  },
  'names made of addresses': {
    options: [
      ...['--synth-domain=s.x,10.0.0.0/24,p-', '--synth-domain=i.x,10.1.0.0/24,n*', '--bogus-priv'],
      ...['--synth-domain=six.x,fd00::/64', '--synth-domain=six2.x,fd01::/48,a-', '--local-ttl=7'],
      ...['--synth-domain=sixi.x,fd02::/64,k*', '--synth-domain=r.x,10.2.0.5,10.2.0.9,q-'],
      ...['--synth-domain=np.x,10.3.0.0/16', '--synth-domain=m.x,::ffff:0:0/96,z-'],
      ...['--synth-domain=one.x,10.4.0.1', '--synth-domain=late.x,10.0.0.64/26,p-'],
      ...['--synth-domain=dot.x,10.5.0.0/24,a.b-', '--host-record=p-10-0-0-4.s.x,1.1.1.1'],
      ...['--synth-domain=low.x,::/64', '--synth-domain=nine.x,10.6.0.0/9,'],
    ],
    questions: questions(
      ...['p-10-0-0-3.s.x', 'P-10-0-0-3.S.x', 'p-10-0-1-3.s.x', 'p-10-0-0-3.s.x AAAA'],
      ...['p-10-0-0-3.s.x TXT', 'p-10-0-0-3.s.x ANY', 'p-10-0-0-4.s.x', 'x.p-10-0-0-3.s.x'],
      ...['p-10-0-0.s.x', 'p-10-0-0-03.s.x', 'p-10-0-0-256.s.x', '10-0-0-3.s.x', 's.x', 'p-.s.x'],
      ...['n5.i.x', 'n255.i.x', 'n256.i.x', 'n0.i.x', 'n.i.x', 'n007.i.x', 'n-1.i.x', 'n5 AAAA'],
      ...['fd00--5.six.x AAAA', 'fd00-0-0-0--5.six.x AAAA', 'FD00--A.six.x AAAA', 'fd00--5.six.x'],
      ...['fd00--1-2-3-4.six.x AAAA', 'fd00--1-2-3-4-5.six.x AAAA', 'fd00--5--6.six.x AAAA'],
      ...['a-fd01--7.six2.x AAAA', 'a-fd01-0-0-ffff--7.six2.x AAAA', 'a-fd01-0-1--7.six2.x AAAA'],
      ...['k9.sixi.x AAAA', 'k4294967296.sixi.x AAAA', 'q-10-2-0-5.r.x'],
      ...['q-10-2-0-9.r.x', 'q-10-2-0-4.r.x', 'q-10-2-0-10.r.x', '10-3-4-5.np.x', '10-4-0-1.one.x'],
      ...['z---ffff-1-2-3-4.m.x AAAA', 'z---ffff-102-304.m.x AAAA', 'a.b-10-5-0-1.dot.x'],
      ...['--9.low.x AAAA', '0--9.low.x AAAA', '10-99-9-9.nine.x'],
      ...['3.0.0.10', '4.0.0.10', '65.0.0.10', '3.1.0.10', '7.0.1.10', '5.0.2.10', '10.2.0.10'].map(
        (text) => `${text}.in-addr.arpa PTR`,
      ),
      ...['5.4.3.10', '1.0.4.10', '1.0.5.10'].map((text) => `${text}.in-addr.arpa PTR`),
      ...['fd00::5', 'fd00::1:2:0:4', 'fd00::1:0:0:4', 'fd01::7', 'fd01:0:0:ffff::', 'fd02::9'].map(
        reverseQuestion,
      ),
      ...['::ffff:1.2.3.4', '::9', '::1.2.3.4', 'fd03::1'].map(reverseQuestion),
    ),
  },
  'names for hosts in the networks of an interface': {
    options: [
      ...['--dynamic-host=d.x,0.0.0.9,lo', '--dynamic-host=e.x,1.2.3.4,0.0.0.8,::7,lo'],
      ...['--dynamic-host=g.x,0.0.0.9,nope', '--local-ttl=4'],
    ],
    questions: questions(
      ...['d.x', 'd.x AAAA', 'd.x ANY', 'd.x TXT', 'e.x', 'e.x AAAA', 'g.x', 'D.x'],
      ...['9.0.0.127.in-addr.arpa PTR', '8.0.0.127.in-addr.arpa PTR', '1.0.0.127.in-addr.arpa PTR'],
    ),
  },
};

/** Deliberate differences, each with its reason. */
export const MADE_DIFFERENT: Readonly<Record<string, Difference>> = {
  'MX of a name above hosts: asked upstream; dnsmasq takes it for a host': {
    options: ['--localmx', '--host-record=host.above.x,10.0.0.1'],
    questions: questions('host.above.x MX', 'above.x MX'),
    fields: ['aa', 'answers'],
  },
  'the reverse of a network of names made of addresses: forwarded; dnsmasq makes a name from it': {
    options: ['--synth-domain=s.x,10.3.0.0/16'],
    questions: questions('5.4.3.10.in-addr.arpa PTR', '4.3.10.in-addr.arpa PTR'),
    fields: ['aa', 'answers'],
  },
  'ANY of the reverse of a made name: PTR; dnsmasq adds the address': {
    options: ['--synth-domain=s.x,10.3.0.0/16'],
    questions: questions('5.4.3.10.in-addr.arpa PTR', '5.4.3.10.in-addr.arpa ANY'),
    fields: ['answers'],
  },
  'made names of an IPv6 range between two addresses: those; dnsmasq makes names of all others': {
    options: ['--synth-domain=s.x,fd00::1,fd00::5'],
    questions: questions('fd00--5.s.x AAAA', 'fd00--6.s.x AAAA'),
    fields: ['aa', 'answers'],
  },
};
