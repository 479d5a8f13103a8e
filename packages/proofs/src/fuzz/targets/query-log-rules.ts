import { ConfigError, parseQueryLogRules } from '@kube-dns/daemon';
import type { FuzzTarget } from '../fuzz-target.js';
import { textTarget } from './text-target.js';

/** The value of `--query-log` and of the key `queryLog`. */
export function createQueryLogRules(): FuzzTarget {
  return textTarget({
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
      const { names, sample, slowMs } = parseQueryLogRules(text);
      if (names.length > 16 || sample < 1 || slowMs < 1) throw new Error('a rule has no bound');
      return true;
    },
    isRefusal: (error) => {
      if (!(error instanceof ConfigError)) return false;
      if (error.message.length > 16_384) throw new Error('what is wrong takes too many words');
      return true;
    },
  });
}
