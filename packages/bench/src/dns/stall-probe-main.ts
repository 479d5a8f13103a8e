import { serveRemote } from '../remote.js';
import { StallProbe, type StallProbeMethods } from './stall-probe.js';

serveRemote<StallProbeMethods>(new StallProbe());
