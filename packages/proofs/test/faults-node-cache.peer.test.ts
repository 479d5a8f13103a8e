import { NODE_CACHE_ROWS } from '../src/faults/node-cache-faults.js';
import { describeRows } from './fault-rows.js';

describeRows('a fault around a node-cache', NODE_CACHE_ROWS, 4);
