import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseFlags, shownText, UsageError } from '@kube-dns/base';
import {
  ConfigError,
  type Log,
  parseDnsConfig,
  parseQueryLogRules,
  StartupError,
  statusPage,
} from '@kube-dns/daemon';
import {
  configuredRules,
  HostsLines,
  HostsTable,
  parseOptions,
  parseServersFile,
  PROGRAM as DNSMASQ,
} from '@kube-dns/dnsmasq/internal';
import { PROGRAM as KUBEDNS } from '@kube-dns/kubedns/internal';
import { CorefileError } from '@kube-dns/node-cache/corefile';
import {
  checkServers,
  FLAGS as NODE_CACHE_FLAGS,
  readOptions as readNodeCacheOptions,
  readServerBlocks,
  renderTemplate,
} from '@kube-dns/node-cache/internal';
import {
  FLAGS as SIDECAR_FLAGS,
  readOptions as readSidecarOptions,
} from '@kube-dns/sidecar/internal';
import { readQuestion } from '@kube-dns/telemetry';
import { parseResolvConf } from '@kube-dns/transport';
import { encodeName, equalNames, parseTsigKey, typeNumber, WireError } from '@kube-dns/wire';
import { type CreateTarget, textAllowance, textTarget } from '../fuzz-target.js';

/** Between the texts of which an input has several. */
const BETWEEN = '\n---\n';
const CONFIG_KEYS = ['federations', 'stubDomains', 'upstreamNameservers', 'hosts'];
const COREFILE_KEYS = ['stubDomains', 'upstreamNameservers'];
/** Of an option: two characters become a rule, in code that is not compiled yet. */
const TIMES_A_TEXT = 2;
/** Of a Corefile: a character of a pattern is a state of the program that it becomes. */
const TIMES_A_PATTERN = 8;
/** A whole page is made of each text. */
const PAGE_ALLOWANCE = 1024 * 1024;
const MAX_HOSTS_NAMES = 20_000;
const MAX_EXPLAIN_ERROR = 8_192;
const MAX_RULES_ERROR = 16_384;
/** What a terminal shows and does not obey. */
const PRINTABLE = /^[\x21-\x7e]+$/;

const SILENT: Log = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  verbose: () => undefined,
  isEnabled: () => true,
};

const TEMPLATE_VALUES = {
  localAddresses: ['169.254.20.10', 'fd00::a'],
  port: 53,
  prometheusAddress: ':9253',
  clusterDns: '10.96.0.20',
};
const COREFILE_HOST = {
  env: { NAME: 'value' },
  findImports: (pattern: string) =>
    pattern === 'plain' ? [{ name: pattern, text: 'errors\nimport plain' }] : [],
  interfaceAddresses: (name: string) => (name === 'eth0' ? ['192.0.2.1'] : undefined),
};
const ADDON_BLOCK =
  'a.b:53 {\n    errors\n    cache {\n        success 9984 30\n        denial 9984 5\n    }\n    reload\n    loop\n' +
  '    bind __PILLAR__LOCAL__DNS__ __PILLAR__DNS__SERVER__\n    forward . __PILLAR__CLUSTER__DNS__ {\n' +
  '        force_tcp\n    }\n    prometheus :9253\n    health 169.254.20.10:8080\n    }\n';
const WORLD_BLOCK =
  '.:53 {\n    cache 30\n    forward . __PILLAR__UPSTREAM__SERVERS__ {\n            force_tcp\n    }\n}\n';

