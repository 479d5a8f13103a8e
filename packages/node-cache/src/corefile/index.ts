export {
  CorefileError,
  directive,
  directiveText,
  importsOnDisk,
  isMatch,
  parseCorefile,
  placeOf,
  resolveCorefile,
  writeCorefile,
  type Corefile,
  type Directive,
  type FindImports,
  type OnMissingImport,
  type WrittenBlock,
} from './corefile.js';
export { plainTarget } from './forward-target.js';
export { readKey, type ZoneKey } from './server-block.js';
export { parseNat64Prefix, WELL_KNOWN_PREFIX } from '@kube-dns/resolver';
