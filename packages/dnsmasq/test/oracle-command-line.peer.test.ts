import { spawnSync } from 'node:child_process';
import { expect, it } from '@jest/globals';
import { StartupError } from '@kube-dns/daemon';
import { parseOptions } from '../src/options/parse-options.js';
import { describeBesideReal, REAL_DNSMASQ } from './real-dnsmasq.js';

// Without the real dnsmasq there is nothing to compare with; Debian has it in dnsmasq-base.

/** Command lines of which both say whether they can be obeyed. */
const REFUSED = [
  ...[
    'junk',
    '-',
    '-- --port=5',
    '--no-such',
    '-%',
    '--no-r',
    '--max=1',
    '--no-resolv=1',
    '--keep=',
  ],
  ...[
    '--server',
    '-p',
    '--port=65536',
    '--port=-1',
    '--port=x',
    '--cache-size 1000',
    '--cache-size',
  ],
  ...['--cache-size=1e3', '--max-ttl=1.5', '--listen-address=here', '--listen-address='],
  ...['--fast-dns-retry=10', '--use-stale-cache=x', '--port-limit=0', '--max-tcp-connections=0'],
  ...['--query-port=70000', '--local-service=foo', '--edns-packet-max=x', '--log-facility=foo'],
  ...['--cache-rr=FOO', '--filter-rr=FOO', '--server=1.2.3.4#70000', '--server=1.2.3.4#abc'],
  ...[
    '--server=1.2.3.4@::1',
    '--server=::1@1.2.3.4',
    '--server=1.2.3.4@1.2.3.4#abc',
    '--server=fe80::1%nope',
    '--server=/x/fe80::1%nope#54',
    '--address=x',
  ],
  ...[
    '--address=/x/1.2.3',
    '--address=/x',
    '--rev-server=x/24,1.1.1.1',
    '--rev-server=1.2.3.4/33,1.1.1.1',
  ],
  ...['--rev-server=1.2.3.4/0,1.1.1.1', '--rev-server=1::/129,1.1.1.1', '--host-record=a'],
  ...['--host-record=1.2.3.4', '--cname=a', '--cname=a,b --cname=A,c', '--cname=a,b --cname=b,a'],
  ...[
    '--cname=a,a',
    '--mx-host=a,b,70000',
    '--mx-host=a,b,x',
    '--srv-host=a,b,x',
    '--srv-host=a,b,1,x',
  ],
  ...['--srv-host=a,b,1,1,x', '--naptr-record=a', '--naptr-record=a,x,1,a,b,c', '--caa-record=a'],
  ...[
    '--dns-rr=a,b',
    '--interface-name=a',
    '--interface-name=a,lo/5',
    '--alias=1',
    '--alias=1.2.3.4,x',
  ],
  ...['--alias=1.2.3.4-1.2.3.2,1.1.1.1', '--bogus-nxdomain=x', '--bogus-nxdomain=1.2.3.4/33'],
  ...['--ignore-address=1.2.3.4/40', '--add-subnet=x', '--add-mac=foo', '--log-async=x'],
  ...['--add-subnet=x/24', '--add-subnet=1.2.3.4', '--umbrella=x', '--umbrella=deviceid:12'],
  ...['--umbrella=orgid:x', '--umbrella=orgid:4294967296'],
  ...[
    '--synth-domain=x',
    '--synth-domain=s.x,10.0.0.0/33',
    '--synth-domain=s.x,eth0',
    '--selfmx=1',
  ],
  ...['--synth-domain=s.x,fd00::/60,n*', '--synth-domain=s.x,10.0.0.0/x', '--localise-queries=1'],
  ...['--synth-domain=s.x,10.0.0.9,p', `--synth-domain=s.x,10.0.0.0/24,${'p'.repeat(48)}`],
  ...['--dynamic-host=a,lo', '--dynamic-host=a', '--dynamic-host=a,1.2.3.4,lo/4'],
  ...[
    '--conf-script=/bin/false',
    '-n -r /a -r /b',
    '-C /nonexistent',
    '--conf-dir=/nonexistent',
    '--conf-dir=/etc/passwd',
  ],
];
const OBEYED = [
  ...[
    '',
    '-kNR',
    '--keep --no-neg',
    '-kS1.2.3.4',
    '--address=1.2.3.4',
    '--address=',
    '--address=/x/#',
  ],
  ...[
    '--server=',
    '--server=/',
    '--server=//',
    '--server=/x/',
    '--server=/x/#',
    '--server=127.0.0.1@lo',
    '--server=fe80::1%lo',
  ],
  ...['--server=127.0.0.1@lo@127.0.0.1#99', '--server=1.2.3.4@eth7', '--rev-server=1.2.3.0'],
  ...['--rev-server=10.1.0.0/15,1.1.1.1', '--host-record=a,b,1.2.3.4,::1,5', '--ptr-record=a'],
  ...[
    '--txt-record=t',
    '--interface-name=a,nope',
    '--interface-name=a,lo/6',
    '--cache-rr=A,TXT,65',
    '--filter-rr=ANY,5',
  ],
  ...[
    '--fast-dns-retry',
    '--fast-dns-retry=100,50',
    '--use-stale-cache',
    '--add-subnet=24,56',
    '--add-mac',
  ],
  ...['--min-cache-ttl=99999', '--edns-packet-max=70000', '--dns-forward-max=0', '-q', '-qk'],
  ...['--log-queries=extra', '--resolv-file', '--addn-hosts=/nonexistent', '--log-facility=local3'],
  ...['--log-facility=/nonexistent/log', '--add-subnet=1.2.3.4/24,::1/64', '--add-mac=text'],
  ...['--synth-domain=s.x,10.0.0.0/24,local', '--synth-domain=s.x,10.0.0.9,10.0.0.1,p', '-yLe'],
  ...[
    '--synth-domain=s.x,10.0.0.0/0',
    '--synth-domain=s.x,::/0',
    '--synth-domain=s.x,fd00::/64,n*',
  ],
  ...[
    '--dynamic-host=a,1.2.3.4,::1,lo',
    '--conf-script=/bin/true',
    '--localmx',
    '--selfmx',
    '--localise-queries',
  ],
  ...['--umbrella', '--umbrella=deviceid:0123456789abcdef,orgid:1,assetid:2'],
  ...['--strict-order --all-servers', '--rebind-domain-ok=/a/b/', '--rebind-domain-ok=a'],
];

