import { Dnsmasq, type DnsmasqStart, Kubedns, type KubednsStart } from '@kube-dns/testkit';
import { containerNodeFlags } from './container-flags.js';

/** Starts kubedns with the flags of Node that its container has, and those of the proof after them. */
export function startKubedns(start: KubednsStart): Promise<Kubedns> {
  const nodeFlags = [...containerNodeFlags('kubedns'), ...(start.nodeFlags ?? [])];
  return Kubedns.start({ ...start, nodeFlags });
}

/** Starts dnsmasq with the flags of Node that its container has, and those of the proof after them. */
export function startDnsmasq(start: DnsmasqStart): Promise<Dnsmasq> {
  const nodeFlags = [...containerNodeFlags('dnsmasq'), ...(start.nodeFlags ?? [])];
  return Dnsmasq.start({ ...start, nodeFlags });
}
