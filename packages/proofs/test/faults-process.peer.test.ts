import { LIMIT_ROWS } from '../src/faults/limit-rows.js';
import { PORT_ROWS } from '../src/faults/port-rows.js';
import { PROCESS_ROWS } from '../src/faults/process-rows.js';
import { SUBSCRIPTION_ROWS } from '../src/faults/subscription-rows.js';
import { describeRows } from './fault-rows.js';

describeRows(
  'a fault of a process or of its machine',
  [...PROCESS_ROWS, ...SUBSCRIPTION_ROWS, ...LIMIT_ROWS, ...PORT_ROWS],
  3,
);
