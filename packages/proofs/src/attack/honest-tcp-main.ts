import { serveRemote } from '@kube-dns/bench';
import { HonestTcp, type HonestTcpMethods } from './honest-tcp.js';

serveRemote<HonestTcpMethods>(new HonestTcp());
