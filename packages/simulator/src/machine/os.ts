import * as os from 'node:os';
import type { RunningProcess } from '../host.js';
import { familyOf, isLoopback } from '../network.js';

/** `node:os` of a machine: its name, its addresses. */
export function osModule({ machine }: RunningProcess): object {
  const describe = (address: string) => {
    const isIpv6 = familyOf(address) === 6;
    return {
      address,
      netmask: isIpv6 ? 'ffff:ffff:ffff:ffff::' : '255.255.255.0',
      family: isIpv6 ? 'IPv6' : 'IPv4',
      mac: '00:00:00:00:00:00',
      internal: isLoopback(address),
      cidr: `${address}/${isIpv6 ? 64 : 24}`,
      scopeid: 0,
    };
  };
  return {
    constants: os.constants,
    EOL: '\n',
    endianness: os.endianness,
    hostname: () => machine.name,
    networkInterfaces: () => ({
      lo: [describe('127.0.0.1'), describe('::1')],
      eth0: machine.allAddresses.map(describe),
    }),
    platform: () => 'linux',
    type: () => 'Linux',
    release: () => '6.1.0',
    arch: os.arch,
    cpus: () => [{ model: 'simulated', speed: 0, times: {} }],
    availableParallelism: () => 1,
    totalmem: () => 8 * 2 ** 30,
    freemem: () => 4 * 2 ** 30,
    loadavg: () => [0, 0, 0],
    uptime: () => machine.scheduler.nowUs / 1e6,
    homedir: () => '/root',
    tmpdir: () => '/tmp',
    userInfo: () => ({ username: 'root', uid: 0, gid: 0, homedir: '/root', shell: null }),
  };
}
