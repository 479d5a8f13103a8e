import { describe, expect, it } from '@jest/globals';
import { noteHealth } from './server-health-log.js';
import { ServerStatistics } from './server-statistics.js';

const TEXT = '127.0.0.1#10053';

/** What is logged when this server goes down or comes back, and whether its metric says that it is up. */
function noted(isDown: boolean) {
  const statistics = new ServerStatistics();
  const lines: string[] = [];
  const log = {
    info: (line: string) => void lines.push(`info: ${line}`),
    warn: (line: string) => void lines.push(`warning: ${line}`),
  };
  noteHealth({ text: TEXT, health: { isDown } }, statistics, log);
  return { lines, isUp: statistics.of(TEXT).isUp };
}

describe('the log', () => {
  it('says that a server that is down is not used', () => {
    expect(noted(true)).toEqual({
      lines: [`warning: nameserver ${TEXT} does not reply - not used until it does`],
      isUp: false,
    });
  });

  it('says that it is back', () => {
    expect(noted(false)).toEqual({ lines: [`info: nameserver ${TEXT} replies again`], isUp: true });
  });
});