/** What servers of dnsmasq are made of. */
const SERVER_TOKENS = [
  ...['server=', 'rev-server=', 'local=', '/a.b/', '//', '/#/', '/*.x/', '10.0.0.1', '#53'],
  ...['@eth0', '@10.0.0.2#1024', '::1', '/0', '/8', '/31', '/128', ',', '"', '\\"', '#'],
];
/** Options of dnsmasq with values that it takes, without dashes. */
const OPTION_SEEDS = [
  ...['port=53', 'listen-address=127.0.0.1,::1', 'interface=eth0', 'no-resolv', 'cache-size=1000'],
  ...['server=/a.b/10.0.0.1#53', 'rev-server=10.0.0.0/8,10.0.0.1', 'local=/l/', 'neg-ttl=60'],
  ...['address=/x/1.2.3.4', 'cname=a,b,60', 'host-record=h,h.x,10.0.0.1,fd00::1,30'],
  ...['txt-record=t,one,"two, three"', 'srv-host=_s._tcp,h,80,1,2', 'mx-host=x,y,5'],
  ...['naptr-record=n,1,2,s,SIP+D2U,!^.*$!sip:x!,r', 'caa-record=c,0,issue,ca.x', 'ptr-record=p,q'],
  ...['dns-rr=r,65280,0a:0b:0c', 'synth-domain=s.x,10.0.0.0/24,ip-', 'dynamic-host=d,0.0.0.9,eth0'],
  ...['add-subnet=24,56', 'add-mac=base64', 'umbrella=deviceid:0123456789abcdef,orgid:7'],
  ...['local-ttl=9', 'alias=10.0.0.0-10.0.0.9,192.0.2.0,255.255.255.0'],
  ...['bogus-nxdomain=192.0.2.0/24', 'filter-rr=TXT', 'max-cache-ttl=90', 'dns-forward-max=9'],
  ...['log-queries=extra', 'log-facility=-', 'no-negcache', 'rebind-domain-ok=/a/b/'],
  ...['edns-packet-max=4096', 'fast-dns-retry=500,2000', 'cache-rr=ANY,HTTPS'],
  ...['interface-name=i,eth0/4', 'expand-hosts', 'domain=dom.x', 'addn-hosts=/etc/hosts.x'],
  ...['user=root', 'dns64=2001:db8::/32', 'dns64-exclude=10.0.0.0/8'],
];
const OPTION_WORDS = OPTION_SEEDS.map((text) => `--${text.replaceAll('"', '')}`);
/** Memory of the up to 128 reverse zones that one `--rev-server` adds. */
const RANGE_BYTES = 384 * 1024;

/** What the values of Go's flags are made of. */
const FLAG_TOKENS = [
  ...['\n', '\n--', '-', '=', ',', ':', 'true', 'false', 'T', '0', '1h2m3.5s', '1e3s', '-1ns'],
  ...['5µs', 'unix:/run/tap', 'tcp:', 'file:/', ',identity='],
  ...['10.0.0.1:53', '[::1]:53', 'a.b', '65536', '--v=2', '--help', 'raw', '_', '$HOME', '${x}'],
];

