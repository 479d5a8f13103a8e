import { CONFIG_ROWS } from '../src/faults/config-rows.js';
import { UPSTREAM_ROWS } from '../src/faults/upstream-rows.js';
import { describeRows } from './fault-rows.js';

const ROWS = [...UPSTREAM_ROWS, ...CONFIG_ROWS];

describeRows('a fault of the upstreams or of the ConfigMap', ROWS, 4);
