import { LIMIT_ROWS, PORT_ROWS } from '../src/faults/limit-faults.js';
import { PROCESS_ROWS } from '../src/faults/process-faults.js';
import { SUBSCRIPTION_ROWS } from '../src/faults/subscription-faults.js';
import { describeRows } from './fault-rows.js';

describeRows(
  'a fault of a process or of its machine',
  [...PROCESS_ROWS, ...SUBSCRIPTION_ROWS, ...LIMIT_ROWS, ...PORT_ROWS],
  3,
);
