import { describe, expect, it } from '@jest/globals';

import { boolFlag, durationFlag, intFlag, listFlag, stringFlag } from './flags.js';
import { usageText } from './usage.js';

describe('usageText', () => {
  it('shows usage, summary and the flags in order with types and defaults, without hidden ones', () => {
    const text = usageText({
      name: 'sample',
      version: '1',
      summary: 'Does one thing.',
      flags: {
        period: durationFlag(60_000, 'time between two'),
        addr: stringFlag('0.0.0.0', 'where', 'ip'),
        port: intFlag(53, 'which'),
        quick: boolFlag(false, 'whether'),
        probe: listFlag((value) => value, 'what; may be repeated', 'probe'),
        secret: { ...stringFlag('', 'hidden one'), isHidden: true },
        own: { parse: () => null, initial: null, help: 'own kind', valueName: 'text' },
      },
    });
    expect(text).toBe(`Usage: sample [flags]

Does one thing.

Flags:
      --addr ip                    where (default "0.0.0.0")
  -h, --help                       print this text and exit
      --logging-format text|json   form of the log lines; json: one object per line, with the fields
                                   of Kubernetes components (default "text")
      --own text                   own kind
      --period duration            time between two (default 1m0s)
      --port int                   which (default 53)
      --probe probe                what; may be repeated
      --quick                      whether
  -v, --v int                      log verbosity: 0 is quiet, 2 is what manifests use, 4 and up is
                                   for debugging
      --version[=true|raw]         print the version and exit; raw prints it as a quoted string

Accepted and ignored: --add_dir_header, --alsologtostderr, --log-flush-frequency,
--log_backtrace_at, --log_dir, --log_file, --log_file_max_size, --logtostderr, --one_output,
--skip_headers, --skip_log_headers, --stderrthreshold, --vmodule.
`);
  });

  it('wraps every line within 100 columns and loses no word of a long text', () => {
    const help = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ');
    const flags = { [`a-${'very-'.repeat(10)}long-name`]: stringFlag('x', help) };
    const text = usageText({ name: 'sample', version: '1', summary: 's', flags });
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
    expect(text.replace(/\s+/g, ' ')).toContain(`${help} (default "x")`);
  });
});
