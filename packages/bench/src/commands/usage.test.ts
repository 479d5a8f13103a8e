import { expect, it } from '@jest/globals';
import { type CommandEntry, commandEntry, Owned } from '@kube-dns/testkit';
import { DNS } from './dns.js';
import { DNSMASQ_LOAD } from './dnsmasq-load.js';
import { INTERNALS } from './internals.js';
import { KUBEDNS_QUERIES } from './kubedns-queries.js';
import { KUBEDNS_SCALE } from './kubedns-scale.js';
import { STRONGEST } from './strongest.js';

const call = () => ({ program: 'bench', owned: new Owned() });

it.each<[CommandEntry, string, RegExp]>([
  [commandEntry(DNS), '--only=hits,nothing', /"nothing" is none of hits, /],
  [commandEntry(DNS), '--runs=0', /--runs=0: is not a whole number from 1 to 100/],
  [commandEntry(DNS), '--quotas=25,0', /--quotas=25,0: "0" is not a whole number from 1 to 9999/],
  [commandEntry(DNS), '--kubedns=/nowhere', /--kubedns=\/nowhere: is no file/],
  [commandEntry(DNS), '--dnsmasq=/tmp', /--dnsmasq=\/tmp: is no file/],
  [commandEntry(DNS), '--coredns=/nowhere', /--coredns=\/nowhere: is no program that can be run/],
  [commandEntry(DNSMASQ_LOAD), '--kubedns=/nowhere', /--kubedns=\/nowhere: is no file/],
  [commandEntry(INTERNALS), '--only=hosts,x', /"x" is none of questions, .*programs/],
  [commandEntry(INTERNALS), '--rounds=0', /--rounds=0: is not a whole number from 1 to 100/],
  [commandEntry(KUBEDNS_SCALE), '--sizes=10,x', /--sizes=10,x: "x" is not a whole number/],
  [commandEntry(KUBEDNS_SCALE), '--services=none', /--services=none: is not a whole number/],
  [commandEntry(KUBEDNS_SCALE), '--kubedns=/nowhere.cjs', /--kubedns=.*: is no file/],
  [commandEntry(STRONGEST), '--only=hits,x', /"x" is none of hits, .*cores/],
  [commandEntry(STRONGEST), '--servers=bind', /"bind" is none of ours, unbound, .*node-cache/],
  [commandEntry(STRONGEST), '--coredns=/nowhere', /--coredns=\/nowhere: is no program/],
  [commandEntry(KUBEDNS_QUERIES), '--peer=192.0.2.1:53', /is no address and port of this machine/],
])('%o takes no %s', async (command, option, message) => {
  await expect(command.run([option], call())).rejects.toThrow(message);
});
