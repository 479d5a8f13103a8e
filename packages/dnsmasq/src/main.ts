import { runProgram, StartupError } from '@kube-dns/daemon';
import { isNannyFlag, PROGRAM } from './config/flags.js';
import { OptionError } from './errors.js';
import { splitArguments } from './options/argument-line.js';
import type { DnsmasqOptions } from './options/option-values.js';
import { parseOptions } from './options/parse-options.js';
import { DnsmasqServer } from './server.js';

/** dnsmasq's exit code for a bad command line (src/dnsmasq.h, EC_BADCONF). */
const EXIT_BAD_CONFIGURATION = 1;

function run(argv: readonly string[]): void {
  const halves = splitArguments(argv, isNannyFlag);
  runProgram(
    PROGRAM,
    async ({ values, log, signals }) => {
      const options = readOptions(halves.dnsmasq);
      if (options.isTest) {
        process.stderr.write('dnsmasq: syntax check OK.\n');
        return;
      }
      const server = new DnsmasqServer(values, options, log);
      signals.onReload(() => server.reload());
      signals.onDump(() => server.dump());
      signals.onTerminate(() => server.close());
      await server.start();
    },
    { argv: halves.nanny },
  );
}

function readOptions(argv: readonly string[]): DnsmasqOptions {
  try {
    return parseOptions(argv);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    throw new StartupError(`bad command line options: ${error.message}`, EXIT_BAD_CONFIGURATION);
  }
}

run(process.argv.slice(2));
