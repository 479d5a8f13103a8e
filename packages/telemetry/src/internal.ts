// What proofs read: not for the programs.
export { CONTROL, controlFrame, ControlFrameReader } from './dnstap/control-frame.js';
export { ObservedAnswer } from './observed-answer.js';
export { AnswerFacts } from './query-log/answer-facts.js';
export { JsonLines } from './query-log/json-line.js';
export { LineWriter } from './query-log/line-writer.js';
export { MAX_LINE_BYTES } from './query-log/query-log.js';
export { putTextLine } from './query-log/text-line.js';
