import { expect } from '@jest/globals';
import { ask, type Rcode, type ReplyRecord } from '@kube-dns/testkit';
import { compareAsJson, runCompare } from './compare-run.js';
import type { RunningServer } from './sample-cluster.js';
import { type ComparedQuestion, type ComparedReply, ScriptedServer } from './scripted-server.js';

export const ZONE = 'cluster.local';
/** The rate of a test, and more time than a reply takes. */
export const PATIENT = ['--rate', '2000', '--timeout', '60'];

/** Compares kubedns with CoreDNS, both with the sample cluster, and judges the differences. */
export async function expectStandardDifferences(
  left: RunningServer,
  right: RunningServer,
  apiUrl: string,
): Promise<void> {
  const args = ['--left', left.address, '--right', right.address, '--api', apiUrl, ...PATIENT];
  const { stdout } = await runCompare(args);
  const data = await compareAsJson(args);
  expect(data.verdict).toMatch(/^3 differences that a client can notice, [3-6] conventions$/);
  expect(data.status).toBe(1);
  expect(data.entries.map((entry) => entry.meaning)).toEqual([
    'Pods do not ask for name servers; tools that ask right are answered that the name has no NS ' +
      'record; left has one.',
    'Clients that ask right are answered that the name has no TXT record; left answers with CNAME, ' +
      'which they follow.',
    'Caches between (NodeLocal DNSCache, dnsmasq) cannot keep a negative answer of right: it has no SOA.',
  ]);
  expect(data.differences.map((one) => `${one.name} ${one.type}`)).toEqual([
    `${ZONE} NS`,
    `payments.shop.svc.${ZONE} TXT`,
    `payments.shop.svc.${ZONE} AAAA`,
  ]);
  expect(data.totals).toMatchObject({ different: 3, notAsked: 0 });
  expect(data.totals.same + data.totals.known + 3).toBe(data.questions.total);
  expect(stdout.startsWith(`${data.verdict}\n\nleft `)).toBe(true);
  expect(stdout.split('\n').length).toBeLessThan(60);
}

/** Answers as CoreDNS 1.14.7 does where it differs from kubedns: the peers check this one. */
export function likeCoreDns({ address }: RunningServer): Promise<ScriptedServer> {
  const port = Number(address.split(':')[1]);
  const empty = new Set([`${ZONE} NS`, `payments.shop.svc.${ZONE} TXT`]);
  return ScriptedServer.start(async ({ name, type }) => {
    const { rcode, answers, authorities, additionals } = await ask(
      port,
      { name, type },
      { isOverTcp: true },
    );
    const header = { rcode: rcode as Rcode, isAuthoritative: true, isRecursionAvailable: false };
    if (empty.has(`${name} ${type}`)) return { ...header, rcode: 'NOERROR' };
    const withoutPriority = (record: ReplyRecord): ReplyRecord =>
      record.type === 'SRV' ? { ...record, data: { ...record.data, priority: 0 } } : record;
    return {
      ...header,
      answers: (answers as ReplyRecord[]).map(withoutPriority),
      // The end of a CNAME without the type has no SOA.
      authorities: (answers.length > 0 ? [] : (authorities as ReplyRecord[])).map((record) => ({
        ...record,
        ttl: 30,
      })),
      additionals: additionals as ReplyRecord[],
    };
  });
}

/** The world outside the cluster: the target of the sample cluster's ExternalName is all there is. */
export function outsideReply({ name, type }: ComparedQuestion): ComparedReply {
  const data = { mname: 'a.test', rname: 'b.test', minimum: 60 };
  const authorities = [{ name: 'example.com', type: 'SOA', ttl: 60, data }] as const;
  if (name !== 'payments.example.com') return { rcode: 'NXDOMAIN', authorities };
  return type === 'A' ? { answers: [{ type, data: '192.0.2.7' }] } : { authorities };
}

/** The one of the addon, but for the ports that may be taken and the cluster that is elsewhere. */
export function standardCorefile(port: number, apiUrl: string, upstream: string): string {
  return `.:${port} {
    bind 127.0.0.1
    errors
    kubernetes ${ZONE} in-addr.arpa ip6.arpa {
        endpoint ${apiUrl}
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
        ttl 30
    }
    forward . ${upstream} {
        max_concurrent 1000
    }
    cache 30
    loop
    reload
    loadbalance
}
`;
}
