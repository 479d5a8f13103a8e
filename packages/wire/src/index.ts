export {
  addressBytes,
  addressText,
  bindAddress,
  EVERY_ADDRESS,
  hasPrefix,
  parseAddress,
  shortAddress,
  shortIpv6,
  unmappedAddress,
} from './address.js';
export { AnswerWriter } from './answer-writer.js';
export type { ResourceRecord } from './answer-writer.js';
export { finishHash, FNV_OFFSET, hashByte, hashBytes, randomSeed } from './byte-hash.js';
export { copyBytes, copyStart, readUint16, readUint32, writeUint16, writeUint32 } from './bytes.js';
export {
  ANSWER_VERSION_BYTES,
  changedOf,
  CLUSTER_VERSION_BYTES,
  hasSameIdentity,
  IDENTITY_BYTES,
  knownOf,
  raiseTo,
  readSerial,
  seenOf,
  setChanged,
  setKnown,
  setSeen,
  VERSIONED_RESOURCES,
} from './cluster-version.js';
export { Compressor } from './compress.js';
export {
  changedTlv,
  clusterVersionTlv,
  DSO_TYPE,
  isDso,
  keepaliveTlv,
  plainNameEnd,
  readChanged,
  readClusterVersion,
  readDso,
  readSerialTlv,
  readSubscribed,
  serialTlv,
  subscribedTlv,
  writeDso,
} from './dso.js';
export type { Changed, ClusterVersionNote, DsoMessage, DsoTlv, Subscribed } from './dso.js';
export { WireError } from './errors.js';
export type { WireErrorCode } from './errors.js';
export {
  decodeName,
  encodeKey,
  encodeName,
  equalNames,
  expandKey,
  expandName,
  isInZone,
  lowerCaseByte,
  nameBytes,
  prependLabels,
  ROOT_NAME,
  skipName,
  suffixOffset,
} from './name.js';
export { addNamesAbove, NameTable } from './name-table.js';
export { writeNotify } from './notify.js';
export {
  appendOpt,
  appendOption,
  CLIENT_COOKIE_BYTES,
  COOKIE_OPTION_BYTES,
  EDNS_OPTION,
  extendedErrorOption,
  isCookieLength,
  NO_EDNS_OPTIONS,
  OPT_BYTES,
  OPTION_HEAD_BYTES,
  SERVER_COOKIE_BYTES,
} from './opt-record.js';
export { decodeFirstAnswers, decodeMessage, encodeQuery, encodeRdata } from './packet.js';
export type { DecodedMessage, DecodedRecord, QueryFields } from './packet.js';
export {
  CLASS,
  EXTENDED_ERROR,
  FLAG,
  HEADER_BYTES,
  MAX_DATAGRAM_BYTES,
  MAX_LABEL_BYTES,
  MAX_MESSAGE_BYTES,
  MAX_NAME_BYTES,
  MAX_TTL_SECONDS,
  OPCODE_MASK,
  OPCODE_NOTIFY,
  QUESTION_FIXED_BYTES,
  QUESTION_OFFSET,
  RCODE,
  RCODE_MASK,
  rcodeOf,
  RCODE_NAMES,
  SAFE_UDP_BYTES,
  TSIG_ERROR,
  TYPE,
} from './protocol.js';
export { copyQuery, Query, readQuery } from './query.js';
export type { Verdict } from './query.js';
export { buildQuery, isSameQuestion } from './question.js';
export { fillRandom, randomBytes } from './random.js';
export { OwnerNames } from './owner-names.js';
export { expandRdata } from './rdata-names.js';
export { recordText } from './record-text.js';
export { RecordCursor, SECTION, soundTtl } from './record-cursor.js';
export type { Section } from './record-cursor.js';
export { adaptReply, emptyRelayTarget, encodeRefusal, relayTargetOf } from './relay.js';
export { ReplyOutline } from './reply-outline.js';
export type { RelayTarget } from './relay.js';
export {
  BITS_PER_REVERSE_LABEL,
  encodeReverseName,
  hexValue,
  ReverseAddress,
  reverseName,
} from './reverse-address.js';
export { SIP_HASH_BYTES, SIP_KEY_BYTES, sipHash } from './sip-hash.js';
export { fitMessage } from './truncate.js';
export {
  AnswerSigner,
  checkTsig,
  parseTsigKey,
  readTsig,
  refuseTsig,
  signMessage,
} from './tsig.js';
export type { Signing, Tsig, TsigKey } from './tsig.js';
export {
  NO_ZONE_LABELS,
  appendZoneVersion,
  CLUSTER_VERSION_REQUEST,
  clusterVersionAt,
  INSTANCE_BYTES,
  isOfInstance,
  passZoneVersion,
  replaceZoneVersion,
  serialAt,
  voidZoneVersion,
  ZONE_VERSION_REQUEST,
  zoneLabelsAt,
  zoneVersionAt,
} from './zone-version.js';
export type { ZoneVersion } from './zone-version.js';
export { typeName, typeNumber, typeText } from './type-names.js';
export { markReasons, reasonsOf } from './upstream-reasons.js';
export { isNewerSerial, readIxfrSerial } from './zone-transfer.js';
