export { Dnstap, type DnstapOptions, type DnstapRole } from './dnstap.js';
export { DNSTAP_FLAG, type DnstapTarget } from './dnstap-target.js';
export { askTraced, exchangeSteps, explainPages } from './explain.js';
export {
  type ExplainedAnswer,
  type ExplainedQuestion,
  type ExplainedStep,
  type Explanation,
  queryFor,
  readQuestion,
} from './explanation.js';
export { ObservedAnswer, type QuerySink } from './observed-answer.js';
export { queryPages } from './query-pages.js';
export { Telemetry, telemetryFamilies, type TelemetryOptions } from './telemetry.js';
