import { expect, it } from '@jest/globals';
import { recordedLog } from '../../test/recorded-log.js';
import { parseOptions } from '../options/parse-options.js';
import { forwarderOptions } from './upstream-options.js';

/** When a question that gets no reply is sent again, in ms after the first time. */
function sendings(...argv: string[]): number[] {
  const { plan } = forwarderOptions(parseOptions(argv), { hasClient: () => false }, recordedLog());
  const times: number[] = [];
  let atMs = 0;
  for (let retries = 0; ; retries++) {
    const pauseMs = plan.delayMs(retries);
    if (pauseMs === Number.POSITIVE_INFINITY) return times;
    times.push((atMs += pauseMs));
  }
}

it.each([
  [[], [1_000, 3_000]],
  [['--query-timeout=1000'], [250, 750]],
  [['--fast-dns-retry=200,3000'], [200, 600, 1_400]],
  [['--fast-dns-retry=100,750'], [100, 300, 700]],
])('with %j a silent server is asked again after %j ms', (argv, times) => {
  expect(sendings(...argv)).toEqual(times);
});
