import { serveRemote } from '@kube-dns/bench';
import { Spoofer, type SpooferMethods } from './spoofer.js';

serveRemote<SpooferMethods>(new Spoofer());
