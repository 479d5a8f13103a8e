import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import {
  builtProgram,
  freePort,
  type ImageName,
  ownedBy,
  runProgram,
  TemporaryFolder,
} from '@kube-dns/testkit';

const own = ownedBy(afterEach);
const SECRET = 'SeCrEt1';

/** What is refused where it names a server; the secret is after `?`, or a password. */
const MALFORMED = [
  `https://h/a b?${SECRET}`,
  `https://h/p?a ${SECRET}`,
  `https://h/p# ?${SECRET}`,
  `https://h /p?${SECRET}`,
  `https://u: ${SECRET}@h/p`,
  `https:/h/p?${SECRET}`,
  `h/p?${SECRET}`,
];

/** The arguments of each program with the URL of a server. */
async function argumentLists(url: string): Promise<readonly [ImageName, readonly string[]][]> {
  const folder = own(new TemporaryFolder());
  const corefile = `.:${await freePort()} {\n  forward . "${url}"\n  forward . ${url}\n}\n`;
  return [
    ['dnsmasq', ['-configDir=/nonexistent', '--', `--server=${url}`]],
    ['dnsmasq', ['-configDir=/nonexistent', '--', `--server=/a.b/${url}`]],
    ['kubedns', [`--nameservers=${url}`]],
    ['kubedns', [`--kube-master-url=x://${url}`]],
    [
      'node-cache',
      [
        ...['-localip=127.0.0.1', '-setupinterface=false', '-setupiptables=false'],
        `-basecorefile=${folder.file('Corefile.base', corefile)}`,
        `-conf=${join(folder.path, 'Corefile')}`,
      ],
    ],
  ];
}

it.each(MALFORMED)(
  'finding 10: no program shows the secret of %j when it refuses it',
  async (url) => {
    for (const [name, args] of await argumentLists(url)) {
      const { end, stdout, stderr } = await runProgram(process.execPath, [
        builtProgram(name),
        ...args,
      ]);
      expect([name, end === 0]).toEqual([name, false]);
      expect(stdout + stderr).not.toContain(SECRET);
    }
  },
);
