import type { BoundSocket, Endpoint } from '../host.js';

const EVERY_ADDRESS = new Set(['', '0.0.0.0', '::']);

/** The address that a socket is bound to; '' for all. */
export function addressToBind(host: string): string {
  return EVERY_ADDRESS.has(host) ? '' : host;
}

/** Whether two sockets of one port would get the same packets: by their families and their addresses. */
export function conflict(one: Omit<BoundSocket, 'boundPort'>, other: BoundSocket): boolean {
  const shareFamily =
    other.isIpv6 === one.isIpv6 || (other.isIpv6 ? other.takesIpv4 : one.takesIpv4);
  const addresses = [one.boundAddress, other.boundAddress];
  return shareFamily && (addresses.includes('') || addresses[0] === addresses[1]);
}

/** The error of a system call on a socket, as Node has it. */
export function socketFault(code: string, syscall: string, endpoint?: Endpoint): Error {
  const at = endpoint === undefined ? '' : ` ${endpoint.address}:${endpoint.port}`;
  return Object.assign(new Error(`${syscall} ${code}${at}`), { code, syscall, ...endpoint });
}
