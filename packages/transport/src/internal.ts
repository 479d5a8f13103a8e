// What transport reads with, which packages/proofs gives hostile bytes.
export { readAddresses } from './server-hosts.js';
export { isReplyTo } from './reply-match.js';
