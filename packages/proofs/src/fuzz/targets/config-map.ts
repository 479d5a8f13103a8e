import { ConfigError, parseDnsConfig } from '@kube-dns/daemon';
import { configuredRules } from '@kube-dns/dnsmasq/internal';
import type { FuzzTarget } from '../fuzz-target.js';
import { textTarget } from './text-target.js';

const KEYS = ['federations', 'stubDomains', 'upstreamNameservers'];
const BETWEEN = '\n---\n';

/** The three keys of the kube-dns ConfigMap, and the servers that dnsmasq makes of them. */
export function createConfigMap(): FuzzTarget {
  const of = (...texts: string[]) => texts.join(BETWEEN);
  return textTarget({
    seeds: [
      of('', '{"acme.local": ["1.2.3.4", "1.2.3.5:5353"]}', '["8.8.8.8", "[::1]:53"]'),
      of('a=b.c,d=e', '{"a.b":["ns.default.svc.cluster.local"],"c":null}', '[]'),
      of('x', '{"UPPER":[1]}', '["1.2.3.4:0","a.b","::1","1.1.1.1"]'),
      of('', 'null', 'null'),
    ],
    tokens: [
      ...['"', '[', ']', '{', '}', ':', ',', 'null', '"a.b":', '["1.2.3.4"]', '[::1]:53', '{"a":'],
      ...['"__proto__":', '\\u0000', '\\ud800', '1e999', BETWEEN, 'a=b', '[['],
    ],
    parse: (text) => {
      const parts = text.split(BETWEEN);
      const files = new Map(KEYS.flatMap((key, i) => (parts[i] ? [[key, parts[i]]] : [])));
      configuredRules(parseDnsConfig(files));
      return true;
    },
    isRefusal: (error) => error instanceof ConfigError,
  });
}
