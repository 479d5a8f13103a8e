import { ConfigError, parseDnsConfig } from '@kube-dns/daemon';
import { CorefileError } from '@kube-dns/node-cache/corefile';
import { checkServers, readServerBlocks, renderTemplate } from '@kube-dns/node-cache/internal';
import type { FuzzTarget } from '../fuzz-target.js';
import { textAllowance, textTarget } from './text-target.js';

/** A zone has two characters at least, with the blank, and a port, addresses and a place in a block. */
const TIMES_A_TEXT = 2;
const BETWEEN = '\n---\n';
const VALUES = {
  localAddresses: ['169.254.20.10', 'fd00::a'],
  port: 53,
  prometheusAddress: ':9253',
  clusterDns: '10.96.0.20',
};
const HOST = {
  env: { NAME: 'value' },
  findImports: (pattern: string) =>
    pattern === 'plain' ? [{ name: pattern, text: 'errors\nimport plain' }] : [],
  interfaceAddresses: (name: string) => (name === 'eth0' ? ['192.0.2.1'] : undefined),
};

/** The template of node-cache with the ConfigMap kube-dns: what it becomes, and its server blocks. */
export function createCorefile(): FuzzTarget {
  const of = (...texts: string[]) => texts.join(BETWEEN);
  const addon =
    'a.b:53 {\n    errors\n    cache {\n        success 9984 30\n        denial 9984 5\n    }\n    reload\n    loop\n' +
    '    bind __PILLAR__LOCAL__DNS__ __PILLAR__DNS__SERVER__\n    forward . __PILLAR__CLUSTER__DNS__ {\n' +
    '        force_tcp\n    }\n    prometheus :9253\n    health 169.254.20.10:8080\n    }\n';
  const world =
    '.:53 {\n    cache 30\n    forward . __PILLAR__UPSTREAM__SERVERS__ {\n            force_tcp\n    }\n}\n';
  return textTarget({
    allowance: (input) => TIMES_A_TEXT * textAllowance(input),
    seeds: [
      of(addon, '{"acme.local": ["192.0.2.1", "192.0.2.2:5353"]}', '["192.0.2.3"]'),
      of(world, '{}', '["192.0.2.3", "[::1]:53"]'),
      of(addon + world, '', ''),
      '(s) {\nimport plain\nlog . "{combined}" {\nclass denial\n}\n}\n10.0.0.0/8, fd00::/16 {\nimport s\n}',
      '. {\nhosts /h a.b {\n10.0.0.1 c\nttl 60\nfallthrough\n}\nerrors {\nconsolidate 5m ".* x$" info\n}\n}',
      'c {\nbind eth0 {\nexcept ::1\n}\nforward a tls://[::1%n]:853 https://192.0.2.1 {\nexcept b\nexpire 1s\n}\n}',
      '. {\ncache 5 {\nserve_stale 1h verify 1s\nprefetch 2 1m 20%\ndisable denial a b\n}\nloop\nready :1\n}',
    ],
    tokens: [
      ...['{', '}', '\n', '"', '\\"', '#', ',', ' ', 'import plain', '(s)', '{$NAME}', BETWEEN],
      ...['__PILLAR__CLUSTER__DNS__', '__PILLAR__UPSTREAM__SERVERS__', '__PILLAR__LOCAL__DNS__'],
      ...[
        'cache',
        'forward . ',
        'hosts',
        'bind',
        'errors {\nconsolidate 1s "',
        '.:53 {\n',
        '<nil>',
      ],
      ...['192.0.2.1', '[::1]:53', 'tls://', '%', '/24', '30s', '-1', '9984', '(a+)+', '.*.*.*x'],
    ],
    parse: (text) => {
      const [template = '', stubDomains = '', upstreamNameservers = ''] = text.split(BETWEEN);
      const config = parseDnsConfig(
        new Map(
          Object.entries({ stubDomains, upstreamNameservers }).filter(([, each]) => each !== ''),
        ),
      );
      checkServers(config);
      readServerBlocks(renderTemplate(template, config, VALUES).text, 'Corefile', HOST);
      return true;
    },
    isRefusal: (error) => error instanceof ConfigError || error instanceof CorefileError,
  });
}
