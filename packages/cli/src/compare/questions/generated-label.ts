import { isIP } from 'node:net';
import { FNV_OFFSET, hashBytes, shortIpv6 } from '@kube-dns/wire';

const OCTETS = /^(?:[0-9]{1,3}-){3}[0-9]{1,3}$/;
/** Endpoint, service, namespace, and what makes it a name of the cluster. */
const ENDPOINT_NAME = /^([0-9a-f-]+)(\.[^.]+\.[^.]+\.svc\..+)$/;

/**
 * The label in kube-dns for an address without hostname (kubernetes/dns pkg/dns/util/util.go,
 * HashServiceRecord): FNV-1a of the record as Go prints it, in hex, and that text in hex once more.
 */
export function hashLabel(address: string): string {
  const text = Buffer.from(`&{${address} 0 10 10  false 30 0  }`);
  const hash = hashBytes(FNV_OFFSET, text, 0, text.length);
  return Buffer.from((hash >>> 0).toString(16)).toString('hex');
}

/** The label in CoreDNS (plugin/kubernetes endpointHostname): the address with dashes. */
export function dashedLabel(address: string): string {
  const dashed = address.toLowerCase().replace(/[.:]/g, '-');
  return dashed.replace(/^-/, '0-').replace(/-$/, '-0');
}

/** The address of a label with dashes, as RFC 5952 writes it. */
export function addressOfLabel(label: string): string | undefined {
  if (OCTETS.test(label)) {
    const address = label.replaceAll('-', '.');
    return isIP(address) === 4 ? address : undefined;
  }
  const address = label.replaceAll('-', ':');
  if (isIP(address) !== 6) return undefined;
  return shortIpv6(address);
}

/**
 * The name of an endpoint with the hash in place of the address in its first label, so that the names of both
 * servers are equal; any other name is unchanged.
 */
export function withHashLabel(name: string): string {
  const [, label = '', rest = ''] = ENDPOINT_NAME.exec(name) ?? [];
  const address = label.includes('-') ? addressOfLabel(label) : undefined;
  return address === undefined ? name : hashLabel(address) + rest;
}
