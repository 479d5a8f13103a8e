import { podAddress, ZONE } from '../cluster/cluster-plan.js';
import { OUR_KUBEDNS } from '../load/server-testbed.js';
import { fasterThanDnsmasq, type Workload } from './workload.js';

const ENDPOINTS = 50;
const ALONE = { services: 1, slices: 1, endpointsPerSlice: ENDPOINTS, headless: 1 };
const EDNS_BYTES = 4_096;
const RATIO = 1;
const TRIALS = { cut: 'UDP 512', edns: 'EDNS 4096', tcp: 'TCP' } as const;

/** An answer that is too large for some: cut with TC, whole, and over TCP. */
export const HEADLESS: Workload = {
  name: 'headless',
  summary: 'one service with 50 endpoints: cut to 512 bytes, with EDNS 4096, over TCP',
  prepare: async (testbed) => {
    const cluster = await testbed.cluster(ALONE);
    const name = cluster.plan.dnsName(0);
    const kubedns = await testbed.kubedns(cluster);
    const hosts = Array.from({ length: ENDPOINTS }, (_, i) => `${podAddress(i)} ${name}`);
    const dnsmasq = await testbed.realDnsmasq({
      hosts,
      args: [`--local=/${ZONE}/`, '--local-ttl=30'],
    });
    const peers = await testbed.peers(cluster, name);
    const plain = { name, type: 'A' } as const;
    const rcodes = ['NOERROR'] as const;
    return {
      subjects: [kubedns, ...dnsmasq, ...peers],
      trials: [
        { name: TRIALS.cut, questions: [plain], rcodes },
        { name: TRIALS.edns, questions: [{ ...plain, ednsBytes: EDNS_BYTES }], rcodes },
        { name: TRIALS.tcp, questions: [plain], rcodes, isOverTcp: true },
      ],
    };
  },
  judge: (log) =>
    Object.values(TRIALS).flatMap((trial) => fasterThanDnsmasq(log, OUR_KUBEDNS, RATIO, trial)),
};