/** Files, the texts of ConfigMaps, query strings and command lines. */
export const ROWS = {
  /** Hosts files, line by line into a table of their own. */
  'hosts-file': () => {
    let table = newHostsTable();
    return textTarget({
      encoding: 'latin1',
      seeds: [
        '127.0.0.1\tlocalhost localhost.localdomain # the machine\n::1 localhost ip6-localhost\n',
        '10.0.0.1 a b.c d.e.f\n10.0.0.2 a\nfe80::1%eth0 link\n\n# nothing\n10.0.0.300 bad\n',
        '1.2.3.4 caf\xe9 \\101 a..b -x x- *.x\r\n',
      ],
      tokens: ['127.0.0.1', '::1', 'localhost', 'a.b', '..', ' # ', '::ffff:1.2.3.4'],
      parse: (text) => {
        // A table is made for all files of a reload; what it takes at first is not the line's.
        if (table.size > MAX_HOSTS_NAMES) table = newHostsTable();
        const lines = new HostsLines(table, 'hosts', 'x.y', SILENT);
        for (const line of text.split('\n')) {
          for (const name of lines.begin(line)) lines.add(name);
        }
        lines.finish();
        return true;
      },
    });
  },

  /** resolv.conf(5), as dnsmasq and kubedns read it. */
  'resolv-file': () =>
    textTarget({
      seeds: [
        'nameserver 10.0.0.10\nsearch default.svc.cluster.local svc.cluster.local\noptions ndots:5\n',
        '; comment\n# comment\nnameserver ::1\nnameserver fe80::1%eth0\n\tnameserver\t192.0.2.1 x\r\n',
        'nameserver\nnameserver 1.2.3\nnameserver a.b\n',
      ],
      tokens: ['nameserver ', 'search ', 'options ', '10.0.0.1', '%', '\t', ' '],
      parse: (text) => parseResolvConf(text).length > 0,
    }),

  /** dnsmasq's `--servers-file`. */
  'servers-file': () =>
    textTarget({
      allowance: optionAllowance,
      seeds: [
        'server=/a.b/c/10.0.0.1#5353\nserver=/x/\nserver=//10.0.0.2\nserver=1.2.3.4@eth0#1024\n',
        'rev-server=10.0.0.0/8,10.0.0.1\nrev-server=fd00::/17,::1#53\n# comment\nserver="/q r/1.1.1.1"\n',
        'server=/*.x/#\nserver=/x/10.0.0.1@10.0.0.2#53\nlocal=/l/\naddress=/a/1.2.3.4\nfrob\n',
      ],
      tokens: SERVER_TOKENS,
      parse: (text) => parseServersFile(text, 'servers').rules.length > 0,
    }),

  /** The value of `--query-log` and of the key `queryLog`. */
  'query-log-rules': () =>
    textTarget({
      seeds: [
        'off\n',
        'text',
        'json,class=error,class=denial',
        'text,name=svc.cluster.local,name=a\\.b.example.,sample=1000,slow=250',
        'json,class=all,sample=1000000,slow=60000',
        'xml,class=x,sample=0,slow=1s,name=a..b,combined',
      ],
      tokens: [
        ...['off', 'text', 'json', ',class=', ',name=', ',sample=', ',slow=', 'all', 'success'],
        ...['denial', 'error', ',,', '=', '\\000', '\\', '.', '1e9', '999999999', '\u0000', '\n'],
      ],
      parse: (text) => {
        const { names, sample, slowMs } = boundedError(MAX_RULES_ERROR, () =>
          parseQueryLogRules(text),
        );
        if (names.length > 16 || sample < 1 || slowMs < 1) throw new Error('a rule has no bound');
        return true;
      },
      refusals: [ConfigError],
    }),

  /** The query string of `/explain`. */
  'explain-question': () =>
    textTarget({
      seeds: [
        'name=web.default.svc.cluster.local',
        'name=_http._tcp.db.default.svc.cluster.local.&type=SRV&client=10.1.0.1',
        'name=a%5C.b%5C000%c3%a4.example&type=TYPE65&client=fd00::1',
        'name=1.0.0.10.in-addr.arpa&type=ptr',
        'name=.&type=ns',
        'type=AXFR&name=x&name=y',
      ],
      tokens: [
        ...[
          'name=',
          '&type=',
          '&client=',
          '%00',
          '%5c',
          '\\',
          '\\255',
          '\\9',
          '..',
          '.',
          '*.',
          '%',
        ],
        ...['TYPE0', 'TYPE65535', 'ANY', '::', '127.0.0.1', '\u0000', '+', '%1b[2J', ';'],
      ],
      parse: (text) => {
        const question = readQuestion(new URLSearchParams(text));
        if (typeof question === 'string') {
          if (question.length > MAX_EXPLAIN_ERROR) throw new Error('the error is too long');
          return false;
        }
        // What is shown is the name that is asked, and nothing that a terminal would obey.
        const { name, type } = question.text;
        if (!PRINTABLE.test(name) || !PRINTABLE.test(type)) throw new Error('unreadable');
        if (!equalNames(encodeName(name), question.name)) throw new Error('another name');
        if (typeNumber(type) !== question.type) throw new Error('another type');
        return true;
      },
    }),

  /** Key files of `--notify-key`. */
  'tsig-key': () =>
    textTarget({
      seeds: [
        'key "notify" {\n\talgorithm hmac-sha256;\n\tsecret "AAECAwQFBgcICQoLDA0ODw==";\n};\n',
        '# a key\nkey a.b. { secret AA//AA==; /* no */ algorithm "hmac-sha512"; }; // end\n',
      ],
      tokens: ['key', '"', '{', '}', ';', '/*', '*/', '//', '#', 'secret', 'algorithm', 'AAAA'],
      parse: (text) => parseTsigKey(text).secret.length > 0,
      refusals: [WireError],
    }),

  /** Names and errors from anywhere on the status page: there is no more markup in it than with a plain text. */
  'status-page': () => {
    const expected = markup(pageOf('text'));
    return textTarget({
      seeds: [
        `</style><script>alert(1)</script><img src=x onerror='1'>"&lt;`,
        'https://user:password@10.0.0.1/ says Bearer eyJhbGciOiJSUzI1NiJ9.e30.c2ln',
        'key "k" { secret "AAECAwQFBgcICQoLDA0ODw=="; };',
        '\u202e\u0000\ud800',
      ],
      tokens: ['<', '>', '&', '"', "'", '://', '@', 'secret "', 'token=', '-----BEGIN ', 'eyJ'],
      allowance: (input) => PAGE_ALLOWANCE + textAllowance(input),
      parse: (text) => {
        if (markup(pageOf(text)) !== expected) throw new Error('a text became markup');
        return true;
      },
    });
  },

  /** Keys of the kube-dns ConfigMap, and the servers that dnsmasq makes of them. */
  'config-map': () =>
    textTarget({
      seeds: [
        of('', '{"acme.local": ["1.2.3.4", "1.2.3.5:5353"]}', '["8.8.8.8", "[::1]:53"]'),
        of('a=b.c,d=e', '{"a.b":["ns.default.svc.cluster.local"],"c":null}', '[]'),
        of('x', '{"UPPER":[1]}', '["1.2.3.4:0","a.b","::1","1.1.1.1"]'),
        of('', 'null', 'null'),
        of('', '{}', '[]', '192.0.2.1 a.b c # d\n::1 A.b.\n10.0.0.1'),
      ],
      tokens: [
        ...['"', '[', ']', '{', '}', ':', ',', 'null', '"a.b":', '["1.2.3.4"]', '[::1]:53'],
        ...[
          '192.0.2.1 ',
          '::1 ',
          ' a.b',
          ' # ',
          '\n',
          '{"a":',
          '"__proto__":',
          '\\u0000',
          '\\ud800',
          '1e999',
          BETWEEN,
          'a=b',
          '[[',
        ],
      ],
      parse: (text) => {
        configuredRules(parseDnsConfig(keysOf(CONFIG_KEYS, text.split(BETWEEN))));
        return true;
      },
      refusals: [ConfigError],
    }),

  /** The template of node-cache with the ConfigMap kube-dns: what it becomes, and its server blocks. */
  corefile: () =>
    textTarget({
      allowance: (input) => TIMES_A_PATTERN * textAllowance(input),
      seeds: [
        of(ADDON_BLOCK, '{"acme.local": ["192.0.2.1", "192.0.2.2:5353"]}', '["192.0.2.3"]'),
        of(WORLD_BLOCK, '{}', '["192.0.2.3", "[::1]:53"]'),
        of(ADDON_BLOCK + WORLD_BLOCK, '', ''),
        '(s) {\nimport plain\nlog . "{combined}" {\nclass denial\n}\n}\n10.0.0.0/8, fd00::/16 {\nimport s\n}',
        '. {\nhosts /h a.b {\n10.0.0.1 c\nttl 60\nfallthrough\n}\nerrors {\nconsolidate 5m ".* x$" info\n}\n}',
        'c {\nbind eth0 {\nexcept ::1\n}\nforward a tls://[::1%n]:853 https://192.0.2.1 {\nexcept b\nexpire 1s\n}\n}',
        '. {\ndns64 64:ff9b::/96 {\nprefix 2001:db8::/40\ntranslate_all\nallow_ipv4\n}\n}',
        '. {\ncache 5 {\nserve_stale 1h verify 1s\nprefetch 2 1m 20%\ndisable denial a b\n}\nloop\nready :1\n}',
      ],
      tokens: [
        ...['{', '}', '\n', '"', '\\"', '#', ',', ' ', 'import plain', '(s)', '{$NAME}', BETWEEN],
        ...['__PILLAR__CLUSTER__DNS__', '__PILLAR__UPSTREAM__SERVERS__', '__PILLAR__LOCAL__DNS__'],
        ...['cache', 'forward . ', 'hosts', 'bind', 'errors {\nconsolidate 1s "', '.:53 {\n'],
        ...['<nil>', '192.0.2.1', '[::1]:53', 'tls://', '%', '/24', '30s', '-1', '9984', '(a+)+'],
        '.*.*.*x',
      ],
      parse: (text) => {
        const [template = '', ...values] = text.split(BETWEEN);
        const config = parseDnsConfig(keysOf(COREFILE_KEYS, values));
        checkServers(config);
        const corefile = renderTemplate(template, config, TEMPLATE_VALUES).text;
        readServerBlocks(corefile, 'Corefile', COREFILE_HOST);
        return true;
      },
      refusals: [ConfigError, CorefileError],
    }),

  /** dnsmasq's own half of the command line. */
  'dnsmasq-flags': () =>
    textTarget({
      allowance: optionAllowance,
      seeds: [
        ...argumentSeeds(OPTION_WORDS),
        ...['-k\n-d\n-p\n53\n-S/a/1.2.3.4\n-c9', '--\nx', '--help', '-w'],
      ],
      tokens: [...SERVER_TOKENS, ...OPTION_WORDS.map(optionName), '\n--', '=', ','],
      parse: (text) => {
        if (namesFiles(text)) return false;
        parseOptions(argumentsOf(text));
        return true;
      },
      refusals: [StartupError],
    }),

  /** dnsmasq's configuration files: each input is written into one, which is never on a disk where that can be. */
  'dnsmasq-config': () => {
    const memory = '/dev/shm';
    const folder = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'fuzz-config-'));
    const path = join(folder, 'dnsmasq');
    return textTarget({
      allowance: optionAllowance,
      seeds: [
        ...OPTION_SEEDS,
        OPTION_SEEDS.join('\n'),
        '# comment\n  port = 53 # more\n\n"quoted"\n',
      ],
      tokens: [...SERVER_TOKENS, ...OPTION_SEEDS.map(optionName), '\n', '=', ','],
      parse: (text) => {
        if (namesFiles(text)) return false;
        writeFileSync(path, text);
        parseOptions([`--conf-file=${path}`]);
        return true;
      },
      refusals: [StartupError],
      close: () => rm(folder, { recursive: true }),
    });
  },

  /** The nanny's half of dnsmasq's command line. */
  'nanny-flags': () =>
    textTarget({
      seeds: argumentSeeds([
        ...['-v=2', '-logtostderr', '-configDir=/etc/x', '-restartDnsmasq=true'],
        ...['--syncInterval=1h2m', '--logInterval', '10s', '--metrics-addr=[::1]:10057'],
        ...['-kubednsServer=127.0.0.1:10053', '--version=raw', '--coredns-metrics'],
        ...['-dnsmasqExec', '/x', '--'],
      ]),
      tokens: [...FLAG_TOKENS, ...flagsOf(DNSMASQ.flags)],
      parse: (text) => parseFlags(DNSMASQ, argumentsOf(text)).request === 'run',
      refusals: [UsageError],
    }),

  'kubedns-flags': () =>
    textTarget({
      seeds: argumentSeeds([
        ...['--domain=cluster.local.', '--dns-port=10053', '--config-dir=/kube-dns-config'],
        ...['--v=2', '--federations=a=b.c,d=e', '--nameservers=10.0.0.1,[::1]:53'],
        ...['--config-map=kube-dns', '--kube-master-url=https://10.0.0.1:6443/x'],
        ...['--drain-time=1m30s', '--reuse-port', '--ptr=all', '--endpoint-names', 'hash'],
        ...[
          '--pods=disabled',
          '--udp-engine=dgram',
          '--negative-ttl=5',
          '--zonal',
          '--route-names',
        ],
        ...['--external-domain=lb.test', '--clusterset-domain=clusterset.local', '--search-zone=x'],
        ...['--search-extra=a.b,c', '--transfer-to=10.0.0.0/8,ns.example', '--transfer-key=/k'],
      ]),
      tokens: [...FLAG_TOKENS, ...flagsOf(KUBEDNS.flags)],
      parse: (text) => parseFlags(KUBEDNS, argumentsOf(text)).request === 'run',
      refusals: [UsageError],
    }),

  /** The flags of the sidecar, the grammar of its probes among them. */
  'sidecar-flags': () => {
    const program = { name: 'sidecar', version: 'dev', summary: '', flags: SIDECAR_FLAGS };
    return textTarget({
      seeds: argumentSeeds([
        '--probe=kubedns,127.0.0.1:10053,kubernetes.default.svc.cluster.local,5,SRV',
        '--probe=dnsmasq,[::1]:53,kubernetes.default.svc.cluster.local.,5,A',
        ...['--probe=a_1,10.0.0.1,example.com', '--dnsmasq-addr=::1', '--dnsmasq-port=53', '--v=2'],
        ...['--dnsmasq-poll-interval-ms=5000', '--prometheus-addr=0.0.0.0'],
        ...['--prometheus-port=10054', '--prometheus-path=/metrics'],
        '--prometheus-namespace=kubedns',
      ]),
      tokens: [...FLAG_TOKENS, ...flagsOf(SIDECAR_FLAGS), ',5,SRV', '/healthz'],
      parse: (text) => {
        const { request, values } = parseFlags(program, argumentsOf(text));
        readSidecarOptions(values);
        return request === 'run';
      },
      refusals: [UsageError],
    });
  },

  'node-cache-flags': () => {
    const program = { name: 'node-cache', version: '', summary: '', flags: NODE_CACHE_FLAGS };
    return textTarget({
      seeds: argumentSeeds([
        ...['-localip', '169.254.20.10,fd00::a', '-conf', '/etc/Corefile', '-upstreamsvc=kube-dns'],
        ...['-syncinterval=60', '-metrics-listen-address=127.0.0.1:9353', '-dns.port=53'],
        ...['--setup=nft', '-interfacename=nodelocaldns', '--drain-time=1m30s'],
        '-setupinterface=false',
      ]),
      tokens: [...FLAG_TOKENS, ...Object.keys(NODE_CACHE_FLAGS).map((name) => `-${name}=`)],
      parse: (text) => {
        // Without an address no other flag is looked at.
        const args = ['-localip=::1', ...argumentsOf(text)];
        const { request, values } = parseFlags(program, args);
        if (request === 'run') readNodeCacheOptions(values);
        return request === 'run';
      },
      refusals: [UsageError, StartupError],
    });
  },
} satisfies Readonly<Record<string, CreateTarget>>;

