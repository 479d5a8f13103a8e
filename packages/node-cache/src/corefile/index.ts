export { CorefileError } from './corefile-error.js';
export {
  directive,
  directiveText,
  parseCorefile,
  placeOf,
  writeCorefile,
  type Corefile,
  type Directive,
  type WrittenBlock,
} from './corefile.js';
export { plainTarget } from './forward-target.js';
export { importsOnDisk, isMatch } from './import-files.js';
export { resolveCorefile, type FindImports, type OnMissingImport } from './resolve.js';
export { readKey, type ZoneKey } from './zone-key.js';
