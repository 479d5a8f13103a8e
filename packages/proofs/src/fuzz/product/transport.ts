// What transport reads with and keeps to itself.
export { isReplyTo } from '../../../../transport/dist/reply-match.js';
export { readAddresses } from '../../../../transport/dist/host-addresses.js';