describeBesideReal('the command line beside the real dnsmasq', () => {
  const words = (line: string) => ['--test', ...line.split(' ').filter(Boolean)];

  function askReal(line: string): { code: number | null; text: string } {
    const isolated = line.includes('-C') ? [] : ['-C', '/dev/null'];
    const run = spawnSync(REAL_DNSMASQ!, [...isolated, ...words(line)], { encoding: 'utf8' });
    return { code: run.status, text: run.stderr.trim() };
  }

  /** As `main.ts` does it; test/command-line.test.ts starts the program. */
  function askOurs(line: string): { code: number; text: string } {
    try {
      expect(parseOptions(words(line), '/dev/null').request).toBe('test');
      return { code: 0, text: 'dnsmasq: syntax check OK.' };
    } catch (error) {
      if (!(error instanceof StartupError)) throw error;
      return { code: error.exitCode, text: `dnsmasq: ${error.message}` };
    }
  }

  it.each(REFUSED)('is refused with the same words and exit code: %s', (line) => {
    const [ours, real] = [askOurs(line), askReal(line)];
    expect(real.code).not.toBe(0);
    expect(ours.code).toBe(real.code);
    expect(ours.text.slice(0, real.text.length)).toBe(real.text);
    // What is wrong stands behind it, on the same line.
    expect(ours.text.slice(real.text.length)).toMatch(/^(?:$|: "| \()[^\n]*$/);
  });

  it.each(OBEYED)('is obeyed by both: %s', (line) => {
    const [ours, real] = [askOurs(line), askReal(line)];
    expect(ours).toEqual(real);
    expect(ours).toEqual({ code: 0, text: 'dnsmasq: syntax check OK.' });
  });

  it.each([
    ['--server=[::1]:5353', 1, 0],
    ['--server=1.2.3.4:5353', 1, 0],
    // It looks names up when it checks the options, and this one does not exist.
    ['--server=ns.invalid', 1, 0],
    // An empty value is the same as none; and of several the last holds, as it does in lists.
    ['--fast-dns-retry=', 1, 0],
    ['--port=1 --port=2', 1, 0],
    ['--txt-record=', 0, 1],
    ['--cache-size=99999999999', 0, 1],
    ['--host-record=a..b,1.2.3.4', 0, 1],
    ['--caa-record=a,256,issue,x', 0, 1],
    ['--server=1.2.3.4#', 0, 1],
    ['--dns-rr=a,5,zz', 4, 1],
    ['--dhcp-range=1.2.3.4,1.2.3.8', 0, 1],
    ['--add-subnet=33', 0, 1],
    ['--add-subnet=1.2.3.4/33', 0, 1],
  ])('is taken otherwise: %s', (line, realCode, ourCode) => {
    expect(askReal(line).code).toBe(realCode);
    expect(askOurs(line).code).toBe(ourCode);
  });
});
