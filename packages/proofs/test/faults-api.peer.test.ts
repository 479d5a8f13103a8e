import { API_ROWS } from '../src/faults/api-faults.js';
import { describeRows } from './fault-rows.js';

describeRows('a fault of the Kubernetes API', API_ROWS, 6);
