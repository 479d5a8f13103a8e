import { runProgram } from '@kube-dns/daemon';
import { chooseEngine } from './choose-engine.js';
import { isNannyFlag, PROGRAM } from './config/flags.js';
import { splitArguments } from './options/argument-line.js';
import { optionsText } from './options/options-text.js';
import { DEFAULT_CONFIG_FILE, parseOptions } from './options/parse-options.js';
import { DnsmasqServer } from './server.js';

function run(argv: readonly string[]): void {
  const halves = splitArguments(argv, isNannyFlag);
  runProgram(
    PROGRAM,
    async ({ values, log, signals }) => {
      const options = parseOptions(halves.dnsmasq, DEFAULT_CONFIG_FILE);
      if (options.request !== 'serve') {
        sayWhatIsAsked(options.request);
        return;
      }
      const engine = await chooseEngine(options.udpEngine, log);
      const server = new DnsmasqServer(values, options, engine, log);
      signals.onReload(() => server.reload());
      signals.onDump(() => server.dump());
      signals.onTerminate(() => server.close());
      await server.start();
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
