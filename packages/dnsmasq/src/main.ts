import { runProgram, serveFamilies } from '@kube-dns/daemon';
import { isNannyFlag, PROGRAM } from './config/flags.js';
import { splitArguments } from './options/argument-line.js';
import { optionsText } from './options/options-text.js';
import { DEFAULT_CONFIG_FILE, parseOptions } from './options/parse-options.js';
import { DnsmasqServer } from './server.js';

const METRICS_PATH = '/metrics';

function run(argv: readonly string[]): void {
  const halves = splitArguments(argv, isNannyFlag);
  runProgram(
    PROGRAM,
    async ({ values, log, signals, unexpectedErrors }) => {
      const options = parseOptions(halves.dnsmasq, DEFAULT_CONFIG_FILE);
      if (options.request !== 'serve') {
        sayWhatIsAsked(options.request);
        return;
      }
      const server = new DnsmasqServer(values, options, log);
      signals.onReload(() => server.reload());
      signals.onDump(() => server.dump());
      signals.onTerminate(() => server.close());
      await server.start();
      const address = values['metrics-addr'];
      if (address === null) return;
      const families = server.metricFamilies({ version: PROGRAM.version, unexpectedErrors });
      const metrics = await serveFamilies({ ...address, path: METRICS_PATH, log, families });
      signals.onTerminate(() => metrics.close());
    },
    { argv: halves.nanny },
  );
}

function sayWhatIsAsked(request: 'test' | 'help' | 'version'): void {
  switch (request) {
    case 'test':
      process.stderr.write('dnsmasq: syntax check OK.\n');
      break;
    case 'help':
      process.stdout.write(optionsText());
      break;
    case 'version':
      process.stdout.write(`Kube-DNS ${PROGRAM.version}\n`);
      break;
  }
}

run(process.argv.slice(2));
