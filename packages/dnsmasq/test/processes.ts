import { builtProgram, type RunningProgram, startBundle } from '@kube-dns/testkit';

/** The bundle. */
export const PROGRAM = builtProgram('dnsmasq');

/** The messages in the log of our dnsmasq so far, without klog's head. */
export function messagesOf({ stderr }: RunningProgram): string[] {
  return [...stderr.matchAll(/^[IWE]\d{4} .* dnsmasq\] (.*)$/gm)].map((match) => match[1]!);
}

/** Runs our dnsmasq with this command line. */
export function runDnsmasq(...argv: string[]): RunningProgram {
  return startBundle('dnsmasq', argv);
}

/** A process that serves DNS on a port of 127.0.0.1. */
export interface Serving {
  readonly process: RunningProgram;
  readonly port: number;
}

/** The UDP engine of every server of the tests; `auto` unless the environment names one. */
const ENGINE = process.env.UDP_ENGINE ?? 'auto';

/** Times that only a hang reaches; a test about silence gives others. */
const PATIENT = ['--query-timeout=60000', '--fast-dns-retry=20000,60000'];

/** Runs our dnsmasq on a free port and waits until it serves. */
export async function serve(options: readonly string[], nanny: readonly string[] = []) {
  const listen = ['--port=0', '--listen-address=127.0.0.1', `--udp-engine=${ENGINE}`];
  const hasTimes = options.some((each) => /^--(query-timeout|fast-dns-retry)/.test(each));
  const times = hasTimes ? [] : PATIENT;
  const started = runDnsmasq(...nanny, '--', ...listen, ...times, ...options);
  const [, port] = await started.waitForLine(/serving on port (\d+)/);
  return { process: started, port: Number(port) } satisfies Serving;
}
