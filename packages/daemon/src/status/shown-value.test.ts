import { expect, it } from '@jest/globals';
import { shownKey, shownValue } from './status-page.js';

it.each([
  ['uptimeSeconds', 97_210, 'uptime', '1 d 3 h'],
  ['lastEventSeconds', 2.345, 'last event', '2.35 s'],
  ['pauseSeconds', 3_600, 'pause', '1 h'],
  ['rttMs', 0.1234, 'RTT', '0.12 ms'],
  ['AAAA', 3, 'AAAA', '3'],
  ['answerMs', 75_000, 'answer', '1 min 15 s'],
  ['heapUsedBytes', 93_616_128, 'heap used', '89.3 MiB'],
  ['hitPercent', 98.76, 'hit', '98.8 %'],
  ['startedAt', '2026-11-22T22:31:36.123Z', 'started', '2026-11-22 22:31:36 UTC'],
  ['isLive', true, 'live', 'yes'],
  ['isReady', false, 'ready', 'no'],
  ['cpuSeconds', 5, 'CPU', '5 s'],
  ['nxdomainNames', 12_345, 'NXDOMAIN names', '12\u202f345'],
  ['resourceVersion', '123456', 'resource version', '123456'],
  ['server', '', 'server', '–'],
  ['lastFailure', null, 'last failure', '–'],
  ['rttMs', Number.NaN, 'RTT', '–'],
  ['in this minute', 1_234, 'in this minute', '1234'],
])('%s of %p is shown as a person writes it', (key, value, words, text) => {
  expect([shownKey(key), shownValue(key, value)]).toEqual([words, text]);
});
