// What transport reads with and keeps to itself.
export { FrameReader } from '../../../../transport/dist/frame-reader.js';
export { isReplyTo } from '../../../../transport/dist/reply-match.js';
export { readAddresses } from '../../../../transport/dist/host-addresses.js';
