import { needsPrograms, TestAuthority } from '@kube-dns/testkit';
import { COREDNS, OUR_DNSMASQ, type ServerTestbed } from '../load/server-testbed.js';
import type { Subject } from '../load/contest.js';
import { namesBelow } from '../queries/question-file.js';
import { ONLY_TRIAL, perCpuSecond, type Workload } from './workload.js';

const DOMAIN = 'encrypted.example';
const CERTIFICATE_NAME = 'dns.example';
const COREDNS_RATIO = 2;

async function subjectsOf(testbed: ServerTestbed, knownName: string): Promise<readonly Subject[]> {
  const authority = new TestAuthority();
  const certificate = authority.issue({ names: [CERTIFICATE_NAME] });
  const { port, ca } = await testbed.encryptedNameServer(
    { certificate, domain: DOMAIN, address: '198.51.100.7' },
    authority.cert,
  );
  const server = `--server=tls://127.0.0.1#${port}%${CERTIFICATE_NAME}`;
  const args = ['--cache-size=0', '--dns-forward-max=1500', server, `--tls-ca=${ca}`];
  const directives = [
    `forward . tls://127.0.0.1:${port} {`,
    `  tls ${ca}`,
    `  tls_servername ${CERTIFICATE_NAME}`,
    '}',
  ];
  return [
    await testbed.ourDnsmasq(args),
    ...(await testbed.corednsWith({ knownName, directives })),
  ];
}

/** Every question is forwarded over TLS to the same name server, which shares a core with the load generator. */
export const DOT: Workload = {
  name: 'dot',
  summary: 'our dnsmasq and CoreDNS without a cache, over TLS to the same Unbound',
  skipReason: () => needsPrograms('unbound'),
  prepare: async (testbed, { names }) => {
    const questions = namesBelow(DOMAIN, names);
    return {
      subjects: await subjectsOf(testbed, questions[0]!.name),
      trials: [{ name: ONLY_TRIAL, questions, rcodes: ['NOERROR'] }],
    };
  },
  judge: (log) => perCpuSecond(log, OUR_DNSMASQ, COREDNS, COREDNS_RATIO),
};
