import { serveRemote } from '@kube-dns/bench';
import { Flood, type FloodMethods } from './flood.js';

serveRemote<FloodMethods>(new Flood());
