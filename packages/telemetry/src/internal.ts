// What proofs read: not for the programs.
export { CONTROL, controlFrame, ControlFrameReader } from './frame-stream.js';
export { AnswerFacts, JsonLines, LineWriter, putTextLine } from './lines.js';
export { ObservedAnswer } from './observed-answer.js';
export { MAX_LINE_BYTES } from './query-log.js';
