import { CONFIG_ROWS } from '../src/faults/config-faults.js';
import { UPSTREAM_ROWS } from '../src/faults/upstream-faults.js';
import { describeRows } from './fault-rows.js';

const ROWS = [...UPSTREAM_ROWS, ...CONFIG_ROWS];

describeRows('a fault of the upstreams or of the ConfigMap', ROWS, 4);
