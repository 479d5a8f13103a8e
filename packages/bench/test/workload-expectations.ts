/** Who takes part in each workload, beside its peers and the echo. */
export const SUBJECTS: Readonly<Record<string, readonly string[]>> = {
  hits: ['our dnsmasq'],
  'kubedns-services': ['our kubedns'],
  pod: ['our dnsmasq'],
  'misses-zone': ['our dnsmasq'],
  'misses-outside': ['our dnsmasq', 'batch relay'],
  mixed: ['our kubedns', 'our dnsmasq'],
  headless: ['our kubedns'],
  dot: ['our dnsmasq'],
  'dgram-engine': ['our kubedns', 'our dnsmasq'],
  'eighty-twenty': ['our dnsmasq'],
};

/** With the real dnsmasq, which does not start alike in all of them. */
export const BESIDE_DNSMASQ = ['kubedns-services', 'misses-zone', 'headless'];
/** With the open loop and one question at a time. */
export const WITH_LATENCIES = ['misses-zone', 'mixed'];

/** Those with more than one table. */
export const TRIALS: Readonly<Record<string, number>> = {
  ...{ hits: 4, 'kubedns-services': 3, pod: 3, mixed: 2, headless: 3 },
};
