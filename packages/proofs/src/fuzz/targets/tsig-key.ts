import { parseTsigKey, WireError } from '@kube-dns/wire';
import type { FuzzTarget } from '../fuzz-target.js';
import { textTarget } from './text-target.js';

/** Key files of `--notify-key`. */
export function createTsigKey(): FuzzTarget {
  return textTarget({
    seeds: [
      'key "notify" {\n\talgorithm hmac-sha256;\n\tsecret "AAECAwQFBgcICQoLDA0ODw==";\n};\n',
      '# a key\nkey a.b. { secret AA//AA==; /* no */ algorithm "hmac-sha512"; }; // end\n',
    ],
    tokens: ['key', '"', '{', '}', ';', '/*', '*/', '//', '#', 'secret', 'algorithm', 'AAAA'],
    parse: (text) => parseTsigKey(text).secret.length > 0,
    isRefusal: (error) => error instanceof WireError,
  });
}
