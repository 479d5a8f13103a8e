import { expect, it } from '@jest/globals';
import { lineText } from './tail.js';

const LINE = {
  time: '2026-11-29T06:41:07.123Z',
  client_ip: '10.244.1.5',
  client_port: 4711,
  qname: 'web.shop.svc.cluster.local.',
  qtype: 'A',
  rcode: 'NOERROR',
  source: 'cache',
  duration_seconds: 0.000163,
  ede: [],
};

it('an answer is a line, with the pod where there are several', () => {
  const text = '10.244.1.5 A web.shop.svc.cluster.local. NOERROR cache 0.2 ms';
  expect(lineText(LINE, '')).toBe(`06:41:07.123 ${text}`);
  expect(lineText(LINE, 'kube-dns-1/dnsmasq ')).toBe(`06:41:07.123 kube-dns-1/dnsmasq ${text}`);
});

it('one without an answer has no rcode, and errors are named by their codes', () => {
  const unanswered = { time: LINE.time, qname: LINE.qname, source: LINE.source };
  expect(lineText(unanswered, '')).toContain(' web.shop.svc.cluster.local. - cache');
  expect(lineText({ time: LINE.time, ede: [3, 22] }, '')).toMatch(/ EDE 3,22$/);
});

it.each([[null], [7], ['text'], [[]]])('%j is a line without facts', (line) => {
  expect(lineText(line, '')).toBe('- - - - - -');
});
