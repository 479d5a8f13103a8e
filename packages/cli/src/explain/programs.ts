/** The programs that explain, those next to the client first, and the ports of their page. */
export const EXPLAINERS = {
  'node-cache': {
    ports: [9353, 9253],
    advice: 'it is optional; with it, run this on the node, or give --pod',
  },
  dnsmasq: {
    ports: [10056],
    advice:
      'a stock manifest does not open its port: add -metrics-addr=127.0.0.1:10056 to the arguments of the nanny',
  },
  kubedns: { ports: [8081, 10055], advice: 'give its pod with --pod, or run this in the pod' },
} as const satisfies Record<string, { ports: readonly number[]; advice: string }>;

export type ExplainerName = keyof typeof EXPLAINERS;

export const EXPLAINER_NAMES = Object.keys(EXPLAINERS) as ExplainerName[];

/** A value for each program. */
export function perProgram<T>(valueOf: (program: ExplainerName) => T): Record<ExplainerName, T> {
  return {
    'node-cache': valueOf('node-cache'),
    dnsmasq: valueOf('dnsmasq'),
    kubedns: valueOf('kubedns'),
  };
}
