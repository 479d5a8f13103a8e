// What transport reads with, which packages/proofs gives hostile bytes.
export { readAddresses } from './host-addresses.js';
export { isReplyTo } from './reply-match.js';
