import {
  CookieSecretFile,
  createStderrWriter,
  failStartup,
  type Log,
  MetricsServer,
  openStatusPaths,
  readTlsCa,
  readTsigKey,
  runProgram,
} from '@kube-dns/daemon';
import { chooseUdpEngine, EngineError, ServerCookies } from '@kube-dns/transport';
import { PROGRAM, splitArguments } from './config/flags.js';
import { corednsFamilies } from './metrics.js';
import { LogFile } from './log/log-file.js';
import { EXIT_BAD_FILE } from './errors.js';
import { type DnsmasqOptions, optionsText } from './options/option-table.js';
import { DEFAULT_CONFIG_FILE, parseOptions } from './options/parse-options.js';
import { DnsmasqServer } from './server.js';

const METRICS_PATH = '/metrics';
/** dnsmasq's exit code for other errors (src/dnsmasq.h, EC_MISC). */
const EXIT_MISC = 5;

function run(argv: readonly string[]): void {
  const halves = splitArguments(argv);
  runProgram(
    PROGRAM,
    async ({ values, log, signals, writeLogTo, facts, statusPages }) => {
      const options = parseOptions(halves.dnsmasq, DEFAULT_CONFIG_FILE);
      if (options.request !== 'serve') {
        if (options.request === 'test') checkFiles(options, log);
        sayWhatIsAsked(options.request);
        return;
      }
      const logFile = openLogFile(options.logFile);
      if (logFile !== undefined) writeLogTo((line) => logFile.write(line));
      const { engine, description } = await chooseUdpEngine(options.udpEngine).catch(
        (error: unknown) => failStartup(error, EngineError, EXIT_MISC),
      );
      log.info(`UDP engine: ${description}`);
      const server = new DnsmasqServer(values, options, engine, log);
      const { listenAddresses, port } = options;
      const served = { address: listenAddresses.length === 1 ? listenAddresses[0]! : '', port };
      const about = { role: 'resolver', program: PROGRAM.name, served } as const;
      await server.telemetry.openDnstap({ target: values.dnstap, ...about, log });
      signals.onReload(() => server.reload());
      signals.onDump(() => server.dump());
      signals.onReopenLog(() => logFile?.reopen());
      signals.onTerminate(async () => {
        await server.close();
        await logFile?.close();
      });
      await server.start();
      const address = values['metrics-addr'];
      if (address === null) return;
      const own = server.metricFamilies(facts);
      const others = values['coredns-metrics'] ? corednsFamilies(own, options.port) : [];
      const families = [...own, ...others];
      const metrics = new MetricsServer({
        ...address,
        path: METRICS_PATH,
        families,
        pages: server.pages.all,
        localPages: new Map([...server.pages.local, ...statusPages(server.status)]),
        openPaths: openStatusPaths(values.status),
        isOnDemand: true,
        log,
      });
      await metrics.start();
      signals.onTerminate(() => metrics.close());
    },
    { argv: halves.nanny },
  );
}

/** Undefined where the log goes to stderr. */
function openLogFile(path: string): LogFile | undefined {
  return path === '' ? undefined : new LogFile({ path, fallback: createStderrWriter() });
}

/** Throws the StartupError of a file of keys or certificates that a start would end with. */
function checkFiles(options: DnsmasqOptions, log: Log): void {
  readTlsCa(options.tlsCaFile, EXIT_BAD_FILE);
  readTsigKey(options.notifyKeyFile, EXIT_BAD_FILE);
  const path = options.cookieSecretFile;
  const cookies = new ServerCookies();
  new CookieSecretFile({ path, exitCode: EXIT_BAD_FILE, log, cookies }).close();
}

function sayWhatIsAsked(request: 'test' | 'help' | 'version'): void {
  switch (request) {
    case 'test':
      process.stderr.write('dnsmasq: syntax check OK.\n');
      break;
    case 'help':
      process.stdout.write(`Usage: ${PROGRAM.usage}\n\n${optionsText()}`);
      break;
    case 'version':
      process.stdout.write(`Kube-DNS ${PROGRAM.version}\n`);
      break;
  }
}

run(process.argv.slice(2));