function of(...texts: string[]): string {
  return texts.join(BETWEEN);
}

/** The data of a ConfigMap; an empty text is a key that it has not. */
function keysOf(keys: readonly string[], texts: readonly string[]): ReadonlyMap<string, string> {
  return new Map(keys.flatMap((key, i) => (texts[i] ? [[key, texts[i]]] : [])));
}

/** The arguments of a command line as one text has them: each is a line. */
function argumentsOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

/** One text for each argument alone, and some of several. */
function argumentSeeds(words: readonly string[]): string[] {
  const groups = [3, 8].flatMap((size) =>
    words.flatMap((_word, i) => (i % size === 0 ? [words.slice(i, i + size).join('\n')] : [])),
  );
  return [...words, ...groups];
}

function flagsOf(flags: object): string[] {
  return Object.keys(flags).map((name) => `--${name}=`);
}

function optionName(option: string): string {
  return option.split('=')[0]!;
}

/** A file that is named is read, and a script is run: that is for no fuzzer. */
function namesFiles(text: string): boolean {
  return /conf|-[^-\n]*[C7]/.test(text);
}

/** Of dnsmasq's options. */
function optionAllowance(input: Buffer): number {
  const ranges = input.toString('latin1').split('rev').length - 1;
  return TIMES_A_TEXT * textAllowance(input) + RANGE_BYTES * ranges;
}

/** Throws what `parse` throws, and another error for a refusal with too many words. */
function boundedError<T>(maxCharacters: number, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof ConfigError && error.message.length > maxCharacters) {
      throw new Error('what is wrong takes too many words', { cause: error });
    }
    throw error;
  }
}

function newHostsTable(): HostsTable {
  const table = new HostsTable();
  table.beginFile('hosts');
  return table;
}

function pageOf(text: string): string {
  const shown = shownText(text);
  return statusPage({
    program: shown,
    version: shown,
    host: shown,
    at: '2026-01-01T00:00:00.000Z',
    isReady: true,
    notReady: [shown],
    problems: [shown],
    sections: [
      { title: shown, content: { [shown]: shown }, more: 1 },
      { title: shown, content: [{ [shown]: shown }], more: 0 },
    ],
  });
}

/** What a browser would take for the beginning of an element, and for the end of a quoted attribute. */
function markup(page: string): string {
  const count = (text: string) => page.split(text).length - 1;
  // A long fact has a class more.
  return `${count('<')} ${count('"') - 2 * count('<div class="wide">')}`;
}
